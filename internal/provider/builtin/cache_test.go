package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

func TestClosed(t *testing.T) {
	p := open(t, Options{})
	p.add(note("a", "river"))
	p.Close()
	if _, err := p.Search(context.Background(), about("river")); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("%v", err)
	}
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
