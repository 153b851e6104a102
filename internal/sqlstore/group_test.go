package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"memoryd"
)

func put(id string) func(memoryd.Tx) error {
	return func(t memoryd.Tx) error { return t.Agents.Put("t", id, []byte("{}")) }
}

func stored(t testing.TB, s *Store) map[string][]byte {
	t.Helper()
	var list map[string][]byte
	err := s.Read(context.Background(), func(tx memoryd.Tx) (err error) {
		list, err = tx.Agents.List("t")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// hold keeps the writer busy until the answered function is called.
func hold(t *testing.T, s *Store) (release func()) {
	started, free, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.Write(context.Background(), func(memoryd.Tx) error {
			close(started)
			<-free
			return nil
		})
	}()
	<-started
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func queued(s *Store, n int) {
	for {
		s.writer.mu.Lock()
		got := len(s.writer.queue)
		s.writer.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

// together starts the writes while the writer is held, so that they share a commit, and answers what became of them.
func together(t *testing.T, s *Store, list ...func(memoryd.Tx) error) []error {
	release := hold(t, s)
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, f := range list {
		wg.Go(func() {
			defer func() { _ = recover() }()
			errs[i] = s.Write(context.Background(), f)
		})
		queued(s, i+1)
	}
	release()
	wg.Wait()
	return errs
}

func TestGroupSharesCommits(t *testing.T) {
	s := openTest(t)
	var list []func(memoryd.Tx) error
	for i := range 40 {
		list = append(list, put(fmt.Sprint(i)))
	}
	before := s.writer.commits.Load()
	if err := errors.Join(together(t, s, list...)...); err != nil {
		t.Fatal(err)
	}
	writes, commits := s.writer.writes.Load(), s.writer.commits.Load()-before
	if writes != 41 || commits > 10 {
		t.Errorf("%d writes took %d commits", writes, commits)
	}
	if n := len(stored(t, s)); n != 40 {
		t.Errorf("%d rows", n)
	}
}

func TestGroupKeepsFailuresApart(t *testing.T) {
	s := openTest(t)
	boom := errors.New("boom")
	then := func(id string, f func() error) func(memoryd.Tx) error {
		return func(tx memoryd.Tx) error {
			if err := put(id)(tx); err != nil {
				return err
			}
			return f()
		}
	}
	errs := together(t, s, put("a"),
		then("b", func() error { return boom }),
		then("c", func() error { panic("boom") }),
		then("d", func() error { runtime.Goexit(); return nil }),
		put("e"),
		func(tx memoryd.Tx) error { return tx.Keys.Insert(memoryd.Key{ID: "no hash"}) }, // breaks a rule of the table
		put("f"))
	if errs[0] != nil || !errors.Is(errs[1], boom) || errs[4] != nil || errs[5] == nil || errs[6] != nil {
		t.Errorf("errors: %v", errs)
	}
	list := stored(t, s)
	if len(list) != 3 || list["a"] == nil || list["e"] == nil || list["f"] == nil {
		t.Errorf("stored: %v", list)
	}
}

func TestGroupContexts(t *testing.T) {
	s := openTest(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	ran := false
	left, late := make(chan error), make(chan error)
	go func() {
		left <- s.Write(ctx, func(memoryd.Tx) error { ran = true; return nil })
	}()
	queued(s, 1)
	ending, end := context.WithCancel(context.Background())
	go func() {
		late <- s.Write(ending, func(tx memoryd.Tx) error {
			end() // started writes go on
			return put("late")(tx)
		})
	}()
	queued(s, 2)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that left: %v", err)
	}
	release()
	if err := <-late; err != nil {
		t.Errorf("the one that had started: %v", err)
	}
	if ran || len(stored(t, s)) != 1 {
		t.Errorf("ran %v, stored %v", ran, stored(t, s))
	}
}

func TestPortsEndWithTheirTransaction(t *testing.T) {
	s := openTest(t)
	var kept memoryd.Tx
	keep := func(tx memoryd.Tx) error { kept = tx; return nil }
	for _, run := range []func(context.Context, func(memoryd.Tx) error) error{s.Write, s.Read} {
		if err := run(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Tenants.List(); !errors.Is(err, errEnded) {
			t.Errorf("got %v", err)
		}
		if err := put("a")(kept); !errors.Is(err, errEnded) {
			t.Errorf("got %v", err)
		}
	}
}

// raw calls f with the writer's connection.
func raw(t *testing.T, s *Store, f func(*sqlite3.Conn) error) {
	t.Helper()
	err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		return tx.Agents.(agents).conn.c.Raw(func(dc any) error { return f(dc.(driver.Conn).Raw()) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommitFails(t *testing.T) {
	s := openTest(t)
	refuse := false
	raw(t, s, func(c *sqlite3.Conn) error {
		c.CommitHook(func() bool { return !refuse })
		return nil
	})
	errs := together(t, s, func(tx memoryd.Tx) error { refuse = true; return put("a")(tx) }, put("b"))
	if errs[0] == nil || errs[1] == nil {
		t.Errorf("errors: %v", errs)
	}
	err := s.Write(t.Context(), func(tx memoryd.Tx) error { refuse = false; return put("c")(tx) })
	if list := stored(t, s); err != nil || len(list) != 1 || list["c"] == nil {
		t.Errorf("afterwards: %v, stored %v", err, list)
	}
}

func TestDiskFull(t *testing.T) {
	s := openTest(t)
	pages := func(n string) {
		raw(t, s, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA max_page_count = " + n) })
	}
	if err := s.Write(t.Context(), put("before")); err != nil {
		t.Fatal(err)
	}
	pages("1") // as many as there are
	big := func(tx memoryd.Tx) error {
		return tx.Agents.Put("t", "big", []byte(strings.Repeat("x", 1<<20)))
	}
	errs := together(t, s, put("small"), big, put("behind"))
	if !errors.Is(errs[1], memoryd.ErrDiskFull) || memoryd.CodeOf(errs[1]) != memoryd.Exhausted {
		t.Errorf("a write without room: %v", errs[1])
	}
	list := stored(t, s)
	if list["before"] == nil || list["big"] != nil {
		t.Errorf("stored: %d rows", len(list))
	}
	for i, id := range []string{"small", "big", "behind"} {
		if (errs[i] == nil) != (list[id] != nil) {
			t.Errorf("%s: %v, stored %v", id, errs[i], list[id] != nil)
		}
	}
	pages("1000000")
	if err := s.Write(t.Context(), big); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestBusy(t *testing.T) {
	s := openTest(t)
	raw(t, s, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA busy_timeout = 1") })
	foreign, err := sqlite3.Open(s.path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if err := foreign.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), put("a"))
	if memoryd.CodeOf(err) != memoryd.Unavailable || !errors.Is(err, sqlite3.BUSY) {
		t.Errorf("got %v", err)
	}
	if err := foreign.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), put("a")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A function that loses everybody's transaction fails with its own error, the others with one that says so.
func TestGroupLosesItsTransaction(t *testing.T) {
	s := openTest(t)
	boom := errors.New("boom")
	lose := func(answer error) func(memoryd.Tx) error {
		return func(tx memoryd.Tx) error {
			_, err := tx.Agents.(agents).conn.c.ExecContext(context.Background(), "ROLLBACK")
			return errors.Join(err, answer)
		}
	}
	for _, answer := range []error{boom, nil} {
		errs := together(t, s, put("a"), lose(answer), put("b"))
		if answer != nil && !errors.Is(errs[1], boom) || errs[1] == nil {
			t.Errorf("the one that lost it: %v", errs[1])
		}
		if errors.Is(errs[0], boom) || memoryd.CodeOf(errs[0]) != memoryd.Unavailable || errs[2] != nil {
			t.Errorf("the others: %v, %v", errs[0], errs[2])
		}
		if list := stored(t, s); len(list) != 1 || list["b"] == nil {
			t.Errorf("stored: %v", list)
		}
	}
}

// A connection that is given up takes its transaction with it.
func TestClosedConnectionIsGone(t *testing.T) {
	s := openTest(t)
	c, err := openConn(t.Context(), s.dbs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), put("a")); err != nil {
		t.Error(err)
	}
}

// path asks SQLite for the file.
func (s *Store) path(t *testing.T) string {
	t.Helper()
	var path string
	raw(t, s, func(c *sqlite3.Conn) error {
		path = c.Filename("main").String()
		return nil
	})
	return path
}

func TestReadContext(t *testing.T) {
	s := openTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Read(ctx, func(tx memoryd.Tx) error {
		cancel()
		_, err := tx.Tenants.List()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// A statement that would run for minutes ends with its context, and the connection stays good.
	ctx, cancel = context.WithCancel(t.Context())
	err = s.Read(ctx, func(tx memoryd.Tx) error {
		go cancel()
		var n int64
		_, err := tx.Tenants.(tenants).row("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT COUNT(*) FROM n", nil, &n)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseFinishesWhatWasAccepted(t *testing.T) {
	s := openTest(t)
	path := s.path(t)
	release := hold(t, s)
	accepted := make(chan error, 10)
	for i := range 10 {
		go func() { accepted <- s.Write(context.Background(), put(fmt.Sprint(i))) }()
		queued(s, i+1)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for !isClosed(s) {
		runtime.Gosched()
	}
	if err := s.Write(t.Context(), put("late")); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("a write while closing: %v", err)
	}
	release()
	for range 10 {
		if err := <-accepted; err != nil {
			t.Errorf("an accepted write: %v", err)
		}
	}
	if err := errors.Join(<-closed, s.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := s.Ping(t.Context()); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("a read of a closed store: %v", err)
	}
	again, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := len(stored(t, again)); n != 10 {
		t.Errorf("%d rows", n)
	}
}

func isClosed(s *Store) bool {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.closed
}

func TestCloseAgainstWritersAndReaders(t *testing.T) {
	for range 5 {
		s := openTest(t)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					err := s.Write(context.Background(), put(fmt.Sprint(w, i)))
					if err == nil {
						err = s.Ping(context.Background())
					}
					if err != nil {
						if memoryd.CodeOf(err) != memoryd.Unavailable {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		for s.writer.writes.Load() < 20 {
			runtime.Gosched()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
