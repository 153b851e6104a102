package recall

import (
	"context"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Session is the head of a session; "agent:X" means X.
func (r *Reader) Session(ctx context.Context, g access.Grant, id string) (memoryd.Session, error) {
	id, err := sessionID(id)
	if err != nil {
		return memoryd.Session{}, err
	}
	var s memoryd.Session
	err = r.read(ctx, "session", func(tx memoryd.Tx) (err error) {
		s, err = existing(tx, g, id)
		return err
	})
	return s, err
}

// existing is a session that must be there.
func existing(tx memoryd.Tx, g access.Grant, id string) (memoryd.Session, error) {
	return tx.Sessions.Get(g.Reach(), sessionScopes(g), id)
}

// Sessions is a page of sessions, newest created first.
func (r *Reader) Sessions(ctx context.Context, g access.Grant, req SessionsRequest) (SessionPage, error) {
	size, err := pageOf(req.Limit)
	if err != nil {
		return SessionPage{}, err
	}
	if req.State != "" {
		if err := checkWords("state", []string{req.State}, []string{"open", "ending", "ended"}); err != nil {
			return SessionPage{}, err
		}
	}
	if req.Agent != "" {
		if err := memoryd.CheckID("agent", req.Agent); err != nil {
			return SessionPage{}, err
		}
	}
	list := listOf("sessions", g.Owner(), g.Agent(), req.Agent, req.State)
	after, err := readCursor(req.Cursor, list)
	if err != nil {
		return SessionPage{}, err
	}
	f := memoryd.SessionFilter{Agent: req.Agent, State: req.State, Limit: size + 1}
	if after != nil {
		f.Before, f.BeforeID = time.UnixMicro(after.Value), after.ID
	}
	page := SessionPage{}
	err = r.read(ctx, "sessions", func(tx memoryd.Tx) error {
		found, err := tx.Sessions.List(g.Owner(), sessionScopes(g), f)
		page.Items = append([]memoryd.Session{}, found...)
		return err
	})
	if err != nil {
		return SessionPage{}, err
	}
	if len(page.Items) > size {
		page.Items = page.Items[:size]
		last := page.Items[size-1]
		page.Next = cursor{List: list, Value: last.Created.UnixMicro(), ID: last.ID}.String()
	}
	return page, nil
}

// Messages is a page of a session's messages, or its window. A cursor leads further back message by message, also
// from a window, and counts before the other fields.
func (r *Reader) Messages(ctx context.Context, g access.Grant, id string, req MessagesRequest) (MessagePage, error) {
	id, err := sessionID(id)
	if err != nil {
		return MessagePage{}, err
	}
	size, err := pageOf(req.Limit)
	if err != nil {
		return MessagePage{}, err
	}
	if req.BeforeSeq < 0 {
		return MessagePage{}, memoryd.BadField("before_seq", "is below 0")
	}
	list := listOf("messages", g.Reach(), g.Agent(), id)
	after, err := readCursor(req.Cursor, list)
	if err != nil {
		return MessagePage{}, err
	}
	if after != nil {
		req.Window, req.BeforeSeq = false, after.Value
	}
	if req.Window {
		size, req.BeforeSeq = g.Settings().ContextRounds*r.o.MessagesPerRound, 0
	}
	var s memoryd.Session
	var found []memoryd.Message
	err = r.read(ctx, "messages", func(tx memoryd.Tx) error {
		var err error
		if s, err = existing(tx, g, id); err != nil || size == 0 {
			return err
		}
		found, err = tx.Messages.Newest(s, req.BeforeSeq, size)
		return err
	})
	if err != nil {
		return MessagePage{}, err
	}
	page := MessagePage{Items: append([]memoryd.Message{}, found...), Notes: notes(g.Notes())}
	var oldest int64
	if len(found) > 0 {
		oldest = found[0].Seq
	}
	if req.Window {
		w := r.frameOf(r.windowTokens(g.Settings())).cut(found, s.Summary)
		page.Items, page.Summary, page.Notes = w.messages, w.summary, notes(page.Notes, w.notes)
		oldest = w.first
	}
	if oldest > 1 {
		page.Next = cursor{List: list, Value: oldest}.String()
	}
	return page, nil
}
