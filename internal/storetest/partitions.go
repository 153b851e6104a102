package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"memoryd"
)

// Versions tests the port of that name.
func Versions(t *testing.T, open Open) {
	s := open(t)
	old := fullMemory()
	var want []memoryd.Version
	for v := int64(1); v <= 12; v++ {
		m := old
		m.Version = v
		want = append(want, memoryd.Version{Memory: m, ReplacedBy: fmt.Sprint("key", v), ReplacedAt: now.Add(time.Duration(v))})
	}
	for i := range want {
		want[i].ReplacedAt = want[i].ReplacedAt.Truncate(time.Microsecond)
	}
	write(t, s, func(tx memoryd.Tx) error {
		for _, i := range []int{3, 11, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10} {
			if err := tx.Versions.Add(want[i].Memory, want[i].ReplacedBy, want[i].ReplacedAt); err != nil {
				return err
			}
		}
		other := old
		other.Tenant = "T"
		return tx.Versions.Add(other, "key", now)
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Versions.List("t", old.ID)
		same(t, "oldest first", got, want)
		foreign, err2 := tx.Versions.List("T", old.ID)
		same(t, "another tenant's", len(foreign), 1)
		none, err3 := tx.Versions.List("t", uuid(99))
		same(t, "none", len(none), 0)
		return errors.Join(err, err2, err3)
	})
}

// Partitions tests the port of that name.
func Partitions(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"versions":              partitionVersions,
		"groups":                groups,
		"changes":               changes,
		"a turn comes again":    turnAgain,
		"no change is missed":   changesComplete,
		"versions have no gaps": dense,
	})
}

func partitionVersions(t *testing.T, s memoryd.Store) {
	var (
		parts []memoryd.Partition
		want  []int64
	)
	write(t, s, func(tx memoryd.Tx) error {
		for i, id := range odd {
			for n := range i%3 + 1 {
				user, group := memory(1000*i+n, memoryd.Global, fmt.Sprint(n)), memory(1000*i+n+500, memoryd.GroupScope(id), fmt.Sprint(n))
				user.User = id
				if err := insert(user, group)(tx); err != nil {
					return err
				}
			}
			parts = append(parts, memoryd.Partition{Tenant: "t", Group: id}, memoryd.Partition{Tenant: "t", User: id}, memoryd.Partition{Tenant: "T", User: id})
			want = append(want, int64(i%3+1), int64(i%3+1), 0)
		}
		return nil
	})
	for len(parts) < 1000 { // twice is no mistake, and a tenant may have many groups
		parts, want = append(parts, parts[0], memoryd.Partition{Tenant: "t", Group: fmt.Sprint("none", len(parts))}), append(want, want[0], 0)
	}
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Partitions.Versions(parts)
		same(t, "versions", got, want)
		none, err2 := tx.Partitions.Versions(nil)
		same(t, "none", len(none), 0)
		return errors.Join(err, err2)
	})
}

func groups(t *testing.T, s memoryd.Store) {
	talk, empty, foreign := session("talk"), session("empty"), session("foreign")
	talk.Group, empty.Group, foreign.Group, foreign.Tenant = "talk", "empty", "foreign", "T"
	write(t, s, put(talk, message(1, "x")))
	write(t, s, put(empty))
	write(t, s, put(foreign, message(1, "x")))
	write(t, s, insert(memory(1, team, "x"), memory(2, memoryd.Global, "x"), memory(3, memoryd.AgentScope("a"), "x")))
	got := func() (list []string) {
		read(t, s, func(tx memoryd.Tx) (err error) {
			list, err = tx.Partitions.Groups("t")
			return err
		})
		slices.Sort(list)
		return list
	}
	same(t, "groups", got(), []string{"talk", "team"})
	write(t, s, func(tx memoryd.Tx) error { _, err := tx.Sessions.Delete(own, all, "talk"); return err })
	same(t, "groups", got(), []string{"team"})
}

func changes(t *testing.T, s memoryd.Store) {
	silent := message(2, "unseen")
	silent.Searchable = false
	write(t, s, insert(memory(1, memoryd.Global, "a"), memory(2, memoryd.DM, "b")))
	write(t, s, put(session("s"), message(1, "x"), silent, message(3, "y")))
	write(t, s, insert(memory(3, team, "another partition's")))
	p := memoryd.Partition{Tenant: "t", User: "u"}
	before := version(t, s, p)
	changed := memory(1, memoryd.Global, "c")
	changed.Version, changed.Status = 2, memoryd.Archived
	write(t, s, update(changed))
	write(t, s, func(tx memoryd.Tx) error { _, err := tx.Sessions.Delete(own, all, "s"); return err })
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Partitions.Changes(p, before)
		same(t, "memories", []memoryd.ChangedMemory{{Memory: changed, Change: before + 1}}, got.Memories)
		same(t, "turns", len(got.Turns), 0)
		if len(got.Removed) != 2 || got.Removed[0].Turn != (memoryd.TurnKey{Session: "s", Seq: 1}) || got.Removed[1].Turn != (memoryd.TurnKey{Session: "s", Seq: 3}) {
			t.Errorf("removed: %+v", got.Removed)
		}
		same(t, "version", got.Version, got.Removed[1].Change)
		none, err2 := tx.Partitions.Changes(p, got.Version)
		same(t, "nothing new", none, memoryd.Changes{Version: got.Version})
		empty, err3 := tx.Partitions.Changes(memoryd.Partition{Tenant: "T", User: "u"}, 0)
		same(t, "no partition", empty, memoryd.Changes{})
		return errors.Join(err, err2, err3)
	})
}

