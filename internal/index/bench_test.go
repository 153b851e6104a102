package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"memoryd"
)

// sample writes texts with words as frequent as those of a language: the k-th stands about 1/k as often as the first.
type sample struct {
	r     *rand.Rand
	zipf  *rand.Zipf
	words []string
}

func newSample(seed uint64) *sample {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &sample{r: r, zipf: rand.NewZipf(r, 1.1, 4, 29_999)}
	s.words = strings.Fields("the and to of was with for that")
	for len(s.words) < 30_000 {
		var b strings.Builder
		for range 2 + r.IntN(4) {
			b.WriteByte("bcdfghklmnprstvw"[r.IntN(16)])
			b.WriteByte("aeiou"[r.IntN(5)])
		}
		s.words = append(s.words, b.String())
	}
	return s
}

func (s *sample) text(words int) string {
	list := make([]string, words)
	for i := range list {
		list[i] = s.words[s.zipf.Uint64()]
	}
	return strings.Join(list, " ")
}

func (s *sample) partition(memories, turns int) *Partition {
	p := New(NewStems())
	at := time.Date(2025, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range memories {
		p.PutMemory(&memoryd.Memory{
			ID: fmt.Sprintf("0190-%08d", i), Text: s.text(15), Scope: memoryd.Global, Type: memoryd.Fact, Status: memoryd.Active,
			Trust: memoryd.High, Recorded: at.Add(time.Duration(i) * time.Minute),
		})
	}
	for i := range turns {
		p.PutTurn(&memoryd.Turn{
			Session: fmt.Sprint("session-", i/25), Seq: int64(i % 25), Name: []string{"Ada", "Bo"}[i%2], Text: s.text(25),
			Time: at.Add(time.Duration(i) * time.Minute), Scope: memoryd.DM, Trust: memoryd.High,
		})
	}
	return p
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		s := newSample(7)
		m, t := s.partition(n, 0), s.partition(0, n)
		var queries []*Query
		for range 64 {
			queries = append(queries, &Query{Words: Read("When did Ada " + s.text(8) + "?"), Scopes: memoryd.AllScopes()})
		}
		b.Run(fmt.Sprint("memories-", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Memories([]*Partition{m}, queries[i%64], MemoryCut{PerScope: 100, Factor: plain})
			}
		})
		b.Run(fmt.Sprint("turns-", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Turns([]*Partition{t}, queries[i%64], TurnCut{Limit: 100})
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newSample(7).partition(0, 10_000)
	}
}

func TestSizeEstimate(t *testing.T) {
	for _, kind := range [][2]int{{4000, 0}, {0, 4000}} {
		s := newSample(3)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := s.partition(kind[0], kind[1])
		runtime.GC()
		runtime.ReadMemStats(&after)
		real := float64(after.HeapAlloc - before.HeapAlloc)
		t.Logf("%v: %.0f bytes a record, estimate %.0f", kind, real/4000, float64(p.Bytes())/4000)
		if ratio := float64(p.Bytes()) / real; ratio < .7 || ratio > 1.5 {
			t.Errorf("%v records: estimate is %.2f of what the heap grew by", kind, ratio)
		}
		runtime.KeepAlive(p)
		runtime.KeepAlive(s)
	}
}
