package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"memoryd"
)

// Memories tests the port of that name, but for its lists.
func Memories(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"round trip":                  memoryRoundTrip,
		"get":                         getMemories,
		"twins":                       twins,
		"twins side by side":          twinsParallel,
		"a twin ends no write":        twinGoesOn,
		"update":                      updateMemory,
		"update side by side":         updateParallel,
		"update and twins":            updateTwins,
		"each write counts":           writesCount,
		"a move leaves its old place": moveMemory,
	})
}

func fullMemory() memoryd.Memory {
	end, confirmed, used, expires := now.Add(time.Hour).In(east), now.Add(1*time.Minute), now.Add(2*time.Minute), now.Add(3*time.Minute)
	return memoryd.Memory{
		Tenant: "t", Hash: "h", Tokens: 12, ID: uuid(1), User: "u", Agent: "a", Scope: memoryd.AgentScope("a"), Text: "a 'b' \"c\" \\ % 👍 2026-01-02\n\ttext",
		Type: memoryd.Lesson, Form: memoryd.FormSkill, Trust: memoryd.Low, Source: memoryd.ToolResult, Status: memoryd.Archived, Sensitive: true,
		Importance: 10, Strength: 0.123456789, Occurred: &memoryd.Span{Start: time.Date(1969, 1, 1, 0, 0, 0, 0, east), End: &end}, Recorded: now,
		LastConfirmed: &confirmed, LastUsed: &used, Uses: 1 << 40, Expires: &expires, Immutable: true,
		Labels: map[string]string{"k": "v", `a"b`: "1", "": "", "<é>": "👍"}, Metadata: []byte(`{"n": 1.0,  "z": null}`),
		Provenance:       memoryd.Provenance{Writer: "w", Agent: "a", Session: "s", MessageIDs: []string{"m1", "m 2"}, Model: "m", Prompt: "p"},
		ConsolidatedFrom: []string{uuid(7), uuid(8)}, SupersededBy: uuid(9), ArchivedAt: &memoryd.Archive{At: now, Reason: "deleted"}, Version: 3, TypedBy: "rule",
	}
}

func memoryRoundTrip(t *testing.T, s memoryd.Store) {
	full, plain, long := fullMemory(), memory(2, team, ""), memory(3, memoryd.DM, strings.Repeat("记忆 ", 6000))
	open := memory(4, memoryd.Global, "a span without an end")
	open.Occurred = &memoryd.Span{Start: time.Unix(0, 0).UTC()}
	want := []memoryd.Memory{full, plain, long, open}
	write(t, s, insert(want...))
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.Get(own, all, full.ID, plain.ID, long.ID, open.ID)
		same(t, "memories", got, want)
		return err
	})
	bare := memoryd.Memory{Tenant: "t", ID: "bare", User: "u", Scope: memoryd.DM, Recorded: now, Version: 1}
	write(t, s, insert(bare))
	bare.Labels, bare.Metadata, bare.ConsolidatedFrom = map[string]string{}, []byte("{}"), []string{}
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.Get(own, all, "bare")
		same(t, "a bare memory", got, []memoryd.Memory{bare})
		return err
	})
}

// memoryCast is cast() as memories, with one in global besides.
func memoryCast() []memoryd.Memory {
	var list []memoryd.Memory
	for _, x := range cast() {
		m := memory(0, x.Scope(), "of "+x.ID)
		m.ID, m.Tenant, m.User = x.ID, x.Tenant, x.User
		list = append(list, m)
	}
	return list
}

