package recall

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/sqlstore"
)

func open(t testing.TB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func write(t testing.TB, s memoryd.Store, f func(memoryd.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func kept(id, user string, s memoryd.Scope, text string) memoryd.Memory {
	return memoryd.Memory{ID: id, Tenant: "default", User: user, Scope: s, Text: text, Hash: id, Type: memoryd.Fact, Form: memoryd.FormText,
		Trust: memoryd.High, Source: memoryd.UserDirect, Status: memoryd.Active, Importance: 5, Strength: 1, Recorded: noon, Version: 1, TypedBy: "given"}
}

func converse(t testing.TB, s memoryd.Store, head memoryd.Session, list []memoryd.Message) {
	t.Helper()
	head.Tenant, head.State = "default", "open"
	if head.Created.IsZero() {
		head.Created = noon
	}
	head.Updated = head.Created
	for i := range list {
		list[i].Recorded, list[i].Time = noon, noon
	}
	write(t, s, func(tx memoryd.Tx) error {
		if _, err := tx.Sessions.Put(head); err != nil {
			return err
		}
		_, err := tx.Messages.Append(head, list)
		return err
	})
}

func TestMemoriesPageByPage(t *testing.T) {
	s := open(t)
	write(t, s, func(tx memoryd.Tx) error {
		for i := range 501 {
			if err := tx.Memories.Insert(kept(fmt.Sprintf("m%03d", i), "amy", memoryd.Global, fmt.Sprint("note ", i))); err != nil {
				return err
			}
		}
		return tx.Memories.Insert(kept("bobs", "bob", memoryd.Global, "bob's"))
	})
	r := reader(t, s, &asking{}, nil)
	g := grantOf(t, access.Ask{User: "amy"})
	for _, sort := range []memoryd.Sort{"", memoryd.ByRecorded, memoryd.ByLastUsed, memoryd.ByImportance} {
		seen := map[string]bool{}
		var sizes []int
		var next string
		for {
			page, err := r.Memories(t.Context(), g, ListRequest{Filter: memoryd.MemoryFilter{Sort: sort, Limit: 200}, Cursor: next})
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(page.Items))
			for _, m := range page.Items {
				if seen[m.ID] || m.User != "amy" {
					t.Fatalf("%s again, or not amy's", m.ID)
				}
				seen[m.ID] = true
			}
			if next = page.Next; next == "" {
				break
			}
			write(t, s, func(tx memoryd.Tx) error { // an unread row changes, and a new one comes
				old, err := tx.Memories.Get(g.Owner(), memoryd.AllScopes(), "m000")
				if err != nil {
					return err
				}
				old[0].Version++
				old[0].Text += "."
				return tx.Memories.Update(old[0])
			})
		}
		if !slices.Equal(sizes, []int{200, 200, 101}) || len(seen) != 501 {
			t.Errorf("sort %q: pages %v with %d rows", sort, sizes, len(seen))
		}
	}
}

func TestCursorsOfOtherLists(t *testing.T) {
	s := open(t)
	write(t, s, func(tx memoryd.Tx) error {
		return errors.Join(tx.Memories.Insert(kept("a", "amy", memoryd.Global, "a")), tx.Memories.Insert(kept("b", "amy", memoryd.Global, "b")))
	})
	converse(t, s, memoryd.Session{ID: "s1", User: "amy"}, talk(t, "u: one\na: two"))
	converse(t, s, memoryd.Session{ID: "s2", User: "amy"}, talk(t, "u: one\na: two"))
	r := reader(t, s, &asking{}, nil)
	amy, bob := grantOf(t, access.Ask{User: "amy"}), grantOf(t, access.Ask{User: "bob"})
	one := memoryd.MemoryFilter{Limit: 1}
	page, err := r.Memories(t.Context(), amy, ListRequest{Filter: one})
	if err != nil || page.Next == "" {
		t.Fatalf("%v %+v", err, page)
	}
	sessions, err := r.Sessions(t.Context(), amy, SessionsRequest{Limit: 1})
	if err != nil || sessions.Next == "" || sessions.Items[0].ID != "s2" {
		t.Fatalf("%v %+v", err, sessions)
	}
	messages, err := r.Messages(t.Context(), amy, "s1", MessagesRequest{Limit: 1})
	if err != nil || messages.Next == "" {
		t.Fatalf("%v %+v", err, messages)
	}
	list := func(g access.Grant, scope, cursor string, f memoryd.MemoryFilter) error {
		_, err := r.Memories(t.Context(), g, ListRequest{Scope: scope, Filter: f, Cursor: cursor})
		return err
	}
	if err := list(amy, "", page.Next, memoryd.MemoryFilter{Limit: 7}); err != nil {
		t.Errorf("another page size: %v", err)
	}
	for name, err := range map[string]error{
		"another user":   list(bob, "", page.Next, one),
		"another scope":  list(amy, "global", page.Next, one),
		"another sort":   list(amy, "", page.Next, memoryd.MemoryFilter{Limit: 1, Sort: memoryd.ByImportance}),
		"another filter": list(amy, "", page.Next, memoryd.MemoryFilter{Limit: 1, Contains: "a"}),
		"another label":  list(amy, "", page.Next, memoryd.MemoryFilter{Limit: 1, Labels: map[string]string{"a": "b"}}),
		"sessions'":      list(amy, "", sessions.Next, one),
		"messages'":      list(amy, "", messages.Next, one),
		"nonsense":       list(amy, "", "%%%", one),
		"empty JSON":     list(amy, "", "e30", one),
		"a state": func() error {
			_, err := r.Sessions(t.Context(), amy, SessionsRequest{State: "open", Cursor: sessions.Next})
			return err
		}(),
		"another session": func() error {
			_, err := r.Messages(t.Context(), amy, "s2", MessagesRequest{Cursor: messages.Next})
			return err
		}(),
	} {
		var e *memoryd.Error
		if !errors.As(err, &e) || e.Code != memoryd.Invalid || e.Fields[0].Path != "cursor" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadLists(t *testing.T) {
	r := reader(t, open(t), &asking{}, nil)
	g := grantOf(t, access.Ask{})
	for field, req := range map[string]ListRequest{
		"limit":  {Filter: memoryd.MemoryFilter{Limit: 201}},
		"sort":   {Filter: memoryd.MemoryFilter{Sort: "text"}},
		"status": {Filter: memoryd.MemoryFilter{Statuses: []memoryd.Status{"erased"}}},
		"type":   {Filter: memoryd.MemoryFilter{Types: []memoryd.Type{"x"}}},
		"form":   {Filter: memoryd.MemoryFilter{Forms: []memoryd.Form{"x"}}},
		"trust":  {Filter: memoryd.MemoryFilter{Trusts: []memoryd.Trust{"x"}}},
		"scope":  {Scope: "group:*"},
	} {
		_, err := r.Memories(t.Context(), g, req)
		var e *memoryd.Error
		if !errors.As(err, &e) || e.Code != memoryd.Invalid || e.Fields[0].Path != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := r.Sessions(t.Context(), g, SessionsRequest{Limit: -1}); memoryd.CodeOf(err) != memoryd.Invalid {
		t.Errorf("limit -1: %v", err)
	}
	if _, err := r.Messages(t.Context(), g, "s", MessagesRequest{BeforeSeq: -1}); memoryd.CodeOf(err) != memoryd.Invalid {
		t.Errorf("before_seq -1: %v", err)
	}
}

func TestListsKeepToTheirRights(t *testing.T) {
	s := open(t)
	past := noon.Add(-time.Hour)
	write(t, s, func(tx memoryd.Tx) error {
		expired, gone := kept("expired", "amy", memoryd.DM, "x"), kept("gone", "amy", memoryd.DM, "x")
		expired.Expires, gone.Status, gone.Expires = &past, memoryd.Archived, &past
		return errors.Join(
			tx.Memories.Insert(kept("global", "amy", memoryd.Global, "100% sure")),
			tx.Memories.Insert(kept("dm", "amy", memoryd.DM, "100 more")),
			tx.Memories.Insert(kept("group", "bob", memoryd.GroupScope("t"), "x")),
			tx.Memories.Insert(kept("agent", "amy", memoryd.AgentScope("quiet"), "x")),
			tx.Memories.Insert(kept("bobs", "bob", memoryd.Global, "x")),
			tx.Memories.Insert(expired), tx.Memories.Insert(gone),
		)
	})
	r := reader(t, s, &asking{}, func(o *Options) { o.Now = func() time.Time { return noon } })
	for name, c := range map[string]struct {
		agent, scope string
		filter       memoryd.MemoryFilter
		want         []string
		denied       bool
	}{
		"everything":          {want: []string{"group", "global", "dm", "agent"}},
		"all":                 {scope: "all", want: []string{"group", "global", "dm", "agent"}},
		"one scope alone":     {scope: "dm", want: []string{"dm"}},
		"across":              {scope: "cross:t", want: []string{"group", "global"}},
		"an agent's":          {agent: "quiet", want: []string{"global", "agent"}},
		"its own":             {agent: "quiet", scope: "agent:self", want: []string{"agent"}},
		"what it may not":     {agent: "quiet", scope: "dm", denied: true},
		"a literal part":      {filter: memoryd.MemoryFilter{Contains: "100%"}, want: []string{"global"}},
		"archived ones":       {filter: memoryd.MemoryFilter{Statuses: []memoryd.Status{memoryd.Archived}}, want: []string{"gone"}},
		"active by name":      {scope: "dm", filter: memoryd.MemoryFilter{Statuses: []memoryd.Status{memoryd.Active}}, want: []string{"dm"}},
		"active and archived": {scope: "dm", filter: memoryd.MemoryFilter{Statuses: []memoryd.Status{memoryd.Active, memoryd.Archived}}, want: []string{"gone", "dm"}},
	} {
		page, err := r.Memories(t.Context(), grantOf(t, access.Ask{User: "amy", Agent: c.agent}), ListRequest{Scope: c.scope, Filter: c.filter})
		if c.denied {
			if memoryd.CodeOf(err) != memoryd.Denied {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var got []string
		for _, m := range page.Items {
			got = append(got, m.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %q, want %q", name, err, got, c.want)
		}
	}
}

func TestOneMemoryAndItsHistory(t *testing.T) {
	s := open(t)
	m := kept("m", "amy", memoryd.DM, "old")
	write(t, s, func(tx memoryd.Tx) error {
		if err := tx.Memories.Insert(m); err != nil {
			return err
		}
		next := m
		next.Text, next.Version = "new", 2
		return errors.Join(tx.Versions.Add(m, "key:1", noon), tx.Memories.Update(next))
	})
	r := reader(t, s, &asking{}, nil)
	any := grantOf(t, access.Ask{})
	list, err := r.History(t.Context(), any, "m")
	if err != nil || len(list) != 2 || list[0].Text != "old" || list[0].ReplacedBy != "key:1" || list[1].Text != "new" || list[1].ReplacedBy != "" {
		t.Fatalf("%v %+v", err, list)
	}
	if got, err := r.Memory(t.Context(), any, "m"); err != nil || got.Text != "new" {
		t.Errorf("%v %+v", err, got)
	}
	for name, c := range map[string]struct {
		ask access.Ask
		id  string
	}{
		"another user": {access.Ask{User: "bob"}, "m"},
		"no right":     {access.Ask{Agent: "quiet"}, "m"},
		"no such":      {access.Ask{}, "n"},
	} {
		g := grantOf(t, c.ask)
		if _, err := r.Memory(t.Context(), g, c.id); !errors.Is(err, memoryd.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.History(t.Context(), g, c.id); !errors.Is(err, memoryd.ErrNotFound) {
			t.Errorf("%s: history %v", name, err)
		}
	}
	if _, err := r.Memory(t.Context(), any, "a\x00b"); memoryd.CodeOf(err) != memoryd.Invalid {
		t.Errorf("NUL in an id: %v", err)
	}
}
