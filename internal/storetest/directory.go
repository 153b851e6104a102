package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"memoryd"
)

// Tenants tests the port of that name.
func Tenants(t *testing.T, open Open) {
	s := open(t)
	read(t, s, func(tx memoryd.Tx) error {
		if _, err := tx.Tenants.Get("a"); !errors.Is(err, memoryd.ErrNotFound) {
			t.Errorf("unknown tenant: %v", err)
		}
		return nil
	})
	for _, id := range odd {
		write(t, s, ensure(id))
	}
	write(t, s, func(tx memoryd.Tx) error {
		return tx.Tenants.Ensure(memoryd.Tenant{ID: "ab", Created: now.Add(time.Hour)})
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Tenants.Get("ab")
		same(t, "the first one stays", got, memoryd.Tenant{ID: "ab", Created: now})
		return err
	})
	same(t, "order", tenantIDs(t, s), slices.Sorted(slices.Values(odd)))
	write(t, s, func(tx memoryd.Tx) error {
		again, err := tx.Tenants.Put(memoryd.Tenant{ID: "ab", Name: "n'", Created: now.Add(time.Hour)})
		made, err2 := tx.Tenants.Put(memoryd.Tenant{ID: "new", Name: "n", Created: now})
		same(t, "created", []bool{again, made}, []bool{false, true})
		got, err3 := tx.Tenants.Get("ab")
		same(t, "renamed", got, memoryd.Tenant{ID: "ab", Name: "n'", Created: now})
		return errors.Join(err, err2, err3)
	})
	whole(t, parallel(20, func(int) error { return s.Write(t.Context(), ensure("once")) }))
}

// Agents tests the port of that name.
func Agents(t *testing.T, open Open) {
	s := open(t)
	write(t, s, func(tx memoryd.Tx) error {
		for _, id := range odd {
			if err := tx.Agents.Put("t", id, []byte(`{"id":"`+id)); err != nil { // kept as it is, JSON or not
				return err
			}
		}
		return errors.Join(tx.Agents.Put("t", "a", []byte("1")), tx.Agents.Put("t", "a", []byte("2")), tx.Agents.Put("T", "a", []byte("3")))
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Agents.Get("t", "a")
		same(t, "replaced", string(got), "2")
		list, err2 := tx.Agents.List("t")
		same(t, "agents of t", len(list), len(odd)+1)
		for _, id := range odd {
			same(t, id, string(list[id]), `{"id":"`+id)
		}
		list, err3 := tx.Agents.List("T")
		same(t, "agents of T", list, map[string][]byte{"a": []byte("3")})
		none, err4 := tx.Agents.List("x")
		same(t, "agents of x", len(none), 0)
		_, missing := tx.Agents.Get("x", "a")
		same(t, "missing", errors.Is(missing, memoryd.ErrNotFound), true)
		return errors.Join(err, err2, err3, err4)
	})
	write(t, s, func(tx memoryd.Tx) error { return tx.Agents.Delete("t", "a") })
	fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error { return tx.Agents.Delete("t", "a") })
	read(t, s, func(tx memoryd.Tx) error {
		_, missing := tx.Agents.Get("t", "a")
		same(t, "deleted", errors.Is(missing, memoryd.ErrNotFound), true)
		_, err := tx.Agents.Get("T", "a")
		return err
	})
}

// Keys tests the port of that name.
func Keys(t *testing.T, open Open) {
	s := open(t)
	past, later := now.Add(-time.Hour), now.Add(time.Hour)
	list := []memoryd.Key{
		{ID: "A", Hash: []byte{1}, Kind: "tenant", Tenant: "T", Created: now},
		{ID: "a", Hash: []byte{0, 255, 39}, Kind: "agent", Tenant: "t", Agent: "x", User: "u", Name: "n'", Created: now, Expires: &past},
		{ID: "b", Hash: []byte{2}, Kind: "tenant", Tenant: "t", Created: now, Revoked: &past},
		{ID: "c", Hash: []byte{3}, Kind: "operator", Created: now},
	}
	write(t, s, func(tx memoryd.Tx) error {
		for _, i := range []int{2, 0, 3, 1} {
			if err := tx.Keys.Insert(list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Keys.Insert(memoryd.Key{ID: "a", Hash: []byte{9}, Created: now}) }); err == nil {
		t.Error("an id was taken twice")
	}
	read(t, s, func(tx memoryd.Tx) error {
		for _, k := range list {
			got, err := tx.Keys.Get(k.ID)
			if err != nil {
				return err
			}
			same(t, k.ID, got, k)
		}
		_, missing := tx.Keys.Get("B")
		same(t, "missing", errors.Is(missing, memoryd.ErrNotFound), true)
		every, err := tx.Keys.List("")
		same(t, "all", every, list)
		some, err2 := tx.Keys.List("t")
		same(t, "those of t", some, list[1:3])
		return errors.Join(err, err2)
	})
	revoke := func(tenant, id string, at time.Time) func(memoryd.Tx) error {
		return func(tx memoryd.Tx) error { return tx.Keys.Revoke(tenant, id, at) }
	}
	fails(t, s, memoryd.ErrNotFound, revoke("t", "x", now))
	fails(t, s, memoryd.ErrNotFound, revoke("t", "A", now))
	fails(t, s, memoryd.ErrNotFound, revoke("t", "c", now))
	write(t, s, revoke("t", "a", now))
	write(t, s, revoke("t", "a", later))
	write(t, s, revoke("", "A", later))
	write(t, s, revoke("", "b", later))
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Keys.List("")
		for i, want := range []*time.Time{&later, &now, &past, nil} {
			same(t, got[i].ID, got[i].Revoked, want)
		}
		return err
	})
}