func getMemories(t *testing.T, s memoryd.Store) {
	list := memoryCast()
	write(t, s, insert(list...))
	var every []string
	for _, m := range list {
		every = append(every, m.ID, "missing "+m.ID)
	}
	for _, view := range views {
		name := fmt.Sprintf("%+v %+v", view.o, view.s)
		read(t, s, func(tx memoryd.Tx) error {
			got, err := tx.Memories.Get(view.o, view.s, every...)
			var want []string
			for _, id := range every {
				if slices.Contains(view.want, id) {
					want = append(want, id)
				}
			}
			same(t, "get: "+name, ids(got), append([]string{}, want...))
			listed, err2 := tx.Memories.List(view.o, view.s, memoryd.MemoryFilter{})
			found := ids(listed)
			slices.Sort(found)
			slices.Sort(want)
			same(t, "list: "+name, found, append([]string{}, want...))
			return errors.Join(err, err2)
		})
	}
	read(t, s, func(tx memoryd.Tx) error {
		none, err := tx.Memories.Get(own, all)
		same(t, "none", len(none), 0)
		return err
	})
}

func twins(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "x"), memory(2, team, "x")))
	fails(t, s, memoryd.ErrTwin, insert(memory(3, memoryd.Global, "x")))
	sibling := memory(4, team, "x") // a group's memories are the tenant's, whoever wrote them
	sibling.User = "v"
	fails(t, s, memoryd.ErrTwin, insert(sibling))

	v, other, old, upper := memory(5, memoryd.Global, "x"), memory(6, memoryd.Global, "x"), memory(7, memoryd.Global, "x"), memory(8, memoryd.Global, "x")
	v.User, other.Tenant, old.Status, upper.Hash = "v", "T", memoryd.Archived, "HASH OF X"
	plain, again := memory(9, memoryd.Global, ""), memory(10, memoryd.Global, "")
	plain.Hash, again.Hash = "", "" // nothing to compare
	write(t, s, insert(v, other, old, upper, memory(11, memoryd.DM, "x"), memory(12, memoryd.AgentScope("a"), "x"), plain, again))
	if err := s.Write(t.Context(), insert(memory(1, memoryd.Global, "an id twice"))); err == nil {
		t.Error("an id was taken twice")
	}
}

func twinsParallel(t *testing.T, s memoryd.Store) {
	stored := 0
	for i, err := range parallel(20, func(i int) error { return s.Write(t.Context(), insert(memory(i, memoryd.Global, "x"))) }) {
		switch {
		case err == nil:
			stored++
		case !errors.Is(err, memoryd.ErrTwin):
			t.Errorf("insert %d: %v", i, err)
		}
	}
	same(t, "stored", stored, 1)
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.List(own, all, memoryd.MemoryFilter{})
		same(t, "rows", len(got), 1)
		versions, err2 := tx.Partitions.Versions([]memoryd.Partition{{Tenant: "t", User: "u"}})
		same(t, "version", versions, []int64{1})
		return errors.Join(err, err2)
	})
}

func twinGoesOn(t *testing.T, s memoryd.Store) {
	write(t, s, func(tx memoryd.Tx) error {
		if err := insert(memory(1, memoryd.Global, "x"))(tx); err != nil {
			return err
		}
		if err := insert(memory(2, memoryd.Global, "x"))(tx); !errors.Is(err, memoryd.ErrTwin) {
			t.Errorf("a twin: %v", err)
		}
		return insert(memory(3, memoryd.Global, "y"))(tx)
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.List(own, all, memoryd.MemoryFilter{})
		same(t, "rows", ids(got), []string{uuid(3), uuid(1)})
		return err
	})
}

func update(m memoryd.Memory) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error { return tx.Memories.Update(m) }
}

func updateMemory(t *testing.T, s memoryd.Store) {
	first := memory(1, memoryd.AgentScope("a"), "x")
	write(t, s, insert(first, memory(2, memoryd.AgentScope("a"), "untouched")))
	next := fullMemory()
	next.Version = 2
	write(t, s, update(next))
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.Get(own, all, uuid(1), uuid(2))
		same(t, "updated", got, []memoryd.Memory{next, memory(2, memoryd.AgentScope("a"), "untouched")})
		return err
	})
	stale, ahead := next, next
	ahead.Version = 4
	fails(t, s, memoryd.ErrVersion, update(stale))
	fails(t, s, memoryd.ErrVersion, update(ahead))
	missing, foreign := next, next
	missing.ID, missing.Version = uuid(9), 3
	foreign.Tenant, foreign.Version = "T", 3
	fails(t, s, memoryd.ErrNotFound, update(missing))
	fails(t, s, memoryd.ErrNotFound, update(foreign))
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Memories.Get(own, all, uuid(1))
		same(t, "after refused updates", got, []memoryd.Memory{next})
		return err
	})
}

