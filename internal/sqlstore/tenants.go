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
	_, err = t.exec("INSERT INTO tenants (id, name, created) VALUES (?, ?, ?)", n.ID, n.Name, micros(n.Created))
	return err
}

func (t tenants) Put(n memoryd.Tenant) (bool, error) {
	found, err := t.exec("UPDATE tenants SET name = ? WHERE id = ?", n.Name, n.ID)
	if err != nil || found > 0 {
		return false, err
	}
	return true, t.Ensure(n)
}

func (t tenants) Get(id string) (memoryd.Tenant, error) {
	var (
		name    string
		created int64
	)
	found, err := t.row("SELECT name, created FROM tenants WHERE id = ?", []any{id}, &name, &created)
	if err != nil {
		return memoryd.Tenant{}, err
	}
	if !found {
		return memoryd.Tenant{}, memoryd.ErrNotFound
	}
	return memoryd.Tenant{ID: id, Name: name, Created: timeOf(created)}, nil
}

func (t tenants) List() ([]memoryd.Tenant, error) {
	var list []memoryd.Tenant
	err := t.each("SELECT id, name, created FROM tenants ORDER BY id", nil, func(r *sql.Rows) error {
		var (
			n       memoryd.Tenant
			created int64
		)
		err := r.Scan(&n.ID, &n.Name, &created)
		n.Created = timeOf(created)
		list = append(list, n)
		return err
	})
	return list, err
}
