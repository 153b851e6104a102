package sqlstore

import (
	"database/sql"

	"memoryd"
)

var _ memoryd.Agents = agents{}

type agents struct{ *tx }

func (t agents) Put(tenant, id string, settings []byte) error {
	n, err := t.exec("UPDATE agents SET settings = ? WHERE tenant = ? AND id = ?", string(settings), tenant, id)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.exec("INSERT INTO agents (tenant, id, settings) VALUES (?, ?, ?)", tenant, id, string(settings))
	return err
}

func (t agents) Get(tenant, id string) ([]byte, error) {
	var settings []byte
	found, err := t.row("SELECT settings FROM agents WHERE tenant = ? AND id = ?", []any{tenant, id}, &settings)
	if err == nil && !found {
		err = memoryd.ErrNotFound
	}
	return settings, err
}

func (t agents) List(tenant string) (map[string][]byte, error) {
	list := map[string][]byte{}
	err := t.each("SELECT id, settings FROM agents WHERE tenant = ?", []any{tenant}, func(r *sql.Rows) error {
		var (
			id       string
			settings []byte
		)
		err := r.Scan(&id, &settings)
		list[id] = settings
		return err
	})
	return list, err
}

func (t agents) Delete(tenant, id string) error {
	n, err := t.exec("DELETE FROM agents WHERE tenant = ? AND id = ?", tenant, id)
	if err == nil && n == 0 {
		err = memoryd.ErrNotFound
	}
	return err
}
