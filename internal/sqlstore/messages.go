package sqlstore

import (
	"database/sql"
	"math"
	"slices"

	"memoryd"
)

var _ memoryd.Messages = messages{}

type messages struct{ *tx }

const (
	messageColumns = "seq, id, role, content, text, name, usr, tool_calls, tool_call_id, kind, time, time_off, metadata, " +
		"tokens, trust, writer, recorded, searchable"

	// A turn is placed where its session is.
	turnTables  = "messages AS m JOIN sessions AS s ON s.tenant = m.tenant AND s.id = m.session"
	turnColumns = "m.tenant, s.usr, s.scope, m.session, m.seq, m.id, m.role, CASE WHEN m.name = '' THEN m.usr ELSE m.name END, m.content, m.text, m.time, m.time_off, m.trust, m.metadata"
)

func scanMessage(r *sql.Rows) (memoryd.Message, error) {
	var (
		m                    memoryd.Message
		content, calls, meta string
		at, off, recorded    int64
	)
	err := r.Scan(&m.Seq, &m.ID, (*string)(&m.Role), &content, &m.Text, &m.Name, &m.User, &calls, &m.ToolCallID, &m.Kind, &at, &off, &meta,
		&m.Tokens, (*string)(&m.Trust), &m.Writer, &recorded, &m.Searchable)
	m.Content, m.ToolCalls, m.Metadata = optRaw(content), optRaw(calls), []byte(meta)
	m.Time, m.Recorded = timeAt(at, off), timeOf(recorded)
	return m, err
}

// scanTurn scans turnColumns and what stands behind them.
func scanTurn(r *sql.Rows, more ...any) (memoryd.Turn, error) {
	var (
		t             memoryd.Turn
		content, meta string
		at, off       int64
	)
	err := r.Scan(append([]any{&t.Tenant, &t.User, (*string)(&t.Scope), &t.Session, &t.Seq, &t.ID, (*string)(&t.Role), &t.Name, &content, &t.Text,
		&at, &off, (*string)(&t.Trust), &meta}, more...)...)
	t.Text = memoryd.StripFence(t.Text)
	t.Content, t.Metadata, t.Time = optRaw(content), []byte(meta), timeAt(at, off)
	return t, err
}

func (t messages) Append(s memoryd.Session, list []memoryd.Message) ([]memoryd.Message, error) {
	if len(list) == 0 {
		return nil, nil
	}
	n, err := t.exec("UPDATE sessions SET last_seq = last_seq + ?, updated = ? WHERE tenant = ? AND id = ?",
		len(list), micros(list[0].Recorded), s.Tenant, s.ID)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, memoryd.ErrNotFound
	}
	var part, last int64
	if _, err := t.row("SELECT part, last_seq FROM sessions WHERE tenant = ? AND id = ?", []any{s.Tenant, s.ID}, &part, &last); err != nil {
		return nil, err
	}
	version, err := t.bumpPart(part, len(list))
	if err != nil {
		return nil, err
	}
	stored := slices.Clone(list)
	for i := range stored {
		behind := int64(len(stored) - 1 - i)
		stored[i].Seq = last - behind
		if err := t.insert(s, stored[i], part, version-behind); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

func (t messages) insert(s memoryd.Session, m memoryd.Message, part, change int64) error {
	_, err := t.exec("INSERT INTO messages (tenant, session, "+messageColumns+", part, changed) VALUES ("+marks(22)+")",
		s.Tenant, s.ID, m.Seq, m.ID, string(m.Role), string(m.Content), m.Text, m.Name, m.User, string(m.ToolCalls), m.ToolCallID, m.Kind,
		micros(m.Time), offset(m.Time), object(m.Metadata), m.Tokens, string(m.Trust), m.Writer, micros(m.Recorded), flag(m.Searchable),
		part, change)
	return err
}

func (t messages) Newest(s memoryd.Session, before int64, n int) ([]memoryd.Message, error) {
	if n <= 0 {
		return nil, nil
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	list, err := t.list("WHERE tenant = ? AND session = ? AND seq < ? ORDER BY seq DESC LIMIT ?", s.Tenant, s.ID, before, n)
	slices.Reverse(list)
	return list, err
}

func (t messages) ByID(s memoryd.Session, ids []string) ([]memoryd.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return t.list("WHERE tenant = ? AND session = ? AND id IN ("+marks(padded(len(ids)))+") ORDER BY seq",
		pad([]any{s.Tenant, s.ID}, ids)...)
}

func (t messages) list(rest string, args ...any) ([]memoryd.Message, error) {
	var list []memoryd.Message
	err := t.each("SELECT "+messageColumns+" FROM messages "+rest, args, func(r *sql.Rows) error {
		m, err := scanMessage(r)
		list = append(list, m)
		return err
	})
	return list, err
}

// Turns leaves out messages that search does not see.
func (t messages) Turns(o memoryd.Owner, s memoryd.Scopes, keys []memoryd.TurnKey) ([]memoryd.Turn, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := []any{o.Tenant}
	for i := range padded(len(keys)) {
		k := keys[min(i, len(keys)-1)]
		args = append(args, k.Session, k.Seq)
	}
	query := "SELECT " + turnColumns + " FROM " + turnTables +
		" WHERE m.tenant = ? AND m.searchable = 1 AND (m.session, m.seq) IN " + t.d.rows(padded(len(keys)), 2)
	var list []memoryd.Turn
	err := t.each(query, args, func(r *sql.Rows) error {
		turn, err := scanTurn(r)
		if err == nil && sees(o, s, turn.Tenant, turn.User, turn.Scope) {
			list = append(list, turn)
		}
		return err
	})
	return list, err
}
