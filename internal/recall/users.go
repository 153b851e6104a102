package recall

import (
	"context"

	"memoryd"
	"memoryd/internal/access"
)

// UserPage is a page of those who own something in a tenant, by id.
type UserPage struct {
	Items []memoryd.Holding
	Next  string // cursor of the next page, "" at the end
}

// Users lists who owns a memory or a session in the grant's tenant. Its whole tenant must be the grant's.
func (r *Reader) Users(ctx context.Context, g access.Grant, limit int, after string) (UserPage, error) {
	if !g.Manages() {
		return UserPage{}, memoryd.Errorf(memoryd.Denied, "denied", "listing users takes an operator's or the tenant's key")
	}
	size, err := pageOf(limit)
	if err != nil {
		return UserPage{}, err
	}
	list := listOf("users", g.Tenant())
	at, err := readCursor(after, list)
	if err != nil {
		return UserPage{}, err
	}
	behind := ""
	if at != nil {
		behind = at.ID
	}
	page := UserPage{Items: []memoryd.Holding{}}
	err = r.read(ctx, "users", func(tx memoryd.Tx) error {
		found, err := tx.Contents.Users(g.Tenant(), behind, size+1)
		page.Items = append(page.Items, found...)
		return err
	})
	if err != nil {
		return UserPage{}, err
	}
	if len(page.Items) > size {
		page.Items = page.Items[:size]
		page.Next = cursor{List: list, ID: page.Items[size-1].User}.String()
	}
	return page, nil
}
