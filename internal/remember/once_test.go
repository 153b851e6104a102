package remember_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

// repeat is a request of that key; requests of one body are the same.
func repeat(key, route, body string) memoryd.Repeat {
	return memoryd.Repeat{Key: key, Route: route, Digest: []byte(body)}
}

func TestAddOnce(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	ask := remember.AddRequest{Text: "likes\u0000 tea", Scope: "global", Expires: ptr(w.now.Add(time.Hour))}
	r := repeat("k", "POST /v1/memories", "1")
	first := w.Once(r)
	made, err := first.Add(t.Context(), g, ask)
	if err != nil || first.Replayed() || made.State != remember.Stored {
		t.Fatalf("%+v %v", made, err)
	}
	before := w.all()
	// It is past its end by now, which would be refused if it were done again.
	w.now = w.now.Add(2 * time.Hour)
	again := w.Once(r)
	told, err := again.Add(t.Context(), g, ask)
	if err != nil || !again.Replayed() || w.all() != before {
		t.Fatalf("%+v %v", told, err)
	}
	diff(t, "told", told, made)

	_, err = w.Once(repeat("k", "POST /v1/memories", "2")).Add(t.Context(), g, ask)
	refused(t, "another body", err, "conflict idempotency", "")
	for name, other := range map[string]struct {
		g access.Grant
		r memoryd.Repeat
	}{
		"another key": {g, repeat("K", "POST /v1/memories", "1")}, "another route": {g, repeat("k", "POST /v1/other", "1")},
		"another tenant": {w.tenant("acme"), r}, "no key": {g, memoryd.Repeat{}},
	} {
		o := w.Once(other.r)
		if _, err := o.Add(t.Context(), other.g, remember.AddRequest{Text: name, Scope: "global"}); err != nil || o.Replayed() {
			t.Errorf("%s: %v, replayed %v", name, err, o.Replayed())
		}
	}

	// Answered as it is now, and to one that may not read it no more than what it said itself.
	if _, err := w.Delete(t.Context(), g, made.Memory.ID); err != nil {
		t.Fatal(err)
	}
	if told, err := w.Once(r).Add(t.Context(), g, ask); err != nil || told.Memory.Status != memoryd.Archived || told.State != remember.Stored {
		t.Errorf("deleted: %+v %v", told, err)
	}
	if told, err := w.Once(r).Add(t.Context(), w.grant("amy", "drop"), ask); err != nil || told.Memory.Text != "likes tea" || told.Memory.Expires != nil {
		t.Errorf("without the right to read: %+v %v", told, err)
	}

	// After a day the key is free.
	w.now = w.now.Add(memoryd.ReceiptsKept)
	late := w.Once(r)
	ask.Expires = nil
	if out, err := late.Add(t.Context(), g, ask); err != nil || late.Replayed() || out.Memory.ID == made.Memory.ID {
		t.Errorf("a day later: %+v %v", out, err)
	}
}

func TestRefusalsAreNotKept(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	r := repeat("k", "POST /x", "1")
	_, err := w.Once(r).Add(t.Context(), g, remember.AddRequest{Text: "t", Scope: "nowhere"})
	refused(t, "bad scope", err, "invalid bad-scope", "scope")
	_, err = w.Once(r).Append(t.Context(), w.grant("amy", "own"), "s", remember.AppendRequest{Group: "team", Messages: []remember.NewMessage{hello()}})
	refused(t, "denied", err, "denied scope-denied", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Once(r).Add(ctx, g, remember.AddRequest{Text: "t", Scope: "global"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	o := w.Once(repeat("k", "POST /x", "2"))
	if _, err := o.Add(t.Context(), g, remember.AddRequest{Text: "t", Scope: "global"}); err != nil || o.Replayed() {
		t.Errorf("after refusals: %v", err)
	}
}

func TestBatchOnce(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "facts")
	list := []remember.AddRequest{
		{Text: "one\u0000", Scope: "global", Type: memoryd.Fact}, {Text: "ONE", Scope: "global", Type: memoryd.Fact}, {Text: "x", Scope: "nowhere"},
		{Text: "y", Scope: "global", Type: memoryd.Lesson}, {Text: "two", Scope: "dm", Type: memoryd.Fact},
	}
	r := repeat("k", "POST /b", "1")
	made, err := w.Once(r).AddBatch(t.Context(), g, list)
	if err != nil {
		t.Fatal(err)
	}
	before := w.all()
	o := w.Once(r)
	told, err := o.AddBatch(t.Context(), g, list)
	if err != nil || !o.Replayed() || w.all() != before || len(told) != len(made) {
		t.Fatalf("%+v %v", told, err)
	}
	for i := range made {
		if made[i].State != told[i].State || made[i].Memory.ID != told[i].Memory.ID || fmt.Sprint(made[i].Err, made[i].Notes) != fmt.Sprint(told[i].Err, told[i].Notes) {
			t.Errorf("item %d: %+v, want %+v", i, told[i], made[i])
		}
	}
	refused(t, "scope", told[2].Err, "invalid bad-scope", "items[2].scope")
	refused(t, "type", told[3].Err, "denied type-denied", "")

	// A batch of which nothing was kept was answered all the same.
	bad := list[2:3]
	r = repeat("none", "POST /b", "1")
	if _, err := w.Once(r).AddBatch(t.Context(), g, bad); err != nil {
		t.Fatal(err)
	}
	o = w.Once(r)
	if told, err = o.AddBatch(t.Context(), g, bad); err != nil || !o.Replayed() {
		t.Errorf("%v", err)
	}
	refused(t, "again", told[0].Err, "invalid bad-scope", "items[0].scope")
}

func TestRestoreAndAppendOnce(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	m := w.add(g, remember.AddRequest{Text: "t", Scope: "global"}).Memory
	if _, err := w.Delete(t.Context(), g, m.ID); err != nil {
		t.Fatal(err)
	}
	r := repeat("k", "POST /restore", "")
	for i := range 3 {
		o := w.Once(r)
		back, err := o.Restore(t.Context(), g, m.ID)
		if err != nil || o.Replayed() != (i > 0) || back.Status != memoryd.Active || back.Version != 3 {
			t.Errorf("restore %d: %+v %v", i, back, err)
		}
	}
	req := remember.AppendRequest{Messages: []remember.NewMessage{hello(), said("assistant", "hi\u0000"), {ID: "m", Role: "user", Content: []byte(`"x"`)}}}
	r = repeat("k", "POST /append", "1")
	made, err := w.Once(r).Append(t.Context(), g, "s", req)
	if err != nil {
		t.Fatal(err)
	}
	o := w.Once(r)
	told, err := o.Append(t.Context(), g, "s", req)
	if err != nil || !o.Replayed() || len(w.messages("s")) != 3 {
		t.Errorf("%+v %v", told, err)
	}
	diff(t, "told", told, made)
}

// holding is a store whose next write waits for the test once it has run.
type holding struct {
	memoryd.Store
	entered, leave chan struct{}
}

func (h *holding) Write(ctx context.Context, f func(memoryd.Tx) error) error {
	close(h.entered)
	<-h.leave
	return h.Store.Write(ctx, f)
}

func TestOnceInFlight(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	h := &holding{w.store, make(chan struct{}), make(chan struct{})}
	slow := remember.New(remember.Options{
		Store: h, Guard: guard.Cleaner{}, Count: func(string) int { return 1 }, Fold: func(s string) string { return s }, NewID: func() string { return "id" },
	})
	r := repeat("k", "POST /x", "1")
	ask := remember.AddRequest{Text: "t", Scope: "global"}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := slow.Once(r).Add(t.Context(), g, ask); err != nil {
			t.Error(err)
		}
	})
	<-h.entered
	_, err := slow.Once(r).Add(t.Context(), g, ask)
	refused(t, "under way", err, "conflict idempotency", "")
	var e *memoryd.Error
	if errors.As(err, &e); e.RetryAfter <= 0 {
		t.Errorf("%+v", e)
	}
	close(h.leave)
	wg.Wait()
	o := slow.Once(r)
	if out, err := o.Add(t.Context(), g, ask); err != nil || !o.Replayed() || out.Memory.ID != "id" {
		t.Errorf("%+v %v", out, err)
	}
}

