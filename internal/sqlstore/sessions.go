package sqlstore

import (
	"cmp"
	"database/sql"
	"math"
	"slices"

	"memoryd"
)

var _ memoryd.Sessions = sessions{}

type sessions struct{ *tx }

const sessionColumns = "tenant, id, usr, agent, grp, state, last_seq, judged_seq, metadata, created, updated"

func scanSession(r *sql.Rows) (memoryd.Session, error) {
	var (
		s                memoryd.Session
		metadata         string
		created, updated int64
	)
	err := r.Scan(&s.Tenant, &s.ID, &s.User, &s.Agent, &s.Group, &s.State, &s.LastSeq, &s.JudgedSeq, &metadata, &created, &updated)
	s.Metadata, s.Created, s.Updated = []byte(metadata), timeOf(created), timeOf(updated)
	return s, err
}

func (t sessions) Get(o memoryd.Owner, s memoryd.Scopes, id string) (memoryd.Session, error) {
	found, list := false, memoryd.Session{}
	err := t.each("SELECT "+sessionColumns+" FROM sessions WHERE tenant = ? AND id = ?", []any{o.Tenant, id}, func(r *sql.Rows) (err error) {
		list, err = scanSession(r)
		found = true
		return err
	})
	if err != nil {
		return memoryd.Session{}, err
	}
	if !found || !sees(o, s, list.Tenant, list.User, list.Scope()) {
		return memoryd.Session{}, memoryd.ErrNotFound
	}
	return list, nil
}

// Put gives a new session no messages, whatever its LastSeq says: the id may have been another's before.
func (t sessions) Put(s memoryd.Session) (created bool, err error) {
	n, err := t.exec("UPDATE sessions SET state = ?, metadata = ?, updated = ? WHERE tenant = ? AND id = ?",
		s.State, object(s.Metadata), micros(s.Updated), s.Tenant, s.ID)
	if err != nil || n > 0 {
		return false, err
	}
	part, _, err := t.bump(s.Partition(), 0)
	if err != nil {
		return false, err
	}
	_, err = t.exec("INSERT INTO sessions ("+sessionColumns+", scope, grouped, part) VALUES ("+marks(14)+")",
		s.Tenant, s.ID, s.User, s.Agent, s.Group, s.State, 0, 0, object(s.Metadata), micros(s.Created), micros(s.Updated),
		string(s.Scope()), flag(s.Group != ""), part)
	return err == nil, err
}

func (t sessions) List(o memoryd.Owner, s memoryd.Scopes, f memoryd.SessionFilter) ([]memoryd.Session, error) {
	areas, err := t.areas(o, s)
	if err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = math.MaxInt32
	}
	var list []memoryd.Session
	for _, a := range areas {
		where, args := a.where, slices.Clone(a.args)
		if f.Agent != "" {
			where, args = where+" AND agent = ?", append(args, f.Agent)
		}
		if f.State != "" {
			where, args = where+" AND state = ?", append(args, f.State)
		}
		if f.BeforeID != "" || !f.Before.IsZero() {
			before := micros(f.Before)
			where, args = where+" AND created <= ? AND (created < ? OR id < ?)", append(args, before, before, f.BeforeID)
		}
		query := "SELECT " + sessionColumns + " FROM sessions WHERE " + where + " ORDER BY created DESC, id DESC LIMIT ?"
		err := t.each(query, append(args, f.Limit), func(r *sql.Rows) error {
			found, err := scanSession(r)
			list = append(list, found)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b memoryd.Session) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), f.Limit)], nil
}

func (t sessions) Delete(o memoryd.Owner, s memoryd.Scopes, id string) (int64, error) {
	if _, err := t.Get(o, s, id); err != nil {
		return 0, err
	}
	var (
		turns int
		part  int64
	)
	_, err := t.row(`SELECT part, (SELECT COUNT(*) FROM messages AS m WHERE m.tenant = s.tenant AND m.session = s.id AND m.searchable = 1)
FROM sessions AS s WHERE s.tenant = ? AND s.id = ?`, []any{o.Tenant, id}, &part, &turns)
	if err != nil {
		return 0, err
	}
	if err := t.removeTurns(o.Tenant, id, part, turns); err != nil {
		return 0, err
	}
	messages, err := t.exec("DELETE FROM messages WHERE tenant = ? AND session = ?", o.Tenant, id)
	if err != nil {
		return 0, err
	}
	_, err = t.exec("DELETE FROM sessions WHERE tenant = ? AND id = ?", o.Tenant, id)
	return messages, err
}

// removeTurns notes that the session's turns, so many of them, are gone, each with a change of its own.
func (t sessions) removeTurns(tenant, session string, part int64, turns int) error {
	if turns == 0 {
		return nil
	}
	version, err := t.bumpPart(part, turns)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO removed (part, changed, memory, session, seq)
SELECT part, ? + ROW_NUMBER() OVER (ORDER BY seq), '', session, seq FROM messages
WHERE tenant = ? AND session = ? AND searchable = 1`, version-int64(turns), tenant, session)
	return err
}
