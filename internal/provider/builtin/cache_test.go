package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"memoryd"
)

func TestSmallCacheForgetsAndFinds(t *testing.T) {
	p := open(t, Options{Bytes: 1})
	for i := range 5 {
		p.add(note(fmt.Sprint("m", i), "river", user(fmt.Sprint("u", i))))
	}
	for range 2 {
		for i := range 5 {
			p.expect(about("river", func(q *memoryd.Query) { q.Owner.User = fmt.Sprint("u", i) }), fmt.Sprint("m", i))
		}
	}
	if n := p.cache.order.Len(); n != 1 || len(p.cache.known) != 1 {
		t.Errorf("%d partitions are kept in one byte", n)
	}
}

func TestCacheKeepsCount(t *testing.T) {
	p := open(t, Options{})
	for i := range 40 {
		p.add(note(fmt.Sprint("m", i), fmt.Sprint("river number", i), user(fmt.Sprint("u", i%4))))
		p.search(about("river", func(q *memoryd.Query) { q.Owner.User = fmt.Sprint("u", i%4) }))
	}
	sum := int64(0)
	for _, at := range p.cache.known {
		sum += at.Value.(*entry).index.Bytes()
	}
	if len(p.cache.known) != 4 || p.cache.bytes != sum {
		t.Errorf("%d partitions, counted %d bytes, they take %d", len(p.cache.known), p.cache.bytes, sum)
	}
}

func TestCancelled(t *testing.T) {
	p := open(t, Options{})
	p.add(note("a", "river"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Search(ctx, about("river")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.expect(about("river"), "a")
}

// fading is a context that ends when it was asked so often.
type fading struct {
	context.Context
	left atomic.Int64
}

func (f *fading) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestRankingHeedsItsContext(t *testing.T) {
	p := open(t, Options{})
	words := ""
	for i := range 50 {
		words += fmt.Sprint("word", i, " ")
	}
	p.add(note("a", words))
	p.expect(about(words), "a")
	ctx := &fading{Context: context.Background()}
	ctx.left.Store(1000)
	if _, err := p.Search(ctx, about(words)); err != nil || ctx.left.Load() > 950 {
		t.Errorf("asked %d times: %v", 1000-ctx.left.Load(), err)
	}
	ctx.left.Store(20)
	if found, err := p.Search(ctx, about(words)); !errors.Is(err, context.Canceled) || len(found.Hits) > 0 {
		t.Errorf("%v: %s", err, names(found.Hits))
	}
}

func TestClosed(t *testing.T) {
	p := open(t, Options{})
	p.add(note("a", "river"))
	p.Close()
	_, err := p.Search(context.Background(), about("river"))
	var e *memoryd.Error
	if !errors.As(err, &e) || e.Code != memoryd.Unavailable || e.Slug != "draining" {
		t.Errorf("%v", err)
	}
}

// faulty is a store whose partitions panic while it is told to.
type faulty struct {
	memoryd.Store
	faults *int
}

func (f faulty) Read(ctx context.Context, g func(memoryd.Tx) error) error {
	return f.Store.Read(ctx, func(tx memoryd.Tx) error {
		tx.Partitions = faultyPartitions{tx.Partitions, f.faults}
		return g(tx)
	})
}

type faultyPartitions struct {
	memoryd.Partitions
	faults *int
}

func (f faultyPartitions) Changes(p memoryd.Partition, after int64) (memoryd.Changes, error) {
	if *f.faults > 0 {
		*f.faults--
		panic("a row that cannot be")
	}
	return f.Partitions.Changes(p, after)
}

// TestPanicIsAnError breaks the loading of an index, and then its patching half way.
func TestPanicIsAnError(t *testing.T) {
	p := open(t, Options{})
	faults := 1
	p.Provider.Close()
	p.Provider = New(Options{Store: faulty{p.store, &faults}})
	p.add(note("a", "river"))
	if _, err := p.Search(context.Background(), about("river")); err == nil || !strings.Contains(err.Error(), "a row that cannot be") {
		t.Errorf("%v", err)
	}
	p.expect(about("river"), "a")

	e := p.cache.order.Front().Value.(*entry)
	e.index = nil
	p.add(note("b", "river"))
	version := e.version.Load()
	if _, err := p.Search(context.Background(), about("river")); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("%v", err)
	}
	if _, err := e.at(version); err == nil {
		t.Error("a search that waited for the index would take the empty one for it")
	}
	p.expect(about("river"), "b a")
}

// TestAtOnce writes and searches side by side: what a search begins after a write must find it.
func TestAtOnce(t *testing.T) {
	p := open(t, Options{Bytes: 20_000})
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			for i := range 20 {
				id := fmt.Sprintf("m%d-%d", w, i)
				s := []memoryd.Scope{memoryd.Global, "group:g", "group:h"}[i%3]
				err := p.store.Write(context.Background(), func(tx memoryd.Tx) error {
					return tx.Memories.Insert(note(id, "river word"+id, scope(s), user(fmt.Sprint("u", w%2))))
				})
				if err != nil {
					t.Error(err)
					return
				}
				q := about("word"+id, func(q *memoryd.Query) { q.Owner.User = fmt.Sprint("u", w%2) })
				found, err := p.Search(context.Background(), q)
				if err != nil || !strings.Contains(" "+names(found.Hits)+" ", " "+id+" ") {
					t.Errorf("%s: %q, %v", id, names(found.Hits), err)
					return
				}
			}
		})
	}
	wait.Wait()
}
