package builtin

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"memoryd"
	"memoryd/internal/index"
)

// cache keeps the indexes that were used last, up to a bound in bytes.
type cache struct {
	store memoryd.Store
	zone  *time.Location
	stems *index.Stems
	max   int64

	ctx    context.Context // of what is being loaded
	cancel context.CancelFunc
	flying sync.WaitGroup

	mu     sync.Mutex
	closed bool
	known  map[memoryd.Partition]*list.Element // of order
	order  *list.List                          // *entry, the last used in front
	bytes  int64
}

// entry is a partition's index. Searches hold mu for reading; only the entry's flight changes the index.
type entry struct {
	part    memoryd.Partition
	mu      sync.RWMutex
	index   *index.Partition
	version atomic.Int64

	// The rest is guarded by cache.mu.
	bytes  int64
	flight *flight // what brings the entry up to date, nil when nothing does
}

// flight is one trip to the store for everybody who waits for it. It does not end with the request that began it: a
// large partition may take longer to load than a request waits, and would never be loaded.
type flight struct {
	done chan struct{}
	err  error
}

// slowest is how long a flight may take.
const slowest = 2 * time.Minute

func newCache(o Options) *cache {
	c := &cache{
		store: o.Store, zone: o.Zone, stems: index.NewStems(), max: o.Bytes,
		known: map[memoryd.Partition]*list.Element{}, order: list.New(),
	}
	if c.max <= 0 {
		c.max = DefaultBytes
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.flying.Wait()
}

// open answers the entries of the partitions, each at its version or a newer one.
func (c *cache) open(ctx context.Context, parts []memoryd.Partition, versions []int64) ([]*entry, error) {
	entries := make([]*entry, len(parts))
	flights := make([]*flight, len(parts))
	for i, part := range parts {
		var err error
		if entries[i], flights[i], err = c.use(part, versions[i]); err != nil {
			return nil, err
		}
	}
	for i, e := range entries {
		for f := flights[i]; f != nil; {
			select {
			case <-f.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if f.err != nil {
				return nil, f.err
			}
			// The flight may have begun before the version was written.
			f = c.update(e, versions[i])
		}
	}
	return entries, nil
}

// use answers the partition's entry, as the last used one, and the flight that it must wait for, if any.
func (c *cache) use(part memoryd.Partition, version int64) (*entry, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, memoryd.Errorf(memoryd.Unavailable, "draining", "the index is shut down")
	}
	at, ok := c.known[part]
	if ok {
		c.order.MoveToFront(at)
	} else {
		at = c.order.PushFront(&entry{part: part, index: index.New(c.stems)})
		c.known[part] = at
	}
	e := at.Value.(*entry)
	return e, c.fly(e, version), nil
}

func (c *cache) update(e *entry, version int64) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fly(e, version)
}

// fly answers the flight that leads to the version, begun now if there is none, and nil when the entry is there.
func (c *cache) fly(e *entry, version int64) *flight {
	if e.version.Load() >= version {
		return nil
	}
	if e.flight == nil {
		f := &flight{done: make(chan struct{})}
		e.flight = f
		c.flying.Go(func() {
			f.err = c.try(e)
			c.land(e)
			close(f.done)
		})
	}
	return e.flight
}

// try is patch, with a panic for an error: what one partition's rows do to its index must not end the process. What
// it left of the index is thrown away.
func (c *cache) try(e *entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("index: panic: %v\n%s", p, debug.Stack())
			e.mu.Lock()
			defer e.mu.Unlock()
			e.index = index.New(c.stems)
			e.version.Store(0)
		}
	}()
	return c.patch(e)
}

// patch applies what changed since the entry's version.
func (c *cache) patch(e *entry) error {
	ctx, cancel := context.WithTimeout(c.ctx, slowest)
	defer cancel()
	var news memoryd.Changes
	err := c.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		news, err = tx.Partitions.Changes(e.part, e.version.Load())
		return err
	})
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	if e.version.Load() == 0 {
		// Nobody reads an index that was never loaded: it is built without keeping the lock.
		apply(e.index, &news, c.zone)
	} else {
		e.change(&news, c.zone)
	}
	e.version.Store(news.Version)
	return nil
}

// at is the index, for a search that holds mu and was told that it is at the version.
func (e *entry) at(version int64) (*index.Partition, error) {
	if e.version.Load() < version {
		return nil, errors.New("index: it was thrown away while a search waited for it")
	}
	return e.index, nil
}

func (e *entry) change(news *memoryd.Changes, zone *time.Location) {
	e.mu.Lock()
	defer e.mu.Unlock()
	apply(e.index, news, zone)
}

// land counts what the entry takes now, and lets go of what was used longest ago when all together take too much.
func (c *cache) land(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.flight = nil
	at, ok := c.known[e.part]
	if !ok || at.Value != e {
		return // let go of meanwhile
	}
	c.bytes -= e.bytes
	e.bytes = e.index.Bytes()
	c.bytes += e.bytes
	for back := c.order.Back(); c.bytes > c.max && back != nil && c.order.Len() > 1; {
		old := back.Value.(*entry)
		back = back.Prev()
		if old == e || old.flight != nil {
			continue
		}
		c.order.Remove(c.known[old.part])
		delete(c.known, old.part)
		c.bytes -= old.bytes
	}
}

// apply brings an index to the changes' version, in the order in which they happened.
func apply(p *index.Partition, news *memoryd.Changes, zone *time.Location) {
	type step struct {
		change int64
		kind   int
		at     int
	}
	steps := make([]step, 0, len(news.Memories)+len(news.Turns)+len(news.Removed))
	for i := range news.Removed {
		steps = append(steps, step{news.Removed[i].Change, 0, i})
	}
	for i := range news.Memories {
		steps = append(steps, step{news.Memories[i].Change, 1, i})
	}
	for i := range news.Turns {
		steps = append(steps, step{news.Turns[i].Change, 2, i})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.change, b.change) })
	for _, s := range steps {
		switch s.kind {
		case 0:
			if gone := &news.Removed[s.at]; gone.Memory != "" {
				p.RemoveMemory(gone.Memory)
			} else {
				p.RemoveTurn(gone.Turn)
			}
		case 1:
			p.PutMemory(&news.Memories[s.at].Memory)
		default:
			t := &news.Turns[s.at].Turn
			if zone != nil && t.Time.Location() == time.UTC {
				t.Time = t.Time.In(zone)
			}
			p.PutTurn(t)
		}
	}
}
