package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"memoryd"
)

// Sessions tests the port of that name.
func Sessions(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"put":                    putSession,
		"visibility":             sessionVisibility,
		"ids byte for byte":      sessionIDs,
		"pages over equal times": sessionPages,
		"filters":                sessionFilters,
		"delete":                 deleteSession,
	})
}

func getSession(t testing.TB, s memoryd.Store, id string) memoryd.Session {
	t.Helper()
	var got memoryd.Session
	read(t, s, func(tx memoryd.Tx) (err error) {
		got, err = tx.Sessions.Get(memoryd.Owner{Tenant: "t"}, all, id)
		return err
	})
	return got
}

func putSession(t *testing.T, s memoryd.Store) {
	first := session("s")
	first.Agent, first.Group, first.Metadata = "a", "team", []byte(`{"a": "é"}`)
	write(t, s, func(tx memoryd.Tx) error {
		with := first
		with.LastSeq, with.JudgedSeq = 7, 7 // of a deleted namesake: a new session has no messages
		created, err := tx.Sessions.Put(with)
		same(t, "created", created, true)
		return err
	})
	same(t, "as it was put", getSession(t, s, "s"), first)
	write(t, s, put(first, message(1, "x")))
	second := memoryd.Session{Tenant: "t", ID: "s", User: "other", Agent: "other", Group: "other", State: "ended", Metadata: []byte(`{"b":1}`),
		Created: now.Add(time.Hour), Updated: now.Add(2 * time.Hour)}
	write(t, s, func(tx memoryd.Tx) error {
		created, err := tx.Sessions.Put(second)
		same(t, "created", created, false)
		return err
	})
	want := first
	want.State, want.Metadata, want.Updated, want.LastSeq = second.State, second.Metadata, second.Updated, 1
	same(t, "only state, metadata and updated change", getSession(t, s, "s"), want)
}

// cast is sessions of two users, two tenants, and all kinds of scopes, by id.
func cast() map[string]memoryd.Session {
	list := map[string]memoryd.Session{}
	for i, c := range []struct{ id, tenant, user, agent, group string }{
		{"dm", "t", "u", "", ""}, {"agent", "t", "u", "a", ""}, {"star", "t", "u", "*", ""}, {"group", "t", "u", "a", "team"}, {"other group", "t", "u", "", "Team"},
		{"v dm", "t", "v", "", ""}, {"v agent", "t", "v", "a", ""}, {"v group", "t", "v", "", "team"},
		{"T dm", "T", "u", "", ""}, {"T group", "T", "u", "", "team"}, {"U dm", "t", "U", "", ""},
	} {
		x := session(c.id)
		x.Tenant, x.User, x.Agent, x.Group = c.tenant, c.user, c.agent, c.group
		x.Created = now.Add(time.Duration(i) * time.Second)
		list[c.id] = x
	}
	return list
}

// views is what owners and sets see of the cast.
var views = []struct {
	o    memoryd.Owner
	s    memoryd.Scopes
	want []string
}{
	{own, all, []string{"dm", "agent", "star", "group", "other group", "v group"}},
	{own, memoryd.ScopesOf(memoryd.DM), []string{"dm"}},
	{own, memoryd.ScopesOf(memoryd.Global), nil},
	{own, memoryd.ScopesOf(memoryd.AgentScope("a")), []string{"agent"}},
	{own, memoryd.ScopesOf(memoryd.AgentScope("*")), []string{"star"}},
	{own, memoryd.ScopesOf(memoryd.GroupScope("*")), nil},
	{own, memoryd.ScopesOf(team, team), []string{"group", "v group"}},
	{own, memoryd.ScopesOf(team, memoryd.DM), []string{"dm", "group", "v group"}},
	{own, memoryd.Scopes{Agents: true}, []string{"agent", "star"}},
	{own, memoryd.Scopes{Groups: true}, []string{"group", "other group", "v group"}},
	{own, memoryd.Scopes{}, nil},
	{memoryd.Owner{Tenant: "t"}, all, []string{"dm", "agent", "star", "group", "other group", "v dm", "v agent", "v group", "U dm"}},
	{memoryd.Owner{Tenant: "t"}, memoryd.ScopesOf(memoryd.DM, memoryd.AgentScope("a")), []string{"dm", "agent", "v dm", "v agent", "U dm"}},
	{memoryd.Owner{Tenant: "t", User: "stranger"}, all, []string{"group", "other group", "v group"}},
	{memoryd.Owner{Tenant: "T", User: "u"}, all, []string{"T dm", "T group"}},
	{memoryd.Owner{Tenant: "x", User: "u"}, all, nil},
	{memoryd.Owner{User: "u"}, all, nil},
	{memoryd.Owner{}, all, nil},
}

