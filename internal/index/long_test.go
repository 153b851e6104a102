package index

import (
	"fmt"
	"slices"
	"testing"

	"memoryd"
)

// long is a query of as many words that common records hold, and one that a single record holds.
func long(common int) string {
	text := ""
	for i := range common {
		text += fmt.Sprintf("common%d ", i)
	}
	return text + "singular"
}

func TestLongQueryKeepsItsRarestWords(t *testing.T) {
	p, other := New(NewStems()), New(NewStems())
	const common = maxWords + 40
	for i := range 2 * common {
		text := fmt.Sprintf("common%d common%d", i%common, (i+1)%common)
		p.PutMemory(note(fmt.Sprint("m", i), text))
		p.PutTurn(said("s", int64(i), "Bo", text))
		other.PutTurn(said("o", int64(i), "Bo", text))
	}
	p.PutMemory(note("one", "singular"))
	p.PutTurn(said("one", 1, "Bo", "singular"))

	q := about(long(common) + " unheard")
	vs := []*vocabulary{&p.turns.vocabulary, &other.turns.vocabulary}
	l := look(vs, q.Words)
	if len(l.ids) != maxWords+1 || len(l.idf) != len(l.ids) {
		t.Errorf("%d words are looked for, want %d and the one that nobody says", len(l.ids), maxWords)
	}
	if singular := p.turns.ids[stem("singular")]; !slices.ContainsFunc(l.ids, func(ids []uint32) bool { return ids[0] == singular }) {
		t.Error("the rarest word is not among them")
	}
	found := func(hits []Hit) bool {
		return slices.ContainsFunc(hits, func(h Hit) bool { return h.ID == "one" || h.Session == "one" })
	}
	if !found(Memories([]*Partition{p}, q, MemoryCut{Factor: plain})) || !found(Turns([]*Partition{p, other}, q, TurnCut{})) {
		t.Error("what holds the rarest word is not found")
	}
	if short := look(vs, about(long(maxWords-1)).Words); len(short.ids) != maxWords {
		t.Errorf("%d words of a query that is not too long", len(short.ids))
	}
}

// TestDoneEndsASearch counts how often a search asks, ends it there, and looks that the next search is not the worse
// for what the ended one left behind.
func TestDoneEndsASearch(t *testing.T) {
	p, other := newSample(5).partition(300, 300), newSample(6).partition(300, 300)
	parts := []*Partition{p, other}
	q := func(done func() bool) *Query {
		return &Query{Words: Read("Ada " + newSample(5).text(40)), Scopes: memoryd.AllScopes(), Now: now, Done: done}
	}
	want := answerOf(parts, q(nil), 10)
	asked := 0
	if got := answerOf(parts, q(func() bool { asked++; return false }), 10); !got.equal(want) {
		t.Fatal("asking changes the answer")
	}
	if asked < 3*len(q(nil).Words.list) {
		t.Errorf("asked %d times", asked)
	}
	for _, left := range []int{0, 1, asked / 4, asked / 2, asked - 1} {
		after := 0
		answerOf(parts, q(func() bool { left--; after++; return left < 0 }), 10)
		if got := answerOf(parts, q(nil), 10); !got.equal(want) {
			t.Fatalf("a search that ended after %d questions spoils the next", after)
		}
	}
}

// BenchmarkLongQuery is the longest query that there is, over a user's partition and a group's.
func BenchmarkLongQuery(b *testing.B) {
	s := newSample(7)
	parts := []*Partition{s.partition(0, 100_000), s.partition(0, 100_000)}
	q := &Query{Words: Read(s.text(1300)), Scopes: memoryd.AllScopes()}
	for n := 1; n <= 2; n++ {
		b.Run(fmt.Sprint("partitions-", n), func(b *testing.B) {
			for b.Loop() {
				Turns(parts[:n], q, TurnCut{Limit: 100})
			}
		})
	}
}
