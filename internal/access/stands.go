package access

import (
	"errors"
	"time"

	"memoryd"
)

// Stands answers ErrNotFound when the grant's tenant is gone. Every write asks in its own transaction: a tenant that is
// deleted between the grant and the write must not be left with rows, which would come back with another tenant of its
// name. The default tenant is always there; its row is made by its first write.
func (g Grant) Stands(tx memoryd.Tx, now time.Time) error {
	_, err := tx.Tenants.Get(g.tenant)
	if g.home && errors.Is(err, memoryd.ErrNotFound) {
		return tx.Tenants.Ensure(memoryd.Tenant{ID: g.tenant, Created: now})
	}
	return err
}