func sessionVisibility(t *testing.T, s memoryd.Store) {
	list := cast()
	for _, x := range list {
		write(t, s, put(x, message(1, "said in "+x.ID)))
	}
	for _, view := range views {
		name := fmt.Sprintf("%+v %+v", view.o, view.s)
		read(t, s, func(tx memoryd.Tx) error {
			found, err := tx.Sessions.List(view.o, view.s, memoryd.SessionFilter{})
			var got []string
			for _, x := range found {
				got = append(got, x.ID)
			}
			slices.Sort(got)
			same(t, name, got, slices.Sorted(slices.Values(view.want)))
			for id := range list {
				_, err := tx.Sessions.Get(view.o, view.s, id)
				if slices.Contains(view.want, id) != (err == nil) || err != nil && !errors.Is(err, memoryd.ErrNotFound) {
					t.Errorf("%s: get %s: %v", name, id, err)
				}
			}
			return err
		})
		for id := range list {
			if slices.Contains(view.want, id) {
				continue
			}
			fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error {
				_, err := tx.Sessions.Delete(view.o, view.s, id)
				return err
			})
		}
	}
}

func sessionIDs(t *testing.T, s memoryd.Store) {
	for _, id := range odd {
		x := session(id)
		x.User = "u" + id
		write(t, s, func(tx memoryd.Tx) error {
			created, err := tx.Sessions.Put(x)
			same(t, id+" is new", created, true)
			return err
		})
	}
	for _, id := range odd {
		same(t, id, getSession(t, s, id).User, "u"+id)
		read(t, s, func(tx memoryd.Tx) error {
			got, err := tx.Sessions.List(memoryd.Owner{Tenant: "t", User: "u" + id}, all, memoryd.SessionFilter{})
			same(t, "sessions of u"+id, len(got), 1)
			return err
		})
	}
}

// Groups and users are interleaved, and many sessions share a time.
func sessionPages(t *testing.T, s memoryd.Store) {
	var want []memoryd.Session
	for i := range 40 {
		x := session(fmt.Sprintf("s%02d", (i*7)%40))
		x.Created = now.Add(time.Duration(i/8) * time.Microsecond)
		x.Group = []string{"", "team", "other", ""}[i%4]
		write(t, s, put(x))
		want = append(want, x)
	}
	slices.SortFunc(want, func(a, b memoryd.Session) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		if a.ID > b.ID {
			return -1
		}
		return 1
	})
	for _, set := range []memoryd.Scopes{all, memoryd.ScopesOf(memoryd.DM, team, memoryd.GroupScope("other"))} {
		var got []memoryd.Session
		f := memoryd.SessionFilter{Limit: 3}
		for {
			var page []memoryd.Session
			read(t, s, func(tx memoryd.Tx) (err error) {
				page, err = tx.Sessions.List(own, set, f)
				return err
			})
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			f.Before, f.BeforeID = page[len(page)-1].Created, page[len(page)-1].ID
		}
		same(t, "pages", got, want)
	}
}

func sessionFilters(t *testing.T, s memoryd.Store) {
	for i := range 12 {
		x := session(fmt.Sprint("s", i))
		x.Agent, x.State = []string{"", "a", "A"}[i%3], []string{"open", "ended"}[i%2]
		write(t, s, put(x))
	}
	for _, c := range []struct {
		f    memoryd.SessionFilter
		want int
	}{
		{memoryd.SessionFilter{}, 12}, {memoryd.SessionFilter{Agent: "a"}, 4}, {memoryd.SessionFilter{State: "open"}, 6},
		{memoryd.SessionFilter{Agent: "a", State: "ended"}, 2}, {memoryd.SessionFilter{Agent: "%"}, 0}, {memoryd.SessionFilter{Limit: 5}, 5},
	} {
		read(t, s, func(tx memoryd.Tx) error {
			got, err := tx.Sessions.List(own, all, c.f)
			same(t, fmt.Sprintf("%+v", c.f), len(got), c.want)
			return err
		})
	}
}

func deleteSession(t *testing.T, s memoryd.Store) {
	silent := message(2, "y")
	silent.Searchable = false
	write(t, s, put(session("s"), message(1, "x"), silent, message(3, "z")))
	write(t, s, put(session("other"), message(1, "x")))
	remove := func(tx memoryd.Tx) error {
		n, err := tx.Sessions.Delete(own, all, "s")
		same(t, "messages", n, int64(3))
		return err
	}
	write(t, s, remove)
	fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error { _, err := tx.Sessions.Delete(own, all, "s"); return err })
	keys := []memoryd.TurnKey{{Session: "s", Seq: 1}, {Session: "s", Seq: 3}, {Session: "other", Seq: 1}}
	gone := func(tx memoryd.Tx) error {
		turns, err := tx.Messages.Turns(own, all, keys)
		same(t, "turns left", len(turns), 1)
		newest, err2 := tx.Messages.Newest(session("s"), 0, 10)
		same(t, "messages left", len(newest), 0)
		old, err3 := tx.Messages.ByID(session("s"), []string{uuid(1)})
		same(t, "ids left", len(old), 0)
		return errors.Join(err, err2, err3)
	}
	read(t, s, gone)
	write(t, s, put(session("s"), message(1, "new")))
	read(t, s, func(tx memoryd.Tx) error {
		newest, err := tx.Messages.Newest(session("s"), 0, 10)
		same(t, "seq starts again", newest[0].Seq, int64(1))
		same(t, "text", newest[0].Text, "new")
		return err
	})
}
