package recall

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/sqlstore"
)

// counting is a reader over a real store that holds amy's memories a, b and c, with a provider that finds those that
// the test says.
type counting struct {
	*Reader
	t     *testing.T
	store *sqlstore.Store
	found []memoryd.Hit
	ended chan error
	end   context.CancelFunc
}

// newCounting must be called inside a bubble.
func newCounting(t *testing.T, wrap func(memoryd.Store) memoryd.Store) *counting {
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{t: t, store: s, ended: make(chan error, 1)}
	write(t, s, func(tx memoryd.Tx) error {
		for _, id := range []string{"a", "b", "c"} {
			m := kept(id, "amy", memoryd.Global, "likes "+id)
			if err := tx.Memories.Insert(m); err != nil {
				return err
			}
			c.found = append(c.found, memoryd.Hit{Score: 0.9, Memory: &m})
		}
		return nil
	})
	var over memoryd.Store = s
	if wrap != nil {
		over = wrap(s)
	}
	c.Reader = New(Options{Store: over, Count: chars, MemoryTokens: 1000, ProfileShare: 0.6, TurnItems: 10, Floor: 0.3,
		Provider: searching(func(context.Context, memoryd.Query) (memoryd.Found, error) {
			return memoryd.Found{Hits: slices.Clone(c.found)}, nil
		})})
	var ctx context.Context
	ctx, c.end = context.WithCancel(context.Background())
	go func() { c.ended <- c.Run(ctx) }()
	synctest.Wait()
	return c
}

// stop ends Run and answers what it said.
func (c *counting) stop() error {
	c.end()
	err := <-c.ended
	c.Close()
	return err
}

func (c *counting) uses() string {
	c.t.Helper()
	var out string
	err := c.store.Read(c.t.Context(), func(tx memoryd.Tx) error {
		list, err := tx.Memories.Get(memoryd.Owner{Tenant: "default"}, memoryd.AllScopes(), "a", "b", "c")
		out = ""
		for _, m := range list {
			out += fmt.Sprint(m.Uses)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *counting) search(agent string) {
	c.t.Helper()
	if _, err := c.Search(c.t.Context(), grantOf(c.t, access.Ask{User: "amy", Agent: agent}), SearchRequest{Query: "x"}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *counting) context(session string, tokens int) {
	c.t.Helper()
	_, err := c.Context(c.t.Context(), grantOf(c.t, access.Ask{User: "amy"}), ContextRequest{Query: "x", Session: session, MemoryTokens: &tokens})
	if err != nil {
		c.t.Fatal(err)
	}
}

// expect lets the next flush happen and compares the uses of a, b and c.
func (c *counting) expect(want string) {
	c.t.Helper()
	time.Sleep(flushEvery)
	synctest.Wait()
	if got := c.uses(); got != want {
		c.t.Errorf("uses %s, want %s", got, want)
	}
}

func TestUsesAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounting(t, nil)
		c.search("")
		if got := c.uses(); got != "000" {
			t.Errorf("uses %s: a search waited for its counting", got)
		}
		c.search("")
		c.expect("111")
		c.search("")
		c.expect("111")
		c.search("quiet")
		c.expect("222")
		c.context("s1", 1000)
		c.context("s1", 1000)
		c.context("s2", 1000)
		c.expect("444")

		all := c.found
		c.found = all[1:2]
		c.context("s3", 1000)
		c.expect("454")
		c.found = all
		tokens := chars(newFence("x").open) + chars(newFence("x").close) + chars(profileTitle) + chars("- [high] likes a\n")
		c.context("s4", tokens*10/6+1) // the profile's share has room for all three, and in the next for one
		c.expect("565")
		c.context("s5", tokens)
		c.expect("665")

		time.Sleep(24 * time.Hour)
		c.search("")
		c.search("")
		c.expect("776")
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestUsesAreCountedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounting(t, nil)
		at := time.Now()
		c.search("")
		gone := *c.found[1].Memory
		gone.Status, gone.Version = memoryd.Archived, 2
		write(t, c.store, func(tx memoryd.Tx) error { return tx.Memories.Update(gone) })
		missing := *c.found[2].Memory
		missing.ID = "missing"
		c.found = []memoryd.Hit{{Score: 0.9, Memory: &missing}}
		c.search("")
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		if got := c.uses(); got != "111" {
			t.Errorf("uses %s", got)
		}
		err := c.store.Read(t.Context(), func(tx memoryd.Tx) error {
			list, err := tx.Memories.Get(memoryd.Owner{Tenant: "default"}, memoryd.AllScopes(), "a")
			if err == nil && !list[0].LastUsed.Equal(at) {
				t.Errorf("last used %v, want %v", list[0].LastUsed, at)
			}
			return err
		})
		if err := errors.Join(err, c.store.Close()); err != nil {
			t.Error(err)
		}
	})
}

// full is a store that refuses writes while it is told to.
type full struct {
	memoryd.Store
	down atomic.Bool
}

func (f *full) Write(ctx context.Context, g func(memoryd.Tx) error) error {
	if f.down.Load() {
		return errors.New("disk full")
	}
	return f.Store.Write(ctx, g)
}

func TestUsesWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disk *full
		c := newCounting(t, func(s memoryd.Store) memoryd.Store { disk = &full{Store: s}; return disk })
		disk.down.Store(true)
		c.search("")
		c.expect("000")
		c.search("quiet")
		c.expect("000")
		disk.down.Store(false)
		c.expect("222")
		disk.down.Store(true)
		c.context("s", 1000)
		if err := c.stop(); err == nil {
			t.Error("counts were lost, and nothing says so")
		}
		if err := c.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestUsesAreBounded(t *testing.T) {
	u := newUses(nil)
	u.most = 10
	g := grantOf(t, access.Ask{})
	show := func(id string, now time.Time) {
		u.note(g, "", now, []memoryd.Hit{fact(id, memoryd.Global, memoryd.High, "x"), turn("s", 1, 0.9, "a turn is no memory")})
	}
	for i := range 100 {
		show(fmt.Sprint("m", i), noon)
		show(fmt.Sprint("m", i), noon)
	}
	if len(u.seen)+len(u.older) > 20 || len(u.pending) != 10 {
		t.Errorf("%d and %d are remembered, %d pending", len(u.seen), len(u.older), len(u.pending))
	}
	for _, use := range u.take() {
		if use.N != 1 {
			t.Errorf("%s counts %d", use.Memory, use.N)
		}
	}
	show("m99", noon)
	show("m99", noon.Add(13*time.Hour))
	if list := u.take(); len(u.seen) != 1 || len(u.older) != 0 || len(list) != 1 || list[0].N != 1 {
		t.Errorf("the day after: %d and %d are remembered, pending %+v", len(u.seen), len(u.older), list)
	}
}
