package sqlstore

import (
	"database/sql"
	"time"

	"memoryd"
)

var _ memoryd.Receipts = receipts{}

type receipts struct{ *tx }

func (t receipts) Get(id []byte) (memoryd.Receipt, error) {
	var (
		r      = memoryd.Receipt{ID: id}
		result string
		made   int64
	)
	found, err := t.row("SELECT tenant, digest, result, made FROM receipts WHERE id = ?", []any{id}, &r.Tenant, &r.Digest, &result, &made)
	if err != nil {
		return memoryd.Receipt{}, err
	}
	if !found {
		return memoryd.Receipt{}, memoryd.ErrNotFound
	}
	r.Result, r.Made = []byte(result), timeOf(made)
	return r, nil
}

func (t receipts) Put(r memoryd.Receipt, expired time.Time) (bool, error) {
	var made int64
	found, err := t.row("SELECT made FROM receipts WHERE id = ?", []any{r.ID}, &made)
	if err != nil || found && made >= micros(expired) {
		return false, err
	}
	if found {
		if _, err := t.exec("DELETE FROM receipts WHERE id = ?", r.ID); err != nil {
			return false, err
		}
	}
	_, err = t.exec("INSERT INTO receipts (id, tenant, digest, result, made) VALUES (?, ?, ?, ?, ?)",
		r.ID, r.Tenant, r.Digest, string(r.Result), micros(r.Made))
	return err == nil, err
}

func (t receipts) Purge(expired time.Time, n int) (int, error) {
	var ids [][]byte
	err := t.each("SELECT id FROM receipts WHERE made < ? ORDER BY made LIMIT ?", []any{micros(expired), n}, func(r *sql.Rows) error {
		var id []byte
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := t.exec("DELETE FROM receipts WHERE id = ?", id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
