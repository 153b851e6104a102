package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"memoryd"
)

// thing is what one writer of the tests keeps: rows of all kinds that belong together.
type thing struct {
	setting  string
	memories [4]kept
	session  bool
	messages []string
}

type kept struct {
	version int64 // 0: not there
	text    string
	status  memoryd.Status
	past    int
}

func (t thing) clone() thing {
	t.messages = append([]string(nil), t.messages...)
	return t
}

func (t thing) String() string {
	text := "setting " + short(t.setting)
	for _, k := range t.memories {
		text += fmt.Sprintf("\nmemory %d %s %s, %d before", k.version, short(k.text), k.status, k.past)
	}
	return text + fmt.Sprintf("\nsession %v %v", t.session, t.messages)
}

// short keeps texts comparable and failures readable.
func short(s string) string {
	if len(s) <= 40 {
		return s
	}
	sum := uint64(14695981039346656037)
	for _, b := range []byte(s) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%.20s… %d bytes %x", s, len(s), sum)
}

// writer writes one thing, one step after the other, and knows what of it was acknowledged.
type writer struct {
	id    string
	rng   *rand.Rand
	steps int
	sent  int // messages

	mu      sync.Mutex
	states  []thing // what the rows were or may have become, in order
	acked   int     // which of them was acknowledged last
	pending []int   // which of them may be on the disk instead: those whose write answered an error, or nothing
}

var wstart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newWriter(id string, seed uint64) *writer {
	return &writer{id: id, rng: rand.New(rand.NewPCG(seed, 1)), states: []thing{{}}}
}

func (w *writer) owner() memoryd.Owner { return memoryd.Owner{Tenant: "t", User: w.id} }

func (w *writer) memoryID(i int) string { return fmt.Sprintf("%s-%d", w.id, i) }

func (w *writer) session() memoryd.Session {
	return memoryd.Session{Tenant: "t", ID: "chat-" + w.id, User: w.id, State: "open", Created: wstart, Updated: wstart}
}

// part is one piece of a step: it changes the thing, and answers what makes the same change in the store.
type part func(*thing) func(memoryd.Tx) error

func (w *writer) text() string {
	n := []int{10, 10, 100, 100, 900, 900, 5000, 30000}[w.rng.IntN(8)]
	return strings.Repeat(fmt.Sprintf("%s step %d; ", w.id, w.steps), n/10)
}

func (w *writer) put() part {
	value := fmt.Sprintf("%q", w.text())
	return func(t *thing) func(memoryd.Tx) error {
		t.setting = value
		return func(tx memoryd.Tx) error { return tx.Agents.Put("t", w.id, []byte(value)) }
	}
}

func (w *writer) memory(i int, k kept) memoryd.Memory {
	m := memory(0)
	m.User, m.ID, m.Text, m.Status, m.Version, m.Recorded = w.id, w.memoryID(i), k.text, k.status, k.version, wstart
	m.Hash = fmt.Sprintf("%s %d %d", w.id, i, k.version)
	return m
}

// remember adds a memory, or changes the one that is there.
func (w *writer) remember() part {
	i, text, archive := w.rng.IntN(4), w.text(), w.rng.IntN(4) == 0
	return func(t *thing) func(memoryd.Tx) error {
		k := &t.memories[i]
		old := *k
		k.version++
		k.text, k.status = text, memoryd.Active
		if old.version > 0 {
			k.past++
		}
		if archive && old.version > 0 {
			k.text, k.status = old.text, memoryd.Archived
		}
		now, was := w.memory(i, *k), w.memory(i, old)
		return func(tx memoryd.Tx) error {
			if old.version == 0 {
				return tx.Memories.Insert(now)
			}
			if err := tx.Versions.Add(was, "key", wstart); err != nil {
				return err
			}
			return tx.Memories.Update(now)
		}
	}
}

func (w *writer) append() part {
	var list []memoryd.Message
	for range 1 + w.rng.IntN(5) {
		w.sent++
		id, text := fmt.Sprint("m", w.sent), w.text()
		list = append(list, memoryd.Message{ID: id, Role: memoryd.RoleUser, Content: fmt.Appendf(nil, "%q", text), Text: text,
			Trust: memoryd.High, Kind: "chat", Time: wstart, Recorded: wstart, Searchable: true})
	}
	return func(t *thing) func(memoryd.Tx) error {
		t.session = true
		for _, m := range list {
			t.messages = append(t.messages, m.ID+short(m.Text))
		}
		return func(tx memoryd.Tx) error {
			if _, err := tx.Sessions.Put(w.session()); err != nil {
				return err
			}
			_, err := tx.Messages.Append(w.session(), list)
			return err
		}
	}
}

func (w *writer) drop() part {
	return func(t *thing) func(memoryd.Tx) error {
		there := t.session
		t.session, t.messages = false, nil
		return func(tx memoryd.Tx) error {
			if !there {
				return nil
			}
			_, err := tx.Sessions.Delete(w.owner(), memoryd.AllScopes(), w.session().ID)
			return err
		}
	}
}

