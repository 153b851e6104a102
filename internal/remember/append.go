package remember

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"memoryd"
	"memoryd/internal/access"
)

// Append stores messages at the end of a session, which it creates when it is missing: all of them, or none. A message
// whose id the session holds already is not stored again; with another content it is refused. In ModeSync messages
// without an id are known by role and content, and only those behind the ones that the session holds are stored.
func (w *Writer) Append(ctx context.Context, g access.Grant, session string, r AppendRequest) (Appended, error) {
	return w.append(ctx, g, session, r, nil)
}

func (w *Writer) append(ctx context.Context, g access.Grant, session string, r AppendRequest, k keep) (Appended, error) {
	id, child := parent(session)
	if err := checkSession(id, r.Group); err != nil {
		return Appended{}, err
	}
	switch {
	case len(r.Messages) == 0:
		return Appended{}, memoryd.BadField("messages", "is empty")
	case len(r.Messages) > maxMessages:
		return Appended{}, memoryd.BadFieldAs("too-long", "messages", "holds more than %d messages", maxMessages)
	case r.Mode != "" && r.Mode != ModeAppend && r.Mode != ModeSync:
		return Appended{}, memoryd.BadField("mode", "want append or sync")
	}
	b, err := w.batch(g, r.Messages, child)
	if err != nil {
		return Appended{}, err
	}
	look, err := w.known(ctx, g, id, r.Mode, b)
	if err != nil {
		return Appended{}, err
	}
	var out Appended
	err = w.write(ctx, g, "append", func(tx memoryd.Tx) error {
		s, err := b.open(tx, g, id, r.Group)
		if err != nil {
			return err
		}
		if b.settled, err = look(tx, s); err != nil {
			return err
		}
		if out, err = b.store(tx, g, s); err != nil {
			return err
		}
		out.Notes = b.notes
		return k.result(tx, appendedReceipt{out, s.Created})
	})
	if err != nil {
		return Appended{}, err
	}
	return out, nil
}

// batch is the messages of one request, checked.
type batch struct {
	items   []incoming
	notes   []string
	settled map[int]AppendedItem // items that are not to be stored
}

type incoming struct {
	memoryd.Message
	own     bool // the id is the client's
	dropped bool
}

// batch checks the messages. child drops what is not chat: a child agent's steps are its own affair.
func (w *Writer) batch(g access.Grant, list []NewMessage, child bool) (*batch, error) {
	b := &batch{items: make([]incoming, len(list))}
	now := w.now()
	for i, n := range list {
		m, notes, err := w.message(g, fmt.Sprintf("messages[%d].", i), n, now)
		if err != nil {
			return nil, err
		}
		b.items[i] = incoming{Message: m, own: n.ID != "", dropped: child && m.Kind != kindChat}
		if !b.items[i].dropped {
			b.notes = union(b.notes, notes)
		}
	}
	return b, nil
}

// open finds the session or creates it, and opens one that had ended.
func (b *batch) open(tx memoryd.Tx, g access.Grant, id, group string) (memoryd.Session, error) {
	now := b.items[0].Recorded
	s, exists, err := find(tx, g, id, group, now)
	if err != nil {
		return s, err
	}
	if err := b.checkUsers(g, s); err != nil {
		return s, err
	}
	if group != "" && group != s.Group {
		return s, groupIsSet()
	}
	if !exists {
		return s, create(tx, s)
	}
	if s.State != Open {
		s.State, s.Updated = Open, now
		_, err = tx.Sessions.Put(s)
	}
	return s, err
}

// checkUsers refuses the words of others outside a group, where the session's own user is the only one, and in a group
// from a credential that is bound to one user.
func (b *batch) checkUsers(g access.Grant, s memoryd.Session) error {
	for i, m := range b.items {
		at := fmt.Sprintf("messages[%d].user", i)
		switch {
		case m.User == "":
		case s.Group == "" && m.User != s.User:
			return memoryd.BadField(at, "names another user than the session's; only groups have several")
		case !g.MayQuote(m.User):
			return memoryd.BadField(at, "names another user than the key is bound to")
		}
	}
	return nil
}

// store appends what the session does not hold yet, and says of every message what became of it.
func (b *batch) store(tx memoryd.Tx, g access.Grant, s memoryd.Session) (Appended, error) {
	known, err := b.known(tx, s)
	if err != nil {
		return Appended{}, err
	}
	var (
		fresh []memoryd.Message
		at    = make([]int, len(b.items)) // position in fresh, -1 for none
		inReq = map[string]int{}
		out   = Appended{Items: make([]AppendedItem, len(b.items)), LastSeq: s.LastSeq}
	)
	for i, m := range b.items {
		at[i] = -1
		if item, ok := b.settled[i]; ok {
			out.Items[i] = item
			continue
		}
		if m.dropped {
			out.Items[i] = AppendedItem{Dropped: true}
			if m.own {
				out.Items[i].ID = m.ID
			}
			continue
		}
		out.Items[i] = AppendedItem{ID: m.ID}
		old, stored := known[m.ID]
		if j, again := inReq[m.ID]; again {
			old, at[i] = fresh[j], j
			stored = true
		}
		if stored {
			if !equal(old, m.Message) {
				return Appended{}, taken(i)
			}
			out.Items[i].Duplicate = true
			if at[i] < 0 {
				out.Items[i].Seq = &old.Seq
			}
			continue
		}
		at[i], inReq[m.ID] = len(fresh), len(fresh)
		fresh = append(fresh, placed(m.Message, g, s))
	}
	if len(fresh) == 0 {
		return out, nil
	}
	if fresh, err = tx.Messages.Append(s, fresh); err != nil {
		return Appended{}, err
	}
	for i, j := range at {
		if j >= 0 {
			out.Items[i].Seq = &fresh[j].Seq
		}
	}
	out.LastSeq = fresh[len(fresh)-1].Seq
	return out, nil
}

// known is the session's messages whose ids the client names.
func (b *batch) known(tx memoryd.Tx, s memoryd.Session) (map[string]memoryd.Message, error) {
	var ids []string
	for _, m := range b.items {
		if m.own && !m.dropped {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 || s.LastSeq == 0 {
		return nil, nil
	}
	list, err := tx.Messages.ByID(s, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]memoryd.Message, len(list))
	for _, m := range list {
		known[m.ID] = m
	}
	return known, nil
}

// placed says whose words a message is. In a group that is who the message names, else the user of the request; the
// words of others than users are nobody's.
func placed(m memoryd.Message, g access.Grant, s memoryd.Session) memoryd.Message {
	switch {
	case s.Group == "":
		m.User = ""
	case m.User == "" && m.Role == memoryd.RoleUser:
		m.User = g.User()
	}
	return m
}

// equal says whether two messages of one id are the same message: spelled differently, JSON is equal all the same.
func equal(a, b memoryd.Message) bool {
	return a.Role == b.Role && equalJSON(a.Content, b.Content) && equalJSON(a.ToolCalls, b.ToolCalls)
}

func equalJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) || null(a) && null(b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(raw json.RawMessage) (v any, err error) {
	if null(raw) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func taken(i int) error {
	f := memoryd.Field{Path: fmt.Sprintf("messages[%d].id", i), Message: "stands for a message of another content"}
	return &memoryd.Error{Code: memoryd.Conflict, Slug: "conflict", Detail: f.Path + " " + f.Message, Fields: []memoryd.Field{f}}
}