func updateParallel(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "x")))
	for version := int64(2); version < 6; version++ {
		won := 0
		for i, err := range parallel(8, func(i int) error {
			m := memory(1, memoryd.Global, fmt.Sprint("x", i))
			m.Version = version
			return s.Write(t.Context(), update(m))
		}) {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, memoryd.ErrVersion):
				t.Errorf("update %d: %v", i, err)
			}
		}
		same(t, "updates that won", won, 1)
	}
}

func updateTwins(t *testing.T, s memoryd.Store) {
	a, b := memory(1, memoryd.Global, "x"), memory(2, memoryd.Global, "y")
	write(t, s, insert(a, b))
	change := func(m memoryd.Memory, version int64, status memoryd.Status, text string) memoryd.Memory {
		m.Version, m.Status, m.Text, m.Hash = version, status, text, "hash of "+text
		return m
	}
	fails(t, s, memoryd.ErrTwin, update(change(b, 2, memoryd.Active, "x")))
	write(t, s, update(change(b, 2, memoryd.Active, "y"))) // its own text is no twin
	write(t, s, update(change(a, 2, memoryd.Archived, "x")))
	write(t, s, update(change(b, 3, memoryd.Active, "x"))) // the text is free again
	fails(t, s, memoryd.ErrTwin, update(change(a, 3, memoryd.Active, "x")))
	write(t, s, update(change(a, 3, memoryd.Archived, "x"))) // as often as one likes beside an active one
	moved := change(b, 4, memoryd.Active, "x")
	moved.Scope = memoryd.DM
	write(t, s, update(moved))
	write(t, s, update(change(a, 4, memoryd.Active, "x")))
}

func version(t testing.TB, s memoryd.Store, p memoryd.Partition) int64 {
	t.Helper()
	var out int64
	read(t, s, func(tx memoryd.Tx) error {
		list, err := tx.Partitions.Versions([]memoryd.Partition{p})
		out = list[0]
		return err
	})
	return out
}

func writesCount(t *testing.T, s memoryd.Store) {
	p := memoryd.Partition{Tenant: "t", User: "u"}
	write(t, s, insert(memory(1, memoryd.Global, "x"), memory(2, memoryd.DM, "x"), memory(3, team, "x")))
	same(t, "after two inserts", version(t, s, p), int64(2))
	same(t, "the group's", version(t, s, memoryd.Partition{Tenant: "t", Group: "team"}), int64(1))
	m := memory(1, memoryd.Global, "y")
	m.Version = 2
	write(t, s, update(m))
	same(t, "after an update", version(t, s, p), int64(3))
	fails(t, s, memoryd.ErrVersion, update(m))
	fails(t, s, memoryd.ErrTwin, insert(memory(4, memoryd.Global, "y")))
	same(t, "after refusals", version(t, s, p), int64(3))
}

func moveMemory(t *testing.T, s memoryd.Store) {
	m := memory(1, memoryd.Global, "x")
	write(t, s, insert(m))
	m.Scope, m.Version = team, 2
	write(t, s, update(m))
	read(t, s, func(tx memoryd.Tx) error {
		left, err := tx.Partitions.Changes(memoryd.Partition{Tenant: "t", User: "u"}, 1)
		same(t, "where it was", left, memoryd.Changes{Version: 2, Removed: []memoryd.Removed{{Memory: m.ID, Change: 2}}})
		came, err2 := tx.Partitions.Changes(memoryd.Partition{Tenant: "t", Group: "team"}, 0)
		same(t, "where it is", came, memoryd.Changes{Version: 1, Memories: []memoryd.ChangedMemory{{Memory: m, Change: 1}}})
		return errors.Join(err, err2)
	})
}
