package transfer

import (
	"errors"
	"fmt"

	"memoryd"
)

// part takes a session's head with messages that follow it, or more messages of the session before. goesOn says that
// still more come in the next batch: until then the head says no more than the store holds, so that an import that
// stops there leaves a session that is shorter but whole.
func (w *work) part(rows []row, goesOn bool) error {
	if r, ok := rows[0].v.(*sessionRow); ok {
		if err := w.head(r, rows[0]); err != nil {
			return err
		}
		rows = rows[1:]
	} else if err := w.again(rows[0].line); err != nil {
		return err
	}
	if w.st.fate == refused {
		w.done.RefusedRows += int64(len(rows)) // the session's name stands for them
		return nil
	}
	add, err := w.messages(rows)
	if err != nil {
		return err
	}
	return w.store(add, goesOn)
}

// head decides the fate of a session: one that the store holds with fewer messages is gone on with, one that it holds
// with more is further on than the file.
func (w *work) head(r *sessionRow, at row) error {
	s := r.session()
	w.st.session, w.st.fate, w.st.have, w.st.parted = s, fresh, 0, false
	if at.why != "" {
		w.st.fate = refused
		w.done.refuse(rowSession, s.Tenant, s.ID, at.line, at.why)
		return nil
	}
	have, err := w.tx.Sessions.Get(memoryd.Owner{Tenant: s.Tenant}, memoryd.AllScopes(), s.ID)
	if errors.Is(err, memoryd.ErrNotFound) {
		w.done.Added++
		return nil
	}
	if err != nil {
		return err
	}
	w.st.fate, w.st.have = known, have.LastSeq
	switch {
	case have.User != s.User || have.Agent != s.Agent || have.Group != s.Group || !have.Created.Equal(s.Created):
		w.st.fate = refused
		w.done.refuse(rowSession, s.Tenant, s.ID, at.line, "the id stands for another session")
	case have.LastSeq == s.LastSeq && !equal(rowOfSession(have), rowOfSession(s)):
		w.done.refuse(rowSession, s.Tenant, s.ID, at.line, "the session is there with another state or other metadata")
	default:
		w.done.Duplicate++
	}
	return nil
}

// again looks at a session that the batch before has left: others may write meanwhile.
func (w *work) again(line int64) error {
	if w.st.fate == refused || w.o.DryRun {
		return nil
	}
	s := w.st.session
	have, err := w.tx.Sessions.Get(memoryd.Owner{Tenant: s.Tenant}, memoryd.AllScopes(), s.ID)
	if errors.Is(err, memoryd.ErrNotFound) {
		w.st.fate = refused
		w.done.refuse(rowSession, s.Tenant, s.ID, line, "the session was deleted while it was imported")
		w.done.RefusedRows-- // its head was counted before
		return nil
	}
	if err == nil && have.LastSeq != w.st.have {
		w.st.have, w.st.fate = have.LastSeq, known
	}
	return err
}

// messages counts those that are there and answers those to add.
func (w *work) messages(rows []row) ([]memoryd.Message, error) {
	have := map[int64]memoryd.Message{}
	s := w.st.session
	if len(rows) > 0 && w.st.fate == known {
		first, last := rows[0].v.(*messageRow).Seq, rows[len(rows)-1].v.(*messageRow).Seq
		if first <= w.st.have {
			list, err := w.tx.Dump.Messages(s, first-1, int(last-first+1))
			if err != nil {
				return nil, err
			}
			for _, m := range list {
				have[m.Seq] = m
			}
		}
	}
	var add []memoryd.Message
	for _, row := range rows {
		r := row.v.(*messageRow)
		if row.why != "" {
			w.done.refuse(rowMessage, s.Tenant, fmt.Sprintf("%s/%d", s.ID, r.Seq), row.line, row.why)
			continue
		}
		m := r.message()
		stored, there := have[r.Seq]
		switch {
		case there && equal(rowOfMessage(s, stored), rowOfMessage(s, m)):
			w.done.Duplicate++
		case w.st.parted:
			w.done.RefusedRows++ // the first one's name stands for those behind it
		case there || r.Seq <= w.st.have:
			w.st.parted = true
			w.done.refuse(rowMessage, s.Tenant, fmt.Sprintf("%s/%d", s.ID, r.Seq), row.line, "the session holds something else there")
		default:
			add = append(add, m)
		}
	}
	w.done.Added += int64(len(add))
	return add, nil
}

// store writes the head first, since messages need one.
func (w *work) store(add []memoryd.Message, goesOn bool) error {
	s := w.st.session
	ahead := w.st.fate == known && w.st.have >= s.LastSeq
	if w.st.parted || ahead {
		return nil
	}
	if n := len(add); n > 0 {
		w.st.have = add[n-1].Seq
	}
	if goesOn {
		s.LastSeq = w.st.have
		s.JudgedSeq = min(s.JudgedSeq, s.LastSeq)
	}
	nothing := w.st.fate == known && goesOn && len(add) == 0
	if nothing || w.o.DryRun {
		return nil
	}
	if err := w.tx.Load.Session(s); err != nil {
		return err
	}
	return w.tx.Load.Messages(s, add)
}
