package storetest

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"memoryd"
)

// Dump tests the port of that name.
func Dump(t *testing.T, open Open) {
	s := open(t)
	write(t, s, func(tx memoryd.Tx) error {
		return errors.Join(ensure("empty")(tx), tx.Agents.Put("agents", "a", []byte("{}")))
	})
	var wantSessions []memoryd.Session
	var wantMemories []memoryd.Memory
	for i, id := range odd {
		talk, m := session(id), memory(i, memoryd.Global, id)
		m.ID = id
		if i%3 == 0 {
			talk.Group, m.Scope = "team", team
		}
		if i%2 == 0 {
			talk.User, m.User = "v", "v"
		}
		m.Status = memoryd.Statuses[i%len(memoryd.Statuses)]
		write(t, s, func(tx memoryd.Tx) error { return errors.Join(put(talk)(tx), insert(m)(tx)) })
		wantSessions, wantMemories = append(wantSessions, talk), append(wantMemories, m)
	}
	other := memory(1, memoryd.Global, "other")
	other.Tenant = "T"
	write(t, s, insert(other))
	slices.SortFunc(wantSessions, func(a, b memoryd.Session) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(wantMemories, func(a, b memoryd.Memory) int { return cmp.Compare(a.ID, b.ID) })
	read(t, s, func(tx memoryd.Tx) error {
		tenants, err := tx.Dump.Tenants()
		same(t, "tenants", tenants, []string{"T", "agents", "empty", "t"})
		return err
	})
	for _, user := range []string{"", "u", "v"} {
		read(t, s, func(tx memoryd.Tx) error {
			o := memoryd.Owner{Tenant: "t", User: user}
			same(t, "sessions of "+user, paged(t, tx.Dump.Sessions, o, func(s memoryd.Session) string { return s.ID }), kept(wantSessions, func(s memoryd.Session) bool {
				return user == "" || s.User == user && s.Group == ""
			}))
			same(t, "memories of "+user, paged(t, tx.Dump.Memories, o, func(m memoryd.Memory) string { return m.ID }), kept(wantMemories, func(m memoryd.Memory) bool {
				return user == "" || m.User == user && m.Scope != team
			}))
			return nil
		})
	}
	dumpMessages(t, s)
}

func dumpMessages(t *testing.T, s memoryd.Store) {
	t.Helper()
	talk, list := session("talk"), []memoryd.Message{message(1, "a"), message(2, "b"), message(3, "c")}
	hidden := message(4, "d")
	hidden.Searchable = false
	write(t, s, put(talk, append(list, hidden)...))
	read(t, s, func(tx memoryd.Tx) error {
		var got []string
		for after := int64(0); ; {
			page, err := tx.Dump.Messages(talk, after, 3)
			if err != nil || len(page) == 0 {
				same(t, "messages", got, []string{"a", "b", "c", "d"})
				return err
			}
			for _, m := range page {
				got, after = append(got, m.Text), m.Seq
			}
		}
	})
}

func kept[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

func paged[T any](t *testing.T, list func(memoryd.Owner, string, int) ([]T, error), o memoryd.Owner, id func(T) string) []T {
	t.Helper()
	var out []T
	for after := ""; ; {
		page, err := list(o, after, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return out
		}
		out, after = append(out, page...), id(page[len(page)-1])
	}
}

// Load tests the port of that name.
func Load(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"sessions": loadSessions, "messages": loadMessages, "twins": loadTwins, "memories": loadMemories,
	})
}

func loadSessions(t *testing.T, s memoryd.Store) {
	talk := session("s")
	talk.State, talk.LastSeq, talk.JudgedSeq, talk.Metadata, talk.Updated = "ended", 9, 7, []byte(`{"a":1.0}`), now.Add(time.Hour)
	get := func(want memoryd.Session) {
		t.Helper()
		read(t, s, func(tx memoryd.Tx) error {
			got, err := tx.Sessions.Get(own, all, "s")
			same(t, "session", got, want)
			return err
		})
	}
	write(t, s, func(tx memoryd.Tx) error { return tx.Load.Session(talk) })
	get(talk)
	talk.State, talk.LastSeq, talk.JudgedSeq, talk.Metadata, talk.Updated = "open", 3, 1, []byte("{}"), now
	write(t, s, func(tx memoryd.Tx) error { return tx.Load.Session(talk) })
	get(talk)
}

