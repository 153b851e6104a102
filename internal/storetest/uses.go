package storetest

import (
	"testing"
	"time"

	"memoryd"
)

// Uses tests the port of that name.
func Uses(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"count":             countUses,
		"nothing else":      usesChangeNothing,
		"side by side":      usesParallel,
		"an update between": usesAndUpdate,
	})
}

func count(list ...memoryd.Use) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error { return tx.Uses.Count(list) }
}

func get(t testing.TB, s memoryd.Store, id string) memoryd.Memory {
	t.Helper()
	var out memoryd.Memory
	read(t, s, func(tx memoryd.Tx) error {
		list, err := tx.Memories.Get(own, all, id)
		if err == nil {
			out = list[0]
		}
		return err
	})
	return out
}

func countUses(t *testing.T, s memoryd.Store) {
	archived := memory(2, memoryd.Global, "y")
	archived.Status = memoryd.Archived
	foreign := memory(1, memoryd.Global, "x")
	foreign.Tenant = "T"
	write(t, s, insert(memory(1, memoryd.Global, "x"), archived, memory(3, team, "z"), memory(4, team, "idle"), foreign))
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Minute) }
	write(t, s, count())
	write(t, s, count(
		memoryd.Use{Tenant: "t", Memory: uuid(1), At: at(1), N: 2}, memoryd.Use{Tenant: "t", Memory: "gone", At: at(1), N: 1},
		memoryd.Use{Tenant: "t", Memory: uuid(2), At: at(2), N: 1}, memoryd.Use{Tenant: "t", Memory: uuid(3), At: at(3).In(east), N: 1 << 40},
		memoryd.Use{Tenant: "t", Memory: uuid(1), At: at(5), N: 1},
	))
	write(t, s, count(memoryd.Use{Tenant: "t", Memory: uuid(1), At: at(4), N: 1}))
	for i, want := range map[int]struct {
		uses int64
		last time.Time
	}{1: {4, at(5)}, 2: {1, at(2)}, 3: {1 << 40, at(3)}} {
		m := get(t, s, uuid(i))
		same(t, "uses", m.Uses, want.uses)
		same(t, "last used", *m.LastUsed, want.last)
	}
	same(t, "the idle one", get(t, s, uuid(4)), memory(4, team, "idle"))
	read(t, s, func(tx memoryd.Tx) error {
		list, err := tx.Memories.Get(memoryd.Owner{Tenant: "T"}, all, uuid(1))
		same(t, "another tenant's", list, []memoryd.Memory{foreign})
		return err
	})
}

func usesChangeNothing(t *testing.T, s memoryd.Store) {
	m, p := memory(1, memoryd.Global, "x"), memoryd.Partition{Tenant: "t", User: "u"}
	write(t, s, insert(m))
	before := version(t, s, p)
	write(t, s, count(memoryd.Use{Tenant: "t", Memory: m.ID, At: now, N: 1}))
	same(t, "the partition's version", version(t, s, p), before)
	got := get(t, s, m.ID)
	m.Uses, m.LastUsed = 1, new(now)
	same(t, "the memory", got, m)
	read(t, s, func(tx memoryd.Tx) error {
		old, err := tx.Versions.List("t", m.ID)
		same(t, "versions", len(old), 0)
		return err
	})
	fails(t, s, memoryd.ErrTwin, insert(memory(2, memoryd.Global, "x")))
}

func usesParallel(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "x")))
	whole(t, parallel(20, func(i int) error {
		return s.Write(t.Context(), count(memoryd.Use{Tenant: "t", Memory: uuid(1), At: now.Add(time.Duration(i) * time.Second), N: 1}))
	}))
	m := get(t, s, uuid(1))
	same(t, "uses", m.Uses, int64(20))
	same(t, "last used", *m.LastUsed, now.Add(19*time.Second))
}

// usesAndUpdate has a client change the version that it read before a search counted.
func usesAndUpdate(t *testing.T, s memoryd.Store) {
	write(t, s, insert(memory(1, memoryd.Global, "x")))
	m := get(t, s, uuid(1))
	write(t, s, count(memoryd.Use{Tenant: "t", Memory: m.ID, At: now, N: 1}))
	m.Text, m.Version = "y", 2
	write(t, s, update(m))
}