var errChanged = errors.New("the function changed its mind")

// step writes something, and says what went wrong that should not have.
func (w *writer) step(s *Store) error {
	w.steps++
	kinds := []func() part{w.put, w.remember, w.remember, w.append, w.append, w.drop}
	n := 1
	if w.rng.IntN(3) == 0 {
		n = 2 + w.rng.IntN(8) // a batch
	}
	next := w.now().clone()
	var list []func(memoryd.Tx) error
	for range n {
		list = append(list, kinds[w.rng.IntN(len(kinds))]()(&next))
	}
	ends := w.rng.IntN(8)
	if ends > 1 { // a candidate for what readers see from now on
		w.mu.Lock()
		w.states = append(w.states, next)
		w.pending = append(w.pending, len(w.states)-1)
		w.mu.Unlock()
	}
	err, failed := w.write(s, func(tx memoryd.Tx) error {
		for _, f := range list {
			if err := f(tx); err != nil {
				return err
			}
		}
		switch ends {
		case 0:
			return errChanged
		case 1:
			panic(errChanged)
		}
		return nil
	})
	if failed {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && ends > 1 {
		// A step that changes nothing writes nothing over what failed before.
		if was := w.states[w.acked]; was.String() != next.String() {
			w.pending = nil
		}
		w.acked = len(w.states) - 1
	}
	return err
}

// write says in failed that the function ended as it meant to, without its write.
func (w *writer) write(s *Store, f func(memoryd.Tx) error) (err error, failed bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != any(errChanged) {
				panic(p)
			}
			failed = true
		}
	}()
	err = s.Write(context.Background(), f)
	return err, errors.Is(err, errChanged)
}

func (w *writer) now() thing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.states[w.acked]
}

// read answers the rows as the store has them.
func (w *writer) read(ctx context.Context, s *Store) (got thing, err error) {
	err = s.Read(ctx, func(tx memoryd.Tx) error {
		got = thing{}
		setting, err := tx.Agents.Get("t", w.id)
		if err != nil && !errors.Is(err, memoryd.ErrNotFound) {
			return err
		}
		got.setting = string(setting)
		for i := range got.memories {
			if got.memories[i], err = w.readMemory(tx, i); err != nil {
				return err
			}
		}
		return w.readSession(tx, &got)
	})
	return got, err
}

func (w *writer) readMemory(tx memoryd.Tx, i int) (kept, error) {
	list, err := tx.Memories.Get(w.owner(), memoryd.AllScopes(), w.memoryID(i))
	if err != nil || len(list) == 0 {
		return kept{}, err
	}
	past, err := tx.Versions.List("t", w.memoryID(i))
	m := list[0]
	return kept{version: m.Version, text: m.Text, status: m.Status, past: len(past)}, err
}

func (w *writer) readSession(tx memoryd.Tx, got *thing) error {
	_, err := tx.Sessions.Get(w.owner(), memoryd.AllScopes(), w.session().ID)
	if errors.Is(err, memoryd.ErrNotFound) {
		err = nil
	} else {
		got.session = err == nil
	}
	if err != nil {
		return err
	}
	list, err := tx.Messages.Newest(w.session(), 0, 1<<20)
	if err != nil {
		return err
	}
	for i, m := range list {
		if m.Seq != int64(i+1) {
			return fmt.Errorf("%w: message %d has seq %d", errWrong, i, m.Seq)
		}
		got.messages = append(got.messages, m.ID+short(m.Text))
	}
	return nil
}

// look reads while the writer may be writing: what it sees must be a state that was there meanwhile.
func (w *writer) look(s *Store) error {
	w.mu.Lock()
	from := w.acked
	w.mu.Unlock()
	got, err := w.read(context.Background(), s)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, state := range w.states[from:] {
		if state.String() == got.String() {
			return nil
		}
	}
	return fmt.Errorf("%w of %s: %s\nacknowledged %s", errWrong, w.id, got, w.states[w.acked])
}

var errWrong = errors.New("a wrong answer")

// settle compares what is there with what was acknowledged, and goes on from it. It says which was found: nothing
// pending, the old state or a new one. While the store runs, what failed and is not there may still come back by a
// power cut, until the next write.
func (w *writer) settle(ctx context.Context, s *Store, running bool) (outcome string, err error) {
	got, err := w.read(ctx, s)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if got.String() == w.states[w.acked].String() {
		if len(w.pending) == 0 {
			return "none", nil
		}
		if !running {
			w.states, w.acked, w.pending = []thing{w.states[w.acked]}, 0, nil
		}
		return "old", nil
	}
	for _, i := range w.pending {
		if got.String() == w.states[i].String() {
			w.states, w.acked, w.pending = []thing{w.states[i]}, 0, nil
			return "new", nil
		}
	}
	text := fmt.Sprintf("%s: found\n%s\nacknowledged\n%s", w.id, got, w.states[w.acked])
	for _, i := range w.pending {
		text += fmt.Sprintf("\nin flight\n%s", w.states[i])
	}
	return "", fmt.Errorf("%w: %s", errWrong, text)
}