// Two processes on one store do not see each other's requests under way; the receipt decides.
func TestOnceBetweenProcesses(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	r := repeat("k", "POST /x", "1")
	req := remember.AppendRequest{Messages: []remember.NewMessage{hello()}}
	var (
		wg       sync.WaitGroup
		replayed [16]bool
	)
	for i := range replayed {
		wg.Go(func() {
			o := remember.New(remember.Options{Store: w.store, Guard: guard.Cleaner{}, Count: func(string) int { return 1 }, NewID: func() string { return fmt.Sprint("m", i) }}).Once(r)
			if out, err := o.Append(t.Context(), g, "s", req); err != nil || out.LastSeq != 1 || *out.Items[0].Seq != 1 || out.Items[0].Duplicate {
				t.Errorf("%+v %v", out, err)
			}
			replayed[i] = o.Replayed()
		})
	}
	wg.Wait()
	done := 0
	for _, again := range replayed {
		if !again {
			done++
		}
	}
	if done != 1 || len(w.messages("s")) != 1 {
		t.Errorf("done %d times, %d messages", done, len(w.messages("s")))
	}
}

func TestSweep(t *testing.T) {
	path := t.TempDir() + "/m.db"
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		w := remember.New(remember.Options{Store: store, Guard: guard.Cleaner{}, Count: func(string) int { return 1 }, NewID: func() string { return "id" }})
		a, err := access.New(access.Options{Store: store, Loopback: true})
		if err != nil {
			t.Fatal(err)
		}
		g := a.Local()
		for i := range 450 {
			if _, _, err := w.SetWorking(t.Context(), g, fmt.Sprint(i), "k", remember.WorkingRequest{Value: []byte("1"), TTL: 30 * time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := w.SetWorking(t.Context(), g, "long", "k", remember.WorkingRequest{Value: []byte("1"), TTL: 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Once(repeat("k", "POST /x", "1")).Append(t.Context(), g, "s", remember.AppendRequest{Messages: []remember.NewMessage{{ID: "m", Role: "user", Content: []byte(`"x"`)}}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { w.Run(ctx, func(err error) { t.Error(err) }) })
		left := func() (n int) {
			err := store.Read(t.Context(), func(tx memoryd.Tx) error {
				for i := range 450 {
					list, err := tx.Scratch.Get(g.Run(fmt.Sprint(i)), time.Time{})
					if err != nil {
						return err
					}
					n += len(list)
				}
				list, err := tx.Scratch.Get(g.Run("long"), time.Time{})
				if err != nil {
					return err
				}
				if n += len(list); n == 0 {
					if _, err = tx.Receipts.Get(repeat("k", "POST /x", "1").Receipt(g.Tenant(), g.Writer()).ID); err == nil {
						n = -1
					}
				}
				if errors.Is(err, memoryd.ErrNotFound) {
					err = nil
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := left(); n != 451 {
			t.Errorf("%d values at first", n)
		}
		time.Sleep(32 * time.Minute)
		synctest.Wait()
		if n := left(); n != 1 {
			t.Errorf("%d values after half an hour", n)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := left(); n != 0 {
			t.Errorf("%d after a day (-1: the receipt)", n)
		}
		stop()
		ended.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