// A removed turn's key may be another's later; in order of change the newer one stays.
func turnAgain(t *testing.T, s memoryd.Store) {
	index := newReplica(memoryd.Partition{Tenant: "t", User: "u"})
	write(t, s, put(session("s"), message(1, "old"), message(2, "old")))
	index.follow(t, s)
	write(t, s, func(tx memoryd.Tx) error {
		if _, err := tx.Sessions.Delete(own, all, "s"); err != nil {
			return err
		}
		return put(session("s"), message(1, "new"))(tx)
	})
	index.follow(t, s)
	want := map[memoryd.TurnKey]string{{Session: "s", Seq: 1}: "new"}
	same(t, "after a patch", index.turns, want)
	fresh := newReplica(index.p)
	fresh.follow(t, s)
	same(t, "from nothing", fresh.turns, want)
}

// replica applies changes as an index does.
type replica struct {
	p        memoryd.Partition
	version  int64
	memories map[string]memoryd.Memory
	turns    map[memoryd.TurnKey]string
	seen     map[int64]bool // changes that were applied
}

func newReplica(p memoryd.Partition) *replica {
	return &replica{p: p, memories: map[string]memoryd.Memory{}, turns: map[memoryd.TurnKey]string{}, seen: map[int64]bool{}}
}

func (r *replica) follow(t testing.TB, s memoryd.Store) {
	t.Helper()
	var c memoryd.Changes
	read(t, s, func(tx memoryd.Tx) (err error) {
		c, err = tx.Partitions.Changes(r.p, r.version)
		return err
	})
	type step struct {
		change int64
		apply  func()
	}
	var steps []step
	order := func(list []step) bool {
		return slices.IsSortedFunc(list, func(a, b step) int { return cmp.Compare(a.change, b.change) })
	}
	for _, m := range c.Memories {
		steps = append(steps, step{m.Change, func() { r.memories[m.ID] = m.Memory }})
	}
	sorted := order(steps)
	from := len(steps)
	for _, x := range c.Turns {
		steps = append(steps, step{x.Change, func() { r.turns[memoryd.TurnKey{Session: x.Session, Seq: x.Seq}] = x.Text }})
	}
	sorted = sorted && order(steps[from:])
	from = len(steps)
	for _, x := range c.Removed {
		steps = append(steps, step{x.Change, func() { delete(r.memories, x.Memory); delete(r.turns, x.Turn) }})
	}
	if !sorted || !order(steps[from:]) {
		t.Error("a list is not in order of change")
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.change, b.change) })
	for _, x := range steps {
		if x.change <= r.version || x.change > c.Version || r.seen[x.change] {
			t.Errorf("change %d came between versions %d and %d, seen before: %v", x.change, r.version, c.Version, r.seen[x.change])
		}
		r.seen[x.change] = true
		x.apply()
	}
	r.version = c.Version
}

// Writers of all kinds work at once while a replica follows; at the end it holds what is there, and has seen each
// change of the rows that only came.
func changesComplete(t *testing.T, s memoryd.Store) {
	p := memoryd.Partition{Tenant: "t", User: "u"}
	follower, done, stopped := newReplica(p), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				follower.follow(t, s)
			}
		}
	}()
	const writers, rounds = 6, 15
	errs := parallel(writers, func(w int) error {
		x := session(fmt.Sprint("s", w))
		for r := range rounds {
			i := w*rounds + r
			err := s.Write(t.Context(), func(tx memoryd.Tx) error { return work(tx, x, i, r) })
			if err != nil && !errors.Is(err, errUndone) {
				return err
			}
		}
		return nil
	})
	close(done)
	<-stopped
	whole(t, errs)
	follower.follow(t, s)
	fresh := newReplica(p)
	fresh.follow(t, s)
	same(t, "memories", follower.memories, fresh.memories)
	same(t, "turns", follower.turns, fresh.turns)
	same(t, "version", follower.version, fresh.version)
	read(t, s, func(tx memoryd.Tx) error {
		rows, err := tx.Memories.List(own, all, memoryd.MemoryFilter{Statuses: memoryd.Statuses})
		same(t, "rows", len(rows), len(follower.memories))
		for _, m := range rows {
			same(t, m.ID, follower.memories[m.ID], m)
		}
		return err
	})
}

// Rows come from many writers at once, of which some take everything back.
func dense(t *testing.T, s memoryd.Store) {
	const writers, rounds = 8, 12
	errs := parallel(writers, func(w int) error {
		for r := range rounds {
			i := w*rounds + r
			err := s.Write(t.Context(), func(tx memoryd.Tx) error {
				if err := errors.Join(insert(memory(i, memoryd.Global, fmt.Sprint(i)))(tx), put(session(fmt.Sprint("s", w)), message(i, "x"))(tx)); err != nil {
					return err
				}
				if r%4 == 3 {
					return errUndone
				}
				return nil
			})
			if err != nil && !errors.Is(err, errUndone) {
				return err
			}
		}
		return nil
	})
	whole(t, errs)
	r := newReplica(memoryd.Partition{Tenant: "t", User: "u"})
	r.follow(t, s)
	same(t, "version", r.version, int64(writers*rounds*3/4*2))
	same(t, "changes, all different", len(r.seen), int(r.version))
}

var errUndone = errors.New("undone")

// work is one round of a writer.
func work(tx memoryd.Tx, x memoryd.Session, i, round int) error {
	if err := insert(memory(i, memoryd.Global, fmt.Sprint("text ", i)))(tx); err != nil {
		return err
	}
	if err := put(x, message(i, fmt.Sprint("said ", i)))(tx); err != nil {
		return err
	}
	switch round % 5 {
	case 1:
		m := memory(i, memoryd.DM, fmt.Sprint("changed ", i))
		m.Version = 2
		return tx.Memories.Update(m)
	case 3:
		return errUndone
	case 4:
		_, err := tx.Sessions.Delete(own, all, x.ID)
		return err
	}
	return nil
}
