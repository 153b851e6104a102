package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"memoryd"
)

// Messages tests the port of that name.
func Messages(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"round trip":           messageRoundTrip,
		"append counts up":     appendCounts,
		"append side by side":  appendParallel,
		"append needs session": appendNowhere,
		"newest":               newest,
		"by id":                messagesByID,
		"turns":                turns,
	})
}

func messageRoundTrip(t *testing.T, s memoryd.Store) {
	plain := message(1, `a "quoted" 'text' 👍 `+strings.Repeat("长", 20000))
	full := memoryd.Message{
		Text: "words", Tokens: 7, Trust: memoryd.Low, Writer: "w", Recorded: now, ID: "my id", Role: memoryd.RoleAssistant,
		Content: []byte("null"), Name: "Ann", User: "v", ToolCalls: []byte(`[{"id": "c1"}]`), ToolCallID: "c0", Kind: "tool",
		Time: time.Date(1999, 12, 31, 23, 59, 59, 1000, east), Metadata: []byte(`{"x": [1,  2]}`),
	}
	want := []memoryd.Message{plain, full}
	write(t, s, func(tx memoryd.Tx) error {
		if _, err := tx.Sessions.Put(session("s")); err != nil {
			return err
		}
		stored, err := tx.Messages.Append(session("s"), want)
		want[0].Seq, want[1].Seq = 1, 2
		same(t, "stored", stored, want)
		return err
	})
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Messages.Newest(session("s"), 0, 10)
		same(t, "read", got, want)
		return err
	})
	got := getSession(t, s, "s")
	same(t, "last_seq", got.LastSeq, int64(2))
	same(t, "updated", got.Updated, plain.Recorded)
}

func appendCounts(t *testing.T, s memoryd.Store) {
	write(t, s, put(session("s"), message(1, "a"), message(2, "b")))
	boom := errors.New("boom")
	fails(t, s, boom, func(tx memoryd.Tx) error {
		_, err := tx.Messages.Append(session("s"), []memoryd.Message{message(3, "lost")})
		return errors.Join(err, boom)
	})
	later := message(4, "c")
	later.Recorded = now.Add(time.Hour)
	last := message(5, "d")
	last.Recorded = now.Add(2 * time.Hour)
	write(t, s, func(tx memoryd.Tx) error {
		stale := session("s") // last_seq is the row's, not the caller's
		stored, err := tx.Messages.Append(stale, []memoryd.Message{later, last})
		same(t, "seqs", []int64{stored[0].Seq, stored[1].Seq}, []int64{3, 4})
		none, err2 := tx.Messages.Append(stale, nil)
		same(t, "nothing appended", len(none), 0)
		return errors.Join(err, err2)
	})
	got := getSession(t, s, "s")
	same(t, "last_seq", got.LastSeq, int64(4))
	same(t, "updated", got.Updated, later.Recorded)
	if err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		_, err := tx.Messages.Append(session("s"), []memoryd.Message{message(5, "an id twice")})
		return err
	}); err == nil {
		t.Error("an id was taken twice")
	}
	same(t, "last_seq", getSession(t, s, "s").LastSeq, int64(4))
}