func loadMessages(t *testing.T, s memoryd.Store) {
	talk := session("s")
	a, b := message(1, "a"), message(2, "b")
	a.Seq, b.Seq = 2, 5
	b.Searchable = false
	fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error { return tx.Load.Messages(talk, []memoryd.Message{a}) })
	write(t, s, func(tx memoryd.Tx) error {
		return errors.Join(tx.Load.Session(talk), tx.Load.Messages(talk, []memoryd.Message{a, b}), tx.Load.Messages(talk, nil))
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Dump.Messages(talk, 0, 10)
		same(t, "messages", got, []memoryd.Message{a, b})
		head, err2 := tx.Sessions.Get(own, all, "s")
		same(t, "head", head, talk)
		c, err3 := tx.Partitions.Changes(talk.Partition(), 0)
		same(t, "version", c.Version, int64(2))
		same(t, "turns", len(c.Turns), 1)
		same(t, "turn", []any{c.Turns[0].Seq, c.Turns[0].Change}, []any{int64(2), int64(1)})
		return errors.Join(err, err2, err3)
	})
	for what, m := range map[string]memoryd.Message{"seq": {ID: "x", Seq: 5}, "id": {ID: a.ID, Seq: 6}} {
		if err := s.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Load.Messages(talk, []memoryd.Message{m}) }); err == nil {
			t.Errorf("a %s is taken twice", what)
		}
	}
}

func loadTwins(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "a"), memory(2, team, "a")))
	again := func(i int, scope memoryd.Scope, text string, change func(*memoryd.Memory)) memoryd.Memory {
		m := memory(i, scope, text)
		if change != nil {
			change(&m)
		}
		return m
	}
	list := []memoryd.Memory{
		again(1, memoryd.Global, "a", nil), again(3, memoryd.Global, "a", nil), again(4, memoryd.DM, "a", nil), again(5, memoryd.Global, "b", nil),
		again(6, team, "a", func(m *memoryd.Memory) { m.User = "v" }),
		again(7, memoryd.Global, "a", func(m *memoryd.Memory) { m.User = "v" }),
		again(8, memoryd.Global, "a", func(m *memoryd.Memory) { m.Tenant = "T" }),
		again(9, memoryd.Global, "a", func(m *memoryd.Memory) { m.Status = memoryd.Archived }),
		again(10, memoryd.Global, "a", func(m *memoryd.Memory) { m.Hash = "" }),
	}
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Load.Twins(list)
		same(t, "twins", got, []string{"", uuid(1), "", "", uuid(2), "", "", "", ""})
		return err
	})
}

func loadMemories(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "a")))
	mine, theirs, third := memory(2, memoryd.DM, "b"), memory(3, team, "c"), memory(4, memoryd.Global, "d")
	third.Version, third.Status, third.SupersededBy = 5, memoryd.Superseded, mine.ID
	write(t, s, func(tx memoryd.Tx) error {
		return errors.Join(tx.Load.Memories([]memoryd.Memory{mine, theirs, third}), tx.Load.Memories(nil))
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.Get(own, all, mine.ID, theirs.ID, third.ID)
		same(t, "memories", got, []memoryd.Memory{mine, theirs, third})
		c, err2 := tx.Partitions.Changes(mine.Partition(), 1)
		same(t, "version", c.Version, int64(3))
		same(t, "changes", []memoryd.ChangedMemory{{Memory: mine, Change: 2}, {Memory: third, Change: 3}}, c.Memories)
		c, err3 := tx.Partitions.Changes(theirs.Partition(), 0)
		same(t, "the group's", []memoryd.ChangedMemory{{Memory: theirs, Change: 1}}, c.Memories)
		return errors.Join(err, err2, err3)
	})
	fails(t, s, memoryd.ErrTwin, func(tx memoryd.Tx) error { return tx.Load.Memories([]memoryd.Memory{memory(9, memoryd.DM, "b")}) })
	if err := s.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Load.Memories([]memoryd.Memory{memory(2, memoryd.Global, "z")}) }); err == nil {
		t.Error("an id is taken twice")
	}
}
