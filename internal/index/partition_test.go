package index

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"memoryd"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	plain = [4]float64{1, 1, 1, 1}
)

// note is a memory as most tests want it.
func note(id, text string) *memoryd.Memory {
	return &memoryd.Memory{
		ID: id, Text: text, Scope: memoryd.Global, Type: memoryd.Fact, Form: memoryd.FormText, Status: memoryd.Active,
		Trust: memoryd.High, Importance: 5, Strength: 1, Recorded: now,
	}
}

func said(session string, seq int64, name, text string) *memoryd.Turn {
	return &memoryd.Turn{Session: session, Seq: seq, Name: name, Text: text, Time: now, Scope: memoryd.DM, Trust: memoryd.High}
}

func about(text string) *Query {
	return &Query{Words: Read(text), Scopes: memoryd.AllScopes(), Now: now}
}

type answer struct{ memories, turns, best []Hit }

func answerOf(parts []*Partition, q *Query, limit int) answer {
	return answer{
		memories: Memories(parts, q, MemoryCut{PerScope: limit, Factor: plain}),
		turns:    Turns(parts, q, TurnCut{Limit: limit}),
		best:     Best(parts, q, limit, plain),
	}
}

func (a answer) equal(o answer) bool {
	return slices.Equal(a.memories, o.memories) && slices.Equal(a.turns, o.turns) && slices.Equal(a.best, o.best)
}

var vocabularyOfTests = []string{
	"the", "is", "paint", "paints", "river", "yesterday", "2023", "café", "Ada", "Bo", "猫", "花园", "你", "什么", "v12", "?", ".", "don't",
}

func drawText(t *rapid.T) string {
	text := ""
	for _, w := range rapid.SliceOfN(rapid.SampledFrom(vocabularyOfTests), 0, 8).Draw(t, "text") {
		text += w + " "
	}
	return text
}

// world is what partitions are to hold, as the rows of a store.
type world struct {
	memories map[string]*memoryd.Memory
	turns    map[memoryd.TurnKey]*memoryd.Turn
}

var scopesOfTests = []memoryd.Scope{memoryd.Global, memoryd.DM, "agent:x"}

func drawMemory(t *rapid.T) *memoryd.Memory {
	m := note(fmt.Sprint("m", rapid.IntRange(0, 30).Draw(t, "id")), drawText(t))
	m.Scope = rapid.SampledFrom(scopesOfTests).Draw(t, "scope")
	m.Importance = rapid.IntRange(1, 3).Draw(t, "importance")
	m.Status = rapid.SampledFrom([]memoryd.Status{memoryd.Active, memoryd.Active, memoryd.Archived}).Draw(t, "status")
	m.Recorded = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour)
	return m
}

func drawTurn(t *rapid.T) *memoryd.Turn {
	turn := said(fmt.Sprint("s", rapid.IntRange(0, 3).Draw(t, "session")), int64(rapid.IntRange(1, 12).Draw(t, "seq")),
		rapid.SampledFrom([]string{"", "Ada", "Bo", "Ada Byron"}).Draw(t, "name"), drawText(t))
	turn.Time = now.AddDate(0, 0, rapid.IntRange(0, 2).Draw(t, "day"))
	return turn
}

func (w *world) change(t *rapid.T, p *Partition) {
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0, 1:
		m := drawMemory(t)
		w.memories[m.ID] = m
		p.PutMemory(m)
	case 2, 3:
		turn := drawTurn(t)
		w.turns[memoryd.TurnKey{Session: turn.Session, Seq: turn.Seq}] = turn
		p.PutTurn(turn)
	case 4:
		id := drawMemory(t).ID
		delete(w.memories, id)
		p.RemoveMemory(id)
	case 5:
		turn := drawTurn(t)
		key := memoryd.TurnKey{Session: turn.Session, Seq: turn.Seq}
		delete(w.turns, key)
		p.RemoveTurn(key)
	}
}

// built is the world in n partitions, the rows of a session together.
func (w *world) built(n int) []*Partition {
	parts := make([]*Partition, n)
	for i := range parts {
		parts[i] = New(NewStems())
	}
	for id, m := range w.memories {
		parts[int(id[len(id)-1])%n].PutMemory(m)
	}
	for key, turn := range w.turns {
		parts[int(key.Session[1])%n].PutTurn(turn)
	}
	return parts
}

func TestChangedIsAsBuiltAnewAndMergedAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{memories: map[string]*memoryd.Memory{}, turns: map[memoryd.TurnKey]*memoryd.Turn{}}
		p := New(NewStems())
		for range rapid.IntRange(0, 200).Draw(t, "changes") {
			w.change(t, p)
		}
		if m, n := p.Len(); m != len(w.memories) || n != len(w.turns) {
			t.Fatalf("holds %d and %d, want %d and %d", m, n, len(w.memories), len(w.turns))
		}
		fresh, split := w.built(1), w.built(3)
		for _, limit := range []int{0, 3} {
			q := about(drawText(t))
			if rapid.Bool().Draw(t, "narrow") {
				q.Scopes, q.NotSession = memoryd.ScopesOf(memoryd.DM), "s1"
			}
			got := answerOf([]*Partition{p}, q, limit)
			if want := answerOf(fresh, q, limit); !got.equal(want) {
				t.Fatalf("changed: %+v\nanew: %+v", got, want)
			}
			if want := answerOf(split, q, limit); !got.equal(want) {
				t.Fatalf("one: %+v\nsplit: %+v", got, want)
			}
		}
	})
}