func appendParallel(t *testing.T, s memoryd.Store) {
	write(t, s, put(session("s")))
	const writers, rounds = 8, 10
	whole(t, parallel(writers, func(w int) error {
		for r := range rounds {
			i := 2 * (w*rounds + r)
			err := s.Write(t.Context(), func(tx memoryd.Tx) error {
				stored, err := tx.Messages.Append(session("s"), []memoryd.Message{message(i, "x"), message(i+1, "y")})
				if err == nil && stored[1].Seq != stored[0].Seq+1 {
					err = fmt.Errorf("seqs %d and %d", stored[0].Seq, stored[1].Seq)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Messages.Newest(session("s"), 0, 1000)
		same(t, "messages", len(got), 2*writers*rounds)
		for i, m := range got {
			same(t, "seq", m.Seq, int64(i+1))
		}
		return err
	})
}

func appendNowhere(t *testing.T, s memoryd.Store) {
	fails(t, s, memoryd.ErrNotFound, func(tx memoryd.Tx) error {
		_, err := tx.Messages.Append(session("s"), []memoryd.Message{message(1, "x")})
		return err
	})
}

func newest(t *testing.T, s memoryd.Store) {
	var list []memoryd.Message
	for i := range 10 {
		list = append(list, message(i, fmt.Sprint("m", i+1)))
	}
	write(t, s, put(session("s"), list...))
	write(t, s, put(session("S"), message(1, "another's")))
	for _, c := range []struct {
		before int64
		n      int
		want   []int64
	}{
		{0, 3, []int64{8, 9, 10}}, {0, 10, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, {0, 99, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{8, 3, []int64{5, 6, 7}}, {3, 5, []int64{1, 2}}, {1, 5, nil}, {0, 0, nil}, {99, 1, []int64{10}},
	} {
		read(t, s, func(tx memoryd.Tx) error {
			found, err := tx.Messages.Newest(session("s"), c.before, c.n)
			var got []int64
			for _, m := range found {
				got = append(got, m.Seq)
			}
			same(t, fmt.Sprintf("%d before %d", c.n, c.before), got, c.want)
			return err
		})
	}
}

func messagesByID(t *testing.T, s memoryd.Store) {
	var list []memoryd.Message
	for i, id := range odd {
		m := message(i, id)
		m.ID = id
		list = append(list, m)
	}
	write(t, s, put(session("s"), list...))
	write(t, s, put(session("other"), message(1, "x")))
	read(t, s, func(tx memoryd.Tx) error {
		for _, id := range odd {
			got, err := tx.Messages.ByID(session("s"), []string{id, "missing", uuid(1)})
			if err != nil {
				return err
			}
			if len(got) != 1 || got[0].Text != id {
				t.Errorf("%q: %+v", id, got)
			}
		}
		got, err := tx.Messages.ByID(session("s"), odd)
		same(t, "all", len(got), len(odd))
		none, err2 := tx.Messages.ByID(session("s"), nil)
		same(t, "none", len(none), 0)
		return errors.Join(err, err2)
	})
}

func turns(t *testing.T, s memoryd.Store) {
	list := cast()
	silent := message(2, "unseen")
	silent.Searchable = false
	said := message(3, "seen")
	said.Time, said.Name, said.Trust, said.Role = time.Date(2020, 1, 1, 1, 1, 1, 0, east), "Ann", memoryd.Medium, memoryd.RoleAssistant
	for _, x := range list {
		write(t, s, put(x, message(1, x.ID), silent, said))
	}
	var keys []memoryd.TurnKey
	for id := range list {
		keys = append(keys, memoryd.TurnKey{Session: id, Seq: 1}, memoryd.TurnKey{Session: id, Seq: 2}, memoryd.TurnKey{Session: id, Seq: 99})
	}
	keys = append(keys, memoryd.TurnKey{Session: "missing", Seq: 1})
	for _, view := range views {
		read(t, s, func(tx memoryd.Tx) error {
			found, err := tx.Messages.Turns(view.o, view.s, keys)
			var got []string
			for _, x := range found {
				got = append(got, x.Text)
			}
			slices.Sort(got)
			same(t, fmt.Sprintf("%+v %+v", view.o, view.s), got, slices.Sorted(slices.Values(view.want)))
			return err
		})
	}
	read(t, s, func(tx memoryd.Tx) error {
		got, err := tx.Messages.Turns(own, all, []memoryd.TurnKey{{Session: "group", Seq: 3}})
		same(t, "turn", got, []memoryd.Turn{{Tenant: "t", User: "u", Text: "seen", ID: said.ID, Session: "group", Seq: 3, Role: said.Role, Name: "Ann",
			Content: said.Content, Time: said.Time, Scope: team, Trust: memoryd.Medium, Metadata: []byte("{}")}})
		none, err2 := tx.Messages.Turns(own, all, nil)
		same(t, "none", len(none), 0)
		return errors.Join(err, err2)
	})
}
