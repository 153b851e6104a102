package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// rounds is how often a test of chance tries: by the variable, else few here and many where CI is set.
func rounds(t *testing.T, variable string, few, many int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return n
	}
	if os.Getenv("CI") != "" {
		return many
	}
	return few
}

// seed is MEMORYD_SEED, or another one each time.
func seed(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("MEMORYD_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("MEMORYD_SEED=%d", n)
	return n
}

// life is one database through many power cuts.
type life struct {
	t       *testing.T
	o       Options
	rng     *rand.Rand
	files   map[string][]byte
	disk    *disk
	again   Options // opens what is on the disk
	writers []*writer

	acked, cuts, old, new int
	faults                []error // acknowledged writes that are lost, halves of others, damage
}

func newLife(t *testing.T, o Options, seed uint64) *life {
	l := &life{t: t, o: o, rng: rand.New(rand.NewPCG(seed, 0))}
	for i := range 1 + l.rng.IntN(12) {
		l.writers = append(l.writers, newWriter(fmt.Sprint("w", i), l.rng.Uint64()))
	}
	return l
}

// boot starts the store on what the last cut left. Its folder is new, so that nothing but the disk's files is there.
func (l *life) boot(plug int) (*Store, error) {
	dir, err := os.MkdirTemp(l.t.TempDir(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	l.disk = newDisk(rand.New(rand.NewPCG(l.rng.Uint64(), 5)), l.files)
	l.disk.plug(plug, -1)
	name := "disk" + strconv.FormatUint(l.rng.Uint64(), 36)
	vfs.Register(name, l.disk)
	l.t.Cleanup(func() { vfs.Unregister(name) })
	o := l.o
	o.Path, o.vfs, o.MaxOpen = filepath.Join(dir, "memoryd.db"), name, 4
	l.again = o
	return Open(context.Background(), o)
}

// cut runs the store until its power goes, and says whether the database lives on.
func (l *life) cut() bool {
	l.cuts++
	plug := -1
	if l.rng.IntN(5) == 0 {
		plug = l.rng.IntN(30) // while it starts
	}
	s, err := l.boot(plug)
	if err == nil {
		l.disk.plug(-1, -1)
		if !l.disk.dead() && !l.check(s, false) {
			l.end(s)
			return false
		}
		if !l.disk.dead() {
			l.disk.plug(l.rng.IntN([]int{20, 500, 3000}[l.rng.IntN(3)]), l.rng.IntN([]int{5, 50}[l.rng.IntN(2)]))
			s = l.work(s)
		}
	} else if !l.disk.dead() {
		l.fault(fmt.Errorf("open: %w", err))
		return false
	}
	l.end(s)
	l.files = l.disk.remains()
	return true
}

func (l *life) end(s *Store) {
	if s != nil {
		s.Close() // fails where the power is off
	}
}

func (l *life) fault(err error) { l.faults = append(l.faults, err) }

// check compares all that is there with all that was acknowledged.
func (l *life) check(s *Store, running bool) bool {
	bad := len(l.faults)
	if err := integrity(s); err != nil {
		l.fault(err)
	}
	for _, w := range l.writers {
		switch outcome, err := w.settle(context.Background(), s, running); {
		case err != nil:
			l.fault(err)
		case outcome == "old":
			l.old++
		case outcome == "new":
			l.new++
		}
	}
	return len(l.faults) == bad
}

func integrity(s *Store) error {
	var verdict string
	if err := s.dbs[1].QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("integrity_check: %q, %w", verdict, err)
	}
	return nil
}

// work writes, reads, checkpoints and reopens until the power goes.
func (l *life) work(s *Store) *Store {
	if l.rng.IntN(2) == 0 {
		l.quickCheckpoints(s)
	}
	for !l.disk.dead() {
		l.burst(s)
		switch l.rng.IntN(8) {
		case 0:
			mode := []string{"passive", "full", "restart", "truncate"}[l.rng.IntN(4)]
			l.expect("checkpoint", checkpoint(s, mode))
		case 1:
			l.expect("close", s.Close())
			if l.disk.dead() {
				return nil
			}
			var err error
			s, err = Open(context.Background(), l.again)
			l.expect("reopen", err)
			if err != nil {
				return nil
			}
		}
	}
	return s
}

// expect takes note of an error that no cut explains.
func (l *life) expect(what string, err error) {
	if err != nil && !l.disk.dead() {
		l.fault(fmt.Errorf("%s: %w", what, err))
		l.disk.plug(0, 0)
	}
}

// burst lets all writers take some steps at once, so that they share commits, while a reader looks on.
func (l *life) burst(s *Store) {
	var wg sync.WaitGroup
	var acked atomic.Int64
	errs := make([]error, len(l.writers)+1)
	done := make(chan struct{})
	steps := 1 + l.rng.IntN(4)
	for i, w := range l.writers {
		wg.Go(func() {
			for range steps {
				if errs[i] = w.step(s); errs[i] != nil {
					return
				}
				acked.Add(1)
			}
		})
	}
	looking := make(chan struct{})
	watched := l.writers[l.rng.IntN(len(l.writers))]
	go func() {
		defer close(looking)
		for {
			if errs[len(l.writers)] = watched.look(s); errs[len(l.writers)] != nil {
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	wg.Wait()
	close(done)
	<-looking
	l.acked += int(acked.Load())
	for _, err := range errs {
		if errors.Is(err, errWrong) {
			l.fault(err)
		}
		l.expect("write or read", err)
	}
}

// quickCheckpoints has the writer checkpoint after few pages instead of thousands.
func (l *life) quickCheckpoints(s *Store) {
	raw(l.t, s, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA wal_autocheckpoint = 20") })
}

func checkpoint(s *Store, mode string) error {
	return onConn(context.Background(), s.dbs[0], func(c *sqlite3.Conn) error {
		err := c.Exec("PRAGMA wal_checkpoint(" + mode + ")")
		if errors.Is(err, sqlite3.BUSY) {
			return nil
		}
		return err
	})
}

const lifeCuts = 12 // power cuts of one database, before a new one takes its place

// cutPower cuts the power n times, or until enough was found, and answers what it found.
func cutPower(t *testing.T, o Options, n, enough int) []error {
	rng := rand.New(rand.NewPCG(seed(t), 2))
	var faults []error
	var acked, cuts, old, new int
	began := time.Now()
	for cuts < n && len(faults) < enough {
		l := newLife(t, o, rng.Uint64())
		for range min(lifeCuts, n-cuts) {
			if !l.cut() {
				break
			}
		}
		if len(l.faults) == 0 {
			l.last()
		}
		faults = append(faults, l.faults...)
		acked, cuts, old, new = acked+l.acked, cuts+l.cuts, old+l.old, new+l.new
	}
	t.Logf("%d power cuts, %.0f a second, %d steps acknowledged; of those in flight %d were there and %d not; %d faults",
		cuts, float64(cuts)/time.Since(began).Seconds(), acked, new, old, len(faults))
	return faults
}

// last checks what the last cut left.
func (l *life) last() {
	s, err := l.boot(-1)
	if err != nil {
		l.fault(err)
		return
	}
	l.check(s, false)
	if err := s.Close(); err != nil {
		l.fault(err)
	}
}

// Whatever was acknowledged before the power went is there afterwards; the rest is there as a whole or not at all.
func TestPowerCuts(t *testing.T) {
	for _, err := range cutPower(t, Options{}, rounds(t, "MEMORYD_POWERCUTS", 40, 200), 10) {
		t.Error(err)
	}
}

// The test above would see a store that does not sync.
func TestPowerCutsFindWhatIsNotSynced(t *testing.T) {
	for _, pragma := range []string{"off", "normal"} {
		lost := false
		for range 20 {
			for _, err := range cutPower(t, Options{pragmas: "PRAGMA synchronous = " + pragma + ";"}, lifeCuts, 1) {
				lost = lost || errors.Is(err, errWrong)
			}
			if lost {
				break
			}
		}
		if !lost {
			t.Errorf("nothing was lost with synchronous = %s", pragma)
		}
	}
}
