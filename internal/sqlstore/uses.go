package sqlstore

import "memoryd"

var _ memoryd.Uses = uses{}

type uses struct{ *tx }

func (t uses) Count(list []memoryd.Use) error {
	for _, u := range list {
		at := micros(u.At)
		_, err := t.exec("UPDATE memories SET uses = uses + ?, last_used = CASE WHEN last_used < ? THEN ? ELSE last_used END "+
			"WHERE tenant = ? AND id = ?", u.N, at, at, u.Tenant, u.Memory)
		if err != nil {
			return err
		}
	}
	return nil
}
