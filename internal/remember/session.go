package remember

import (
	"context"
	"errors"
	"strings"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Open is the state of a session that takes messages; one that was ended opens again with the next.
const Open = "open"

// parent cuts the prefix of a child agent's session, once: what it says goes to the session it works for.
func parent(id string) (string, bool) { return strings.CutPrefix(id, "agent:") }

// find answers the session of that id if the grant may write to it, else what a new one would be, with exists false.
func find(tx memoryd.Tx, g access.Grant, id, group string, now time.Time) (s memoryd.Session, exists bool, err error) {
	if s, exists, err = lookUp(tx, g, id); err != nil || exists {
		return s, exists, err
	}
	s = memoryd.Session{
		Tenant: g.Tenant(), ID: id, User: g.Owner().User, Agent: g.Agent(), Group: group, State: Open,
		Metadata: emptyObject(), Created: now, Updated: now,
	}
	if !g.SessionWrites().Has(s.Scope()) {
		return memoryd.Session{}, false, denied(s.Scope())
	}
	return s, false, nil
}

// lookUp answers the session if it is there and the grant may write to it. Someone else's is ErrNotFound, and so is
// never taken for one that could be created.
func lookUp(tx memoryd.Tx, g access.Grant, id string) (s memoryd.Session, exists bool, err error) {
	s, err = tx.Sessions.Get(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), id)
	switch {
	case errors.Is(err, memoryd.ErrNotFound):
		return memoryd.Session{}, false, nil
	case err != nil:
		return memoryd.Session{}, false, err
	case !belongs(g, s):
		return memoryd.Session{}, false, memoryd.ErrNotFound
	case g.SessionWrites().Has(s.Scope()):
		return s, true, nil
	case g.SessionReads().Has(s.Scope()):
		return memoryd.Session{}, false, denied(s.Scope())
	}
	return memoryd.Session{}, false, memoryd.ErrNotFound
}

// belongs says whether the session is one of the user and agent that the grant is about. A group's belongs to the
// tenant, and the right to the group decides.
func belongs(g access.Grant, s memoryd.Session) bool {
	if s.Group != "" {
		return true
	}
	return (g.User() == "" || g.User() == s.User) && (g.Agent() == "" || g.Agent() == s.Agent)
}

// create stores a session that find did not find. Where another writer came first, the look is to be repeated: the
// session may be another user's now.
func create(tx memoryd.Tx, s memoryd.Session) error {
	created, err := tx.Sessions.Put(s)
	if err == nil && !created {
		return raced{memoryd.Errorf(memoryd.Conflict, "conflict", "the session was created by somebody else meanwhile")}
	}
	return err
}

// groupIsSet refuses to put words into another group's hands than the one that the request means.
func groupIsSet() error {
	f := memoryd.Field{Path: "group", Message: "is not the session's; a session's group is set when it is created"}
	return &memoryd.Error{Code: memoryd.Conflict, Slug: "immutable", Detail: f.Path + " " + f.Message, Fields: []memoryd.Field{f}}
}

func checkSession(id, group string) error {
	if err := memoryd.CheckID("id", id); err != nil {
		return err
	}
	if group != "" {
		return memoryd.CheckGroup("group", group)
	}
	return nil
}

// PutSession creates a session, or replaces the metadata of the one that is there when the request brings any.
func (w *Writer) PutSession(ctx context.Context, g access.Grant, id string, r SessionRequest) (s memoryd.Session, created bool, notes []string, err error) {
	id, _ = parent(id)
	if err := checkSession(id, r.Group); err != nil {
		return memoryd.Session{}, false, nil, err
	}
	metadata, notes, err := checkMetadata("metadata", r.Metadata)
	if err != nil {
		return memoryd.Session{}, false, nil, err
	}
	now := w.now()
	err = w.write(ctx, g, "put session", func(tx memoryd.Tx) error {
		found, exists, err := find(tx, g, id, r.Group, now)
		if err != nil {
			return err
		}
		s, created = found, !exists
		if !exists {
			s.Metadata = metadata
			return create(tx, s)
		}
		if r.Group != "" && r.Group != s.Group {
			return groupIsSet()
		}
		if len(r.Metadata) == 0 {
			return nil
		}
		s.Metadata, s.Updated = metadata, now
		_, err = tx.Sessions.Put(s)
		return err
	})
	if err != nil {
		return memoryd.Session{}, false, nil, err
	}
	return head(g, s), created, notes, nil
}

// head is what a writer gets to see of a session. One that may append to it but not read it learns no more than what
// it named itself.
func head(g access.Grant, s memoryd.Session) memoryd.Session {
	if g.SessionReads().Has(s.Scope()) {
		return s
	}
	return memoryd.Session{Tenant: s.Tenant, ID: s.ID, User: g.Owner().User, Agent: g.Agent(), Group: s.Group, State: Open, Metadata: emptyObject()}
}

// DeleteSession removes a session with all that was said in it, and says how many messages that was. Its id may be
// used again.
func (w *Writer) DeleteSession(ctx context.Context, g access.Grant, id string) (messages int64, err error) {
	id, _ = parent(id)
	if err := checkSession(id, ""); err != nil {
		return 0, err
	}
	err = w.write(ctx, g, "delete session", func(tx memoryd.Tx) error {
		_, exists, err := lookUp(tx, g, id)
		if err != nil {
			return err
		}
		if !exists {
			return memoryd.ErrNotFound
		}
		messages, err = tx.Sessions.Delete(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), id)
		return err
	})
	return messages, err
}
