package sqlstore

import (
	"database/sql"
	"time"

	"memoryd"
)

var _ memoryd.Keys = keys{}

type keys struct{ *tx }

const keyColumns = "id, hash, kind, tenant, agent, usr, name, created, expires, revoked"

func (t keys) Insert(k memoryd.Key) error {
	_, err := t.exec("INSERT INTO api_keys ("+keyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		k.ID, k.Hash, k.Kind, k.Tenant, k.Agent, k.User, k.Name, micros(k.Created), optMicros(k.Expires), optMicros(k.Revoked))
	return err
}

func (t keys) Get(id string) (memoryd.Key, error) {
	list, err := t.list("WHERE id = ?", id)
	if err != nil {
		return memoryd.Key{}, err
	}
	if len(list) == 0 {
		return memoryd.Key{}, memoryd.ErrNotFound
	}
	return list[0], nil
}

func (t keys) List(tenant string) ([]memoryd.Key, error) {
	if tenant == "" {
		return t.list("ORDER BY id")
	}
	return t.list("WHERE tenant = ? ORDER BY id", tenant)
}

func (t keys) list(rest string, args ...any) ([]memoryd.Key, error) {
	var list []memoryd.Key
	err := t.each("SELECT "+keyColumns+" FROM api_keys "+rest, args, func(r *sql.Rows) error {
		var (
			k                memoryd.Key
			created          int64
			expires, revoked sql.NullInt64
		)
		err := r.Scan(&k.ID, &k.Hash, &k.Kind, &k.Tenant, &k.Agent, &k.User, &k.Name, &created, &expires, &revoked)
		k.Created, k.Expires, k.Revoked = timeOf(created), optTime(expires), optTime(revoked)
		list = append(list, k)
		return err
	})
	return list, err
}

func (t keys) Revoke(tenant, id string, at time.Time) error {
	k, err := t.Get(id)
	if err != nil {
		return err
	}
	if tenant != "" && k.Tenant != tenant {
		return memoryd.ErrNotFound
	}
	_, err = t.exec("UPDATE api_keys SET revoked = ? WHERE id = ? AND revoked IS NULL", micros(at), id)
	return err
}