func TestEmptiedPartitionIsSmall(t *testing.T) {
	p := New(NewStems())
	empty := p.Bytes()
	for i := range 500 {
		p.PutMemory(note(fmt.Sprint(i), fmt.Sprint("note number", i)))
		p.PutTurn(said(fmt.Sprint("s", i/10), int64(i), fmt.Sprint("name", i), fmt.Sprint("turn number", i)))
	}
	full := p.Bytes()
	for i := range 500 {
		p.RemoveMemory(fmt.Sprint(i))
		p.RemoveTurn(memoryd.TurnKey{Session: fmt.Sprint("s", i/10), Seq: int64(i)})
	}
	if left := p.Bytes() - empty; left < 0 || left > full/4 {
		t.Errorf("%d bytes are left of %d", left, full-empty)
	}
	if hits := Turns([]*Partition{p}, about("turn number 7 name9"), TurnCut{}); len(hits) > 0 {
		t.Errorf("found %v", hits)
	}
}

// TestTurnsFollowTheFormula works the ranking out again from the texts, one turn after the other.
func TestTurnsFollowTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{memories: map[string]*memoryd.Memory{}, turns: map[memoryd.TurnKey]*memoryd.Turn{}}
		for range rapid.IntRange(1, 30).Draw(t, "turns") {
			turn := drawTurn(t)
			w.turns[memoryd.TurnKey{Session: turn.Session, Seq: turn.Seq}] = turn
		}
		q := about(drawText(t) + " river")
		hits := Turns(w.built(2), q, TurnCut{})
		want := w.formula(q)
		if len(hits) != len(want) {
			t.Fatalf("%d hits, want %d", len(hits), len(want))
		}
		for _, h := range hits {
			if math.Abs(h.Score-want[h.Turn()]) > 1e-6 {
				t.Fatalf("%v: %v, want %v", h.Turn(), h.Score, want[h.Turn()])
			}
		}
	})
}

// corpus is BM25 over texts, as plainly as it can be written.
type corpus struct{ docs [][]string }

func (c corpus) df(word string) (n int) {
	for _, d := range c.docs {
		if slices.Contains(d, word) {
			n++
		}
	}
	return n
}

// share is each text's BM25 as a share of 1.5 × the query's mass.
func (c corpus) share(query []string, prior float64) []float64 {
	total, mass := 0., 0.
	for _, d := range c.docs {
		total += float64(len(d))
	}
	average := max(1, total/float64(len(c.docs)))
	out := make([]float64, len(c.docs))
	for _, word := range query {
		df := float64(c.df(word))
		idf := math.Log(1 + (float64(len(c.docs))-df+prior+.5)/(df+.5))
		mass += idf
		for i, d := range c.docs {
			f := 0.
			for _, x := range d {
				if x == word {
					f++
				}
			}
			out[i] += idf * f * 2.2 / (f + 1.2*(.25+.75*float64(len(d))/average))
		}
	}
	for i := range out {
		out[i] /= 1.5 * mass
	}
	return out
}

func (w *world) formula(q *Query) map[memoryd.TurnKey]float64 {
	var keys []memoryd.TurnKey
	var records, sessions corpus
	at := map[string]int{}
	for key := range w.turns {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b memoryd.TurnKey) int { return int(a.Seq - b.Seq) })
	whole := map[string][]string{}
	for _, key := range keys {
		turn := w.turns[key]
		words, _ := wordsOf(turn.Name + " " + dateOf(turn.Time, Fold(turn.Text)) + " " + turn.Text)
		records.docs = append(records.docs, words)
		whole[key.Session] = append(whole[key.Session], words...)
	}
	for id, words := range whole {
		at[id] = len(sessions.docs)
		sessions.docs = append(sessions.docs, words)
	}
	own, session := records.share(q.Words.list, prior), sessions.share(q.Words.list, 0)
	out := map[memoryd.TurnKey]float64{}
	for i, key := range keys {
		if session[at[key.Session]] == 0 {
			continue
		}
		var near []int // the session's turns, and where this one stands among them
		here := 0
		for j, other := range keys {
			if other.Session == key.Session {
				if j == i {
					here = len(near)
				}
				near = append(near, j)
			}
		}
		v := func(k int) float64 {
			if k < 0 || k >= len(near) {
				return own[i]
			}
			return own[near[k]]
		}
		match := own[i] + .5*(v(here-1)+v(here+1)) + .3*(v(here-2)+v(here+2)) + .8*session[at[key.Session]]
		out[key] = logistic(1.75 * (1.5*match + w.priors(q, records, i, w.turns[key]) - 2.2))
	}
	return out
}

func (w *world) priors(q *Query, c corpus, i int, turn *memoryd.Turn) float64 {
	set := slices.Compact(slices.Sorted(slices.Values(c.docs[i])))
	info := 0.
	for _, word := range set {
		df := c.df(word)
		info += math.Log(1 + (float64(len(c.docs)-df)+prior+.5)/(float64(df)+.5))
	}
	x := .1*math.Log(1+float64(len(set)))/3 - .2*float64(asking(Fold(turn.Text))) + .1*min(1, info/60)
	words, _ := wordsOf(turn.Text)
	if q.Words.time && slices.ContainsFunc(words, ofTime) {
		x += .2
	}
	if name := named(w.built(1), q.Words); name != "" && Fold(turn.Name) == name {
		x += .5
	}
	return x
}
