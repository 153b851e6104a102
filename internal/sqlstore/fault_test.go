package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"memoryd"
)

// When the disk answers errors, callers get a clear one, no answer is wrong, and nothing that was acknowledged is lost,
// not even when the power goes afterwards. Once the disk is well the store is too.
func TestDiskErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed(t), 3))
	n := rounds(t, "MEMORYD_DISKERRORS", 8, 40)
	var faults, acked, refused int
	for range n {
		l := newLife(t, Options{}, rng.Uint64())
		f := &faultLife{life: l}
		f.run()
		for _, err := range l.faults {
			t.Error(err)
		}
		faults, acked, refused = faults+f.seen, acked+l.acked, refused+f.refused
	}
	t.Logf("%d databases, %d errors of the disk, %d steps acknowledged, %d calls refused", n, faults, acked, refused)
	if faults < n || refused == 0 {
		t.Error("too few errors to show anything")
	}
}

type faultLife struct {
	*life
	refused, seen int
}

func (l *faultLife) run() {
	s, err := l.boot(-1)
	if err != nil {
		l.fault(err)
		return
	}
	for range 3 + l.rng.IntN(4) {
		l.ill()
		s = l.some(s)
		l.well()
		if s == nil {
			if s, err = Open(context.Background(), l.again); err != nil {
				l.fault(fmt.Errorf("open on a disk that is well: %w", err))
				return
			}
		}
		if !l.check(s, true) {
			break
		}
		l.burst(s) // reports every error now
	}
	if len(l.faults) == 0 {
		l.files = l.disk.remains()
		s.Close()
		if s, err = l.boot(-1); err != nil {
			l.fault(err)
			return
		}
		l.check(s, false)
	}
	if err := s.Close(); err != nil {
		l.fault(err)
	}
}

// ill lets some kinds of operations fail by chance.
func (l *faultLife) ill() {
	chance := []float64{0.01, 0.1, 0.5, 1}[l.rng.IntN(4)]
	kinds := map[string]bool{}
	for _, kind := range []string{"read", "write", "sync", "truncate", "open", "access", "delete"} {
		kinds[kind] = l.rng.IntN(3) == 0
	}
	kinds[[]string{"read", "write", "sync"}[l.rng.IntN(3)]] = true
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	l.disk.faulty = func(kind string) bool { return kinds[kind] && l.disk.rng.Float64() < chance }
}

func (l *faultLife) well() {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	l.seen, l.disk.faulty, l.disk.faults = l.seen+l.disk.faults, nil, 0
}

// some uses the store for a while. It answers nil when it could not be opened again.
func (l *faultLife) some(s *Store) *Store {
	for range 2 + l.rng.IntN(4) {
		for range 1 + l.rng.IntN(8) {
			w := l.writers[l.rng.IntN(len(l.writers))]
			if _, err := w.settle(context.Background(), s, true); l.allowed(err) {
				continue // it does not know what it would change
			}
			if !l.allowed(w.step(s)) {
				l.acked++
			}
			l.allowed(w.look(s))
		}
		switch l.rng.IntN(4) {
		case 0:
			l.allowed(faulted(checkpoint(s, "truncate")))
		case 1:
			s.Close()
			var err error
			if s, err = Open(context.Background(), l.again); err != nil {
				l.allowed(err)
				return nil
			}
		}
	}
	return s
}

func faulted(err error) error {
	if err == nil {
		return nil
	}
	return sqliteFault(err)
}

// allowed takes note of an error that is not the clear one, and says whether there was any.
func (l *faultLife) allowed(err error) bool {
	if err == nil {
		return false
	}
	l.refused++
	var e *memoryd.Error
	if !errors.As(err, &e) || e.Slug != "store-down" {
		l.fault(err)
	}
	return true
}
