package sqlstore

import (
	"cmp"
	"database/sql"
	"slices"
	"time"

	"memoryd"
)

var _ memoryd.Contents = contents{}

type contents struct{ *tx }

// maxStatuses is more than a memory can be in.
const maxStatuses = 8

func (t contents) Count(tenant string) (memoryd.Holding, error) {
	all := map[string]*memoryd.Holding{}
	if err := t.memories("SELECT '', status, COUNT(*), MAX(recorded) FROM memories WHERE tenant = ? GROUP BY status", []any{tenant}, all); err != nil {
		return memoryd.Holding{}, err
	}
	if err := t.sessions("SELECT '', COUNT(*), MAX(updated) FROM sessions WHERE tenant = ?", []any{tenant}, all); err != nil {
		return memoryd.Holding{}, err
	}
	return *all[""], nil
}

// Users takes the first of each table, which hold the first of both together.
func (t contents) Users(tenant, after string, limit int) ([]memoryd.Holding, error) {
	all := map[string]*memoryd.Holding{}
	// A user has at most a row for each status, so that the last of limit users is whole.
	err := t.memories(`SELECT usr, status, COUNT(*), MAX(recorded) FROM memories WHERE tenant = ? AND usr > ?
GROUP BY usr, status ORDER BY usr, status LIMIT ?`, []any{tenant, after, limit * maxStatuses}, all)
	if err != nil {
		return nil, err
	}
	err = t.sessions("SELECT usr, COUNT(*), MAX(updated) FROM sessions WHERE tenant = ? AND usr > ? GROUP BY usr ORDER BY usr LIMIT ?",
		[]any{tenant, after, limit}, all)
	if err != nil {
		return nil, err
	}
	list := make([]memoryd.Holding, 0, len(all))
	for _, h := range all {
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b memoryd.Holding) int { return cmp.Compare(a.User, b.User) })
	return list[:min(limit, len(list))], nil
}

func (t contents) memories(query string, args []any, all map[string]*memoryd.Holding) error {
	return t.each(query, args, func(r *sql.Rows) error {
		var (
			user, status string
			n, last      int64
		)
		err := r.Scan(&user, &status, &n, &last)
		h := holdingOf(all, user)
		if memoryd.Status(status) == memoryd.Active {
			h.Active += n
		} else {
			h.Other += n
		}
		h.LastWrite = later(h.LastWrite, timeOf(last))
		return err
	})
}

func (t contents) sessions(query string, args []any, all map[string]*memoryd.Holding) error {
	return t.each(query, args, func(r *sql.Rows) error {
		var (
			user string
			n    int64
			last sql.NullInt64
		)
		err := r.Scan(&user, &n, &last)
		h := holdingOf(all, user)
		h.Sessions += n
		if at := optTime(last); at != nil {
			h.LastWrite = later(h.LastWrite, *at)
		}
		return err
	})
}

func holdingOf(all map[string]*memoryd.Holding, user string) *memoryd.Holding {
	if all[user] == nil {
		all[user] = &memoryd.Holding{User: user}
	}
	return all[user]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (t contents) Drop(tenant string) error {
	n, err := t.exec("DELETE FROM tenants WHERE id = ?", tenant)
	if err != nil {
		return err
	}
	if n == 0 {
		return memoryd.ErrNotFound
	}
	// The partitions stay: their versions must not start over, since indexes go by them.
	for _, table := range []string{"agents", "scratch", "receipts"} {
		if _, err := t.exec("DELETE FROM "+table+" WHERE tenant = ?", tenant); err != nil {
			return err
		}
	}
	return nil
}
