package sqlstore

import (
	"database/sql"
	"time"

	"memoryd"
)

var _ memoryd.Scratch = scratch{}

type scratch struct{ *tx }

const ofRun = "tenant = ? AND usr = ? AND agent = ? AND run = ?"

func runArgs(r memoryd.Run, more ...any) []any {
	return append([]any{r.Tenant, r.User, r.Agent, r.ID}, more...)
}

func (t scratch) Put(r memoryd.Run, e memoryd.Entry, limit int) (bool, error) {
	now := micros(e.Updated)
	n, err := t.exec("UPDATE scratch SET value = ?, updated = ?, expires = ? WHERE "+ofRun+" AND name = ? AND expires > ?",
		append([]any{string(e.Value), now, micros(e.Expires)}, runArgs(r, e.Key, now)...)...)
	if err != nil || n > 0 {
		return n > 0, err
	}
	var others int
	if _, err := t.row("SELECT COUNT(*) FROM scratch WHERE "+ofRun+" AND expires > ?", runArgs(r, now), &others); err != nil || others >= limit {
		return false, err
	}
	if _, err := t.exec("DELETE FROM scratch WHERE "+ofRun+" AND name = ?", runArgs(r, e.Key)...); err != nil {
		return false, err
	}
	_, err = t.exec("INSERT INTO scratch (tenant, usr, agent, run, name, value, updated, expires) VALUES ("+marks(8)+")",
		runArgs(r, e.Key, string(e.Value), now, micros(e.Expires))...)
	return err == nil, err
}

// keyed is the condition on the keys, "" for all of them.
func keyed(keys []string, args []any) (string, []any) {
	if len(keys) == 0 {
		return "", args
	}
	return " AND name IN (" + marks(padded(len(keys))) + ")", pad(args, keys)
}

func (t scratch) Get(r memoryd.Run, now time.Time, keys ...string) ([]memoryd.Entry, error) {
	where, args := keyed(keys, runArgs(r, micros(now)))
	var list []memoryd.Entry
	err := t.each("SELECT name, value, updated, expires FROM scratch WHERE "+ofRun+" AND expires > ?"+where+" ORDER BY name", args, func(r *sql.Rows) error {
		var (
			e                memoryd.Entry
			value            string
			updated, expires int64
		)
		err := r.Scan(&e.Key, &value, &updated, &expires)
		e.Value, e.Updated, e.Expires = []byte(value), timeOf(updated), timeOf(expires)
		list = append(list, e)
		return err
	})
	return list, err
}

// Delete takes what has expired along, and does not count it.
func (t scratch) Delete(r memoryd.Run, now time.Time, keys ...string) (int, error) {
	where, args := keyed(keys, runArgs(r, micros(now)))
	live, err := t.exec("DELETE FROM scratch WHERE "+ofRun+" AND expires > ?"+where, args...)
	if err != nil {
		return 0, err
	}
	where, args = keyed(keys, runArgs(r))
	_, err = t.exec("DELETE FROM scratch WHERE "+ofRun+where, args...)
	return int(live), err
}

func (t scratch) Purge(now time.Time, n int) (int, error) {
	var gone [][]any
	query := "SELECT tenant, usr, agent, run, name FROM scratch WHERE expires <= ? ORDER BY expires LIMIT ?"
	err := t.each(query, []any{micros(now), n}, func(r *sql.Rows) error {
		var (
			run  memoryd.Run
			name string
		)
		err := r.Scan(&run.Tenant, &run.User, &run.Agent, &run.ID, &name)
		gone = append(gone, runArgs(run, name))
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, args := range gone {
		if _, err := t.exec("DELETE FROM scratch WHERE "+ofRun+" AND name = ?", args...); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
