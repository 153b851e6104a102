package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"memoryd"
)

// Bits that flip on the disk are found out, or do no harm: no owner is answered another's row, or his own wrongly. Only
// the last transaction of a log that a crash left may be missing, as one that a power cut tore.
func TestFlippedBits(t *testing.T) {
	for _, key := range keys4tests() {
		t.Run(fmt.Sprint("key ", key != ""), func(t *testing.T) { flippedBits(t, key) })
	}
}

func flippedBits(t *testing.T, key string) {
	rng := rand.New(rand.NewPCG(seed(t), 4))
	n := rounds(t, "MEMORYD_FLIPS", 60, 300)
	outcomes := map[string]int{}
	for done := 0; done < n; {
		f := newFlips(t, Options{EncryptionKey: key}, rng)
		for range min(20, n-done) {
			outcomes[f.one()]++
			done++
		}
		for _, err := range f.faults {
			t.Error(err)
		}
	}
	t.Logf("%d times bits were flipped: %v", n, outcomes)
	if outcomes["refused"]+outcomes["found"] == 0 || outcomes["harmless"] == 0 {
		t.Error("too few to show anything")
	}
}

// flips is what a crash left of a database, whole.
type flips struct {
	*life
	whole map[string][]byte
	tail  []tail // the last transactions
}

type tail struct {
	*writer
	was thing
}

func newFlips(t *testing.T, o Options, rng *rand.Rand) *flips {
	f := &flips{life: newLife(t, o, rng.Uint64())}
	s, err := f.boot(-1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.burst(s)
	}
	if err := checkpoint(s, "passive"); err != nil {
		t.Fatal(err)
	}
	for range 3 + rng.IntN(30) { // one transaction each
		w := f.writers[rng.IntN(len(f.writers))]
		f.tail = append(f.tail, tail{w, w.now()})
		for before := w.now().String(); w.now().String() == before; {
			if err := w.step(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if o.EncryptionKey == "" {
		f.tail = f.tail[len(f.tail)-1:]
	} else { // a block may hold the end of one and the beginning of the other
		f.tail = f.tail[len(f.tail)-2:]
	}
	f.whole = f.disk.remains()
	s.Close() // fails: the power is off
	return f
}

// one flips some bits and says how that was found out.
func (f *flips) one() string {
	f.files = map[string][]byte{}
	for name, data := range f.whole {
		f.files[name] = append([]byte(nil), data...)
	}
	name := []string{"memoryd.db", "memoryd.db-wal"}[f.rng.IntN(2)]
	data := f.files[name]
	at := f.rng.IntN(len(data))
	if f.rng.IntN(4) == 0 {
		at %= 100 // headers
	}
	what := fmt.Sprintf("%s of %d bytes at %d", name, len(data), at)
	switch f.rng.IntN(4) {
	case 0, 1:
		data[at] ^= 1 << f.rng.IntN(8)
	case 2:
		data[at] = byte(f.rng.Uint32())
	case 3:
		clear(data[at:min(at+sector, len(data))])
	}
	s, err := f.boot(-1)
	if err != nil {
		f.demand(what, err)
		return "refused"
	}
	defer s.Close()
	outcome := "harmless"
	blind := f.o.EncryptionKey != "" && name == "memoryd.db-wal" && at < blockSize // checkLog says why
	for _, w := range f.writers {
		switch found, err := f.compare(what, s, w); {
		case blind && errors.Is(err, errWrong):
			outcome = "log lost"
		case err != nil:
			f.demand(what, err)
			outcome = "found"
		case !found && outcome == "harmless":
			outcome = "torn"
		}
		if _, err := f.foreign(s, w); err != nil {
			f.demand(what, err)
		}
	}
	return outcome
}

// demand wants the clear error.
func (f *flips) demand(what string, err error) {
	var e *memoryd.Error
	if !errors.As(err, &e) || e.Slug != "store-down" {
		f.fault(fmt.Errorf("%s: %w", what, err))
	}
}

func (f *flips) compare(what string, s *Store, w *writer) (found bool, err error) {
	got, err := w.read(context.Background(), s)
	if err != nil {
		return false, err
	}
	want := w.now()
	if got.String() == want.String() {
		return true, nil
	}
	for _, tail := range f.tail {
		if w == tail.writer && strings.Contains(what, "-wal") && got.String() == tail.was.String() {
			return false, nil
		}
	}
	return false, fmt.Errorf("%w: %s: found\n%s\nacknowledged\n%s", errWrong, w.id, got, want)
}

// foreign lists what the owner sees.
func (f *flips) foreign(s *Store, w *writer) (n int, err error) {
	err = s.Read(context.Background(), func(tx memoryd.Tx) error {
		list, err := tx.Memories.List(w.owner(), memoryd.AllScopes(), memoryd.MemoryFilter{Statuses: memoryd.Statuses, Limit: 1000})
		for _, m := range list {
			if m.User != w.id || !strings.HasPrefix(m.ID, w.id+"-") || m.Text != "" && !strings.HasPrefix(m.Text, w.id+" ") {
				return fmt.Errorf("%w: %s sees %s of %s", errWrong, w.id, m.ID, m.User)
			}
		}
		n = len(list)
		return err
	})
	return n, err
}
