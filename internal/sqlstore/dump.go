package sqlstore

import (
	"database/sql"

	"memoryd"
)

var (
	_ memoryd.Dump = dump{}
	_ memoryd.Load = load{}
)

// dump reads by the primary keys.
type dump struct{ *tx }

func (t dump) Tenants() ([]string, error) {
	var list []string
	err := t.each(`SELECT id FROM tenants UNION SELECT tenant FROM partitions UNION SELECT tenant FROM agents ORDER BY 1`, nil,
		func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, err
}

// of is the condition on the rows of an owner behind an id.
func (t dump) of(o memoryd.Owner, after string, limit int) (string, []any) {
	where, args := "tenant = ? AND id > ?", []any{o.Tenant, after}
	if o.User != "" {
		where, args = where+" AND usr = ? AND grouped = 0", append(args, o.User)
	}
	return " WHERE " + where + " ORDER BY id LIMIT ?", append(args, limit)
}

func (t dump) Sessions(o memoryd.Owner, after string, limit int) ([]memoryd.Session, error) {
	var list []memoryd.Session
	where, args := t.of(o, after, limit)
	err := t.each("SELECT "+sessionColumns+" FROM sessions"+where, args, func(r *sql.Rows) error {
		s, err := scanSession(r)
		list = append(list, s)
		return err
	})
	return list, err
}

func (t dump) Messages(s memoryd.Session, after int64, limit int) ([]memoryd.Message, error) {
	return messages(t).list("WHERE tenant = ? AND session = ? AND seq > ? ORDER BY seq LIMIT ?", s.Tenant, s.ID, after, limit)
}

func (t dump) Memories(o memoryd.Owner, after string, limit int) ([]memoryd.Memory, error) {
	var list []memoryd.Memory
	where, args := t.of(o, after, limit)
	err := t.each("SELECT "+memoryColumns+" FROM memories"+where, args, func(r *sql.Rows) error {
		m, err := scanMemory(r)
		list = append(list, m)
		return err
	})
	return list, err
}

type load struct{ *tx }

func (t load) Session(s memoryd.Session) error {
	if _, err := (sessions(t)).Put(s); err != nil {
		return err
	}
	_, err := t.exec("UPDATE sessions SET last_seq = ?, judged_seq = ? WHERE tenant = ? AND id = ?", s.LastSeq, s.JudgedSeq, s.Tenant, s.ID)
	return err
}

func (t load) Messages(s memoryd.Session, list []memoryd.Message) error {
	if len(list) == 0 {
		return nil
	}
	var part int64
	found, err := t.row("SELECT part FROM sessions WHERE tenant = ? AND id = ?", []any{s.Tenant, s.ID}, &part)
	if err != nil {
		return err
	}
	if !found {
		return memoryd.ErrNotFound
	}
	version, err := t.bumpPart(part, len(list))
	if err != nil {
		return err
	}
	for i, m := range list {
		if err := (messages(t)).insert(s, m, part, version-int64(len(list)-1-i)); err != nil {
			return err
		}
	}
	return nil
}

func (t load) Twins(list []memoryd.Memory) ([]string, error) {
	parts := map[memoryd.Partition]int64{}
	twins := make([]string, len(list))
	for i, m := range list {
		if !isLive(m) {
			continue
		}
		p := m.Partition()
		part, known := parts[p]
		if !known {
			var err error
			if part, _, err = t.partition(p); err != nil {
				return nil, err
			}
			parts[p] = part
		}
		var id string
		found, err := t.row("SELECT id FROM memories WHERE part = ? AND scope = ? AND live = ?", []any{part, string(m.Scope), m.Hash}, &id)
		if err != nil {
			return nil, err
		}
		if found && id != m.ID {
			twins[i] = id
		}
	}
	return twins, nil
}

// Memories counts each partition up once, by as many as it gets.
func (t load) Memories(list []memoryd.Memory) error {
	type place struct{ part, change int64 }
	counts, places := map[memoryd.Partition]int{}, map[memoryd.Partition]*place{}
	for _, m := range list {
		counts[m.Partition()]++
	}
	for _, m := range list {
		p := m.Partition()
		if places[p] == nil {
			part, version, err := t.bump(p, counts[p])
			if err != nil {
				return err
			}
			places[p] = &place{part, version - int64(counts[p])}
		}
		at := places[p]
		at.change++
		args, err := memoryArgs(m)
		if err != nil {
			return err
		}
		if _, err := t.exec(insertMemory, append(args, placeArgs(m, at.part, at.change)...)...); err != nil {
			return memories(t).twinOr(err)
		}
	}
	return nil
}
