package recall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

const (
	// flushEvery is how much counting a crash may lose.
	flushEvery = 5 * time.Second
	// flushTimeout is how long the last flush may wait for the store.
	flushTimeout = 5 * time.Second
	// flushSize is how many memories one write counts: others wait behind it.
	flushSize = 500
)

// uses collects what was shown until it is written: a memory once for each agent, session and day.
type uses struct {
	zone *time.Location
	// most bounds each of the maps below.
	most int

	mu      sync.Mutex
	day     string
	seen    map[[16]byte]bool // what was counted today
	older   map[[16]byte]bool // the same, of before seen was full
	pending map[memoryKey]memoryd.Use
}

type memoryKey struct{ tenant, memory string }

func newUses(zone *time.Location) *uses {
	if zone == nil {
		zone = time.UTC
	}
	// 100,000 keys take some 4 MB, twice.
	u := &uses{zone: zone, most: 100_000, pending: map[memoryKey]memoryd.Use{}}
	u.forget("")
	return u
}

func (u *uses) forget(day string) {
	u.day, u.seen, u.older = day, map[[16]byte]bool{}, map[[16]byte]bool{}
}

// note takes in the memories among what was shown.
func (u *uses) note(g access.Grant, session string, now time.Time, shown ...[]memoryd.Hit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if day := now.In(u.zone).Format(time.DateOnly); day != u.day {
		u.forget(day)
	}
	for _, hits := range shown {
		for _, h := range hits {
			if h.Memory != nil && u.first(h.Memory, g.Agent(), session) {
				u.add(memoryd.Use{Tenant: h.Memory.Tenant, Memory: h.Memory.ID, At: now, N: 1})
			}
		}
	}
}

// first says whether the memory was not yet counted for the agent and the session today, and remembers it. When there
// is too much to remember, what was shown longest ago is forgotten, and may count again.
func (u *uses) first(m *memoryd.Memory, agent, session string) bool {
	// Ids hold no control characters, so that no two say the same.
	sum := sha256.Sum256([]byte(strings.Join([]string{m.Tenant, m.ID, agent, session}, "\n")))
	key := [16]byte(sum[:16])
	if u.seen[key] || u.older[key] {
		return false
	}
	if len(u.seen) >= u.most {
		u.seen, u.older = map[[16]byte]bool{}, u.seen
	}
	u.seen[key] = true
	return true
}

// add leaves out what is too much: a store that takes no writes for so long has other worries.
func (u *uses) add(use memoryd.Use) {
	key := memoryKey{use.Tenant, use.Memory}
	old, ok := u.pending[key]
	if !ok && len(u.pending) >= u.most {
		return
	}
	use.N += old.N
	if old.At.After(use.At) {
		use.At = old.At
	}
	u.pending[key] = use
}

// take empties what is pending, in one order for all who write, so that they lock rows in the same one.
func (u *uses) take() []memoryd.Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]memoryd.Use, 0, len(u.pending))
	for _, use := range u.pending {
		list = append(list, use)
	}
	clear(u.pending)
	slices.SortFunc(list, func(a, b memoryd.Use) int {
		if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
			return c
		}
		return strings.Compare(a.Memory, b.Memory)
	})
	return list
}

func (u *uses) back(list []memoryd.Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, use := range list {
		u.add(use)
	}
}

// Run writes what was counted every few seconds until ctx ends, and then once more. Contexts and searches that are
// answered behind its end are not counted.
func (r *Reader) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.flush(ctx); err != nil && ctx.Err() == nil {
				r.o.Log.LogAttrs(ctx, slog.LevelWarn, "uses wait to be counted", slog.Any("error", err))
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			return r.flush(last)
		}
	}
}

// flush writes what is pending, and keeps what could not be written for the next time.
func (r *Reader) flush(ctx context.Context) error {
	var errs []error
	for some := range slices.Chunk(r.uses.take(), flushSize) {
		err := r.o.Store.Write(ctx, func(tx memoryd.Tx) error { return tx.Uses.Count(some) })
		if err != nil {
			r.uses.back(some)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("recall: uses: %w", err)
	}
	return nil
}
