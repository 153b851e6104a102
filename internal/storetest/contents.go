package storetest

import (
	"errors"
	"testing"
	"time"

	"memoryd"
)

// Contents tests the port of that name.
func Contents(t *testing.T, open Open) {
	s := open(t)
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Second) }
	of := func(m memoryd.Memory, tenant, user string) memoryd.Memory {
		m.Tenant, m.User = tenant, user
		return m
	}
	old := memory(3, memoryd.Global, "gone")
	old.Status = memoryd.Archived
	write(t, s, insert(
		of(memory(1, memoryd.Global, "a"), "t", "amy"), of(memory(2, team, "b"), "t", "amy"), of(old, "t", "amy"),
		of(memory(4, team, "only in a group"), "t", "Bob"), of(memory(9, memoryd.DM, "elsewhere"), "T", "amy"),
	))
	chat := session("s")
	chat.User, chat.Updated = "amy", at(7)
	only := session("s2")
	only.User, only.Group = "cy", "team"
	write(t, s, func(tx memoryd.Tx) error {
		_, err := tx.Sessions.Put(chat)
		_, err2 := tx.Sessions.Put(only)
		_, err3 := tx.Tenants.Put(memoryd.Tenant{ID: "t", Name: "first", Created: now})
		return errors.Join(err, err2, err3, tx.Agents.Put("t", "a", []byte("{}")), tx.Agents.Put("T", "a", []byte("{}")))
	})
	users := []memoryd.Holding{
		{User: "Bob", Active: 1, LastWrite: at(4)}, {User: "amy", Active: 2, Other: 1, Sessions: 1, LastWrite: at(7)},
		{User: "cy", Sessions: 1, LastWrite: at(0)},
	}
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Contents.Users("t", "", 10)
		same(t, "users", got, users)
		after := ""
		for _, want := range users {
			page, err := tx.Contents.Users("t", after, 1)
			same(t, "the one behind "+after, page, []memoryd.Holding{want})
			after = want.User
			if err != nil {
				return err
			}
		}
		none, err2 := tx.Contents.Users("t", after, 1)
		same(t, "behind the last", len(none), 0)
		all, err3 := tx.Contents.Count("t")
		same(t, "all", all, memoryd.Holding{Active: 3, Other: 1, Sessions: 2, LastWrite: at(7)})
		nothing, err4 := tx.Contents.Count("x")
		same(t, "nothing", nothing, memoryd.Holding{})
		return errors.Join(err, err2, err3, err4)
	})
	write(t, s, func(tx memoryd.Tx) error { return tx.Contents.Drop("t") })
	fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error { return tx.Contents.Drop("t") })
	read(t, s, func(tx memoryd.Tx) error {
		_, gone := tx.Tenants.Get("t")
		_, agent := tx.Agents.Get("t", "a")
		same(t, "gone", []bool{errors.Is(gone, memoryd.ErrNotFound), errors.Is(agent, memoryd.ErrNotFound)}, []bool{true, true})
		_, err := tx.Agents.Get("T", "a")
		return err
	})
}
