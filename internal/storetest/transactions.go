package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"memoryd"
)

// Transactions tests Store itself: what Read and Write promise whatever they are used for.
func Transactions(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"write is seen at once":                 writeIsSeen,
		"an error leaves nothing":               errorLeavesNothing,
		"a panic is the caller's":               panicIsCallers,
		"failures do not touch neighbours":      neighbours,
		"an ended context never starts":         endedContext,
		"a context that ends does not stop one": endingContext,
		"read is one snapshot":                  snapshot,
		"read refuses writes":                   readRefuses,
		"read passes errors on":                 readErrors,
	})
}

func tenantIDs(t testing.TB, s memoryd.Store) []string {
	t.Helper()
	var out []string
	read(t, s, func(tx memoryd.Tx) error {
		list, err := tx.Tenants.List()
		for _, n := range list {
			out = append(out, n.ID)
		}
		return err
	})
	return out
}

func ensure(id string) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error { return tx.Tenants.Ensure(memoryd.Tenant{ID: id, Created: now}) }
}

func writeIsSeen(t *testing.T, s memoryd.Store) {
	write(t, s, func(tx memoryd.Tx) error {
		if err := ensure("a")(tx); err != nil {
			return err
		}
		_, err := tx.Tenants.Get("a") // by the transaction itself
		return err
	})
	same(t, "tenants", tenantIDs(t, s), []string{"a"})
}

func errorLeavesNothing(t *testing.T, s memoryd.Store) {
	boom := errors.New("boom")
	fails(t, s, boom, func(tx memoryd.Tx) error {
		if err := errors.Join(ensure("a")(tx), put(session("s"), message(1, "x"))(tx), insert(memory(1, memoryd.Global, "x"))(tx)); err != nil {
			return err
		}
		return boom
	})
	same(t, "tenants", len(tenantIDs(t, s)), 0)
	read(t, s, func(tx memoryd.Tx) error {
		versions, err := tx.Partitions.Versions([]memoryd.Partition{{Tenant: "t", User: "u"}})
		same(t, "version", versions, []int64{0})
		_, missing := tx.Sessions.Get(own, all, "s")
		same(t, "session is missing", errors.Is(missing, memoryd.ErrNotFound), true)
		return err
	})
	write(t, s, ensure("b"))
}

func panicIsCallers(t *testing.T, s memoryd.Store) {
	var err error
	recovered := func() (r any) {
		defer func() { r = recover() }()
		err = s.Write(t.Context(), func(tx memoryd.Tx) error {
			if err := ensure("a")(tx); err != nil {
				return err
			}
			panic("boom")
		})
		return nil
	}()
	if recovered == nil && err == nil {
		t.Fatal("a write that panicked was acknowledged")
	}
	write(t, s, ensure("b"))
	func() {
		defer func() { _ = recover() }()
		_ = s.Read(t.Context(), func(memoryd.Tx) error { panic("boom") })
	}()
	same(t, "tenants", tenantIDs(t, s), []string{"b"})
}

// Many writes at once, of which every third fails and every fifth panics.
func neighbours(t *testing.T, s memoryd.Store) {
	boom := errors.New("boom")
	const n = 60
	good := make([]bool, n)
	parallel(n, func(i int) error {
		defer func() { _ = recover() }()
		err := s.Write(t.Context(), func(tx memoryd.Tx) error {
			if err := ensure(fmt.Sprint(i))(tx); err != nil {
				return err
			}
			switch {
			case i%3 == 0:
				return boom
			case i%5 == 0:
				panic("boom")
			}
			return nil
		})
		good[i] = err == nil
		return err
	})
	stored := map[string]bool{}
	for _, id := range tenantIDs(t, s) {
		stored[id] = true
	}
	for i := range n {
		want := i%3 != 0 && i%5 != 0
		if good[i] != want || stored[fmt.Sprint(i)] != want {
			t.Errorf("write %d: acknowledged %v, stored %v, want %v", i, good[i], stored[fmt.Sprint(i)], want)
		}
	}
}

func endedContext(t *testing.T, s memoryd.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	f := func(memoryd.Tx) error { ran = true; return nil }
	for name, err := range map[string]error{"write": s.Write(ctx, f), "read": s.Read(ctx, f)} {
		if !errors.Is(err, context.Canceled) || ran {
			t.Errorf("%s: got %v, ran %v", name, err, ran)
		}
	}
}

func endingContext(t *testing.T, s memoryd.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(ctx, func(tx memoryd.Tx) error {
		cancel()
		return ensure("a")(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "tenants", tenantIDs(t, s), []string{"a"})
}

func snapshot(t *testing.T, s memoryd.Store) {
	write(t, s, ensure("a"))
	read(t, s, func(tx memoryd.Tx) error {
		before, err := tx.Tenants.List()
		if err != nil {
			return err
		}
		write(t, s, ensure("b"))
		after, err := tx.Tenants.List()
		same(t, "the same transaction", after, before)
		return err
	})
	same(t, "a later one", tenantIDs(t, s), []string{"a", "b"})
}

func readRefuses(t *testing.T, s memoryd.Store) {
	write(t, s, func(tx memoryd.Tx) error {
		return errors.Join(put(session("s"), message(1, "x"))(tx), insert(memory(1, memoryd.Global, "x"))(tx), tx.Agents.Put("t", "a", []byte("{}")),
			tx.Keys.Insert(memoryd.Key{ID: "k", Hash: []byte{1}, Created: now}))
	})
	changed := memory(1, memoryd.Global, "y")
	changed.Version = 2
	for name, f := range map[string]func(memoryd.Tx) error{
		"ensure": ensure("a"),
		"agent":  func(tx memoryd.Tx) error { return tx.Agents.Put("t", "a", []byte(`{"a":1}`)) },
		"forget": func(tx memoryd.Tx) error { return tx.Agents.Delete("t", "a") },
		"key":    func(tx memoryd.Tx) error { return tx.Keys.Insert(memoryd.Key{ID: "l", Hash: []byte{1}, Created: now}) },
		"revoke": func(tx memoryd.Tx) error { return tx.Keys.Revoke("", "k", now) },
		"put":    func(tx memoryd.Tx) error { _, err := tx.Sessions.Put(session("s")); return err },
		"delete": func(tx memoryd.Tx) error { _, err := tx.Sessions.Delete(own, all, "s"); return err },
		"append": func(tx memoryd.Tx) error {
			_, err := tx.Messages.Append(session("s"), []memoryd.Message{message(2, "y")})
			return err
		},
		"insert":  insert(memory(2, memoryd.Global, "y")),
		"update":  func(tx memoryd.Tx) error { return tx.Memories.Update(changed) },
		"receipt": func(tx memoryd.Tx) error { _, err := tx.Receipts.Put(receipt("r", now), now); return err },
		"scratch": func(tx memoryd.Tx) error { _, err := tx.Scratch.Put(run("r"), entry("k", "1", now), 9); return err },
		"version": func(tx memoryd.Tx) error { return tx.Versions.Add(memory(1, memoryd.Global, "x"), "key", now) },
	} {
		if err := s.Read(t.Context(), f); err == nil {
			t.Errorf("%s: a read wrote", name)
		}
	}
	read(t, s, func(tx memoryd.Tx) error {
		versions, err := tx.Partitions.Versions([]memoryd.Partition{{Tenant: "t", User: "u"}})
		same(t, "version", versions, []int64{2})
		return err
	})
}

func readErrors(t *testing.T, s memoryd.Store) {
	boom := errors.New("boom")
	if err := s.Read(t.Context(), func(memoryd.Tx) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want boom", err)
	}
}
