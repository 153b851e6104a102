package sqlstore

import (
	"database/sql"

	"memoryd"
)

var _ memoryd.Tenants = tenants{}

type tenants struct{ *tx }

func (t tenants) Ensure(n memoryd.Tenant) error {
	found, err := t.row("SELECT 1 FROM tenants WHERE id = ?", []any{n.ID}, new(int64))
	if err != nil || found {
		return err
	}
	_, err = t.exec("INSERT INTO tenants (id, created) VALUES (?, ?)", n.ID, micros(n.Created))
	return err
}

func (t tenants) Get(id string) (memoryd.Tenant, error) {
	var created int64
	found, err := t.row("SELECT created FROM tenants WHERE id = ?", []any{id}, &created)
	if err != nil {
		return memoryd.Tenant{}, err
	}
	if !found {
		return memoryd.Tenant{}, memoryd.ErrNotFound
	}
	return memoryd.Tenant{ID: id, Created: timeOf(created)}, nil
}

func (t tenants) List() ([]memoryd.Tenant, error) {
	var list []memoryd.Tenant
	err := t.each("SELECT id, created FROM tenants ORDER BY id", nil, func(r *sql.Rows) error {
		var (
			n       memoryd.Tenant
			created int64
		)
		err := r.Scan(&n.ID, &created)
		n.Created = timeOf(created)
		list = append(list, n)
		return err
	})
	return list, err
}
