package index

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// lookup is the query's words in the merged vocabularies of one kind.
type lookup struct {
	ids     [][]uint32 // word → part → term, or none
	idf     []float64
	mass    float64 // sum of idf, of unknown words too
	average float64 // words of a record
	n       int
}

const none = math.MaxUint32

// maxWords is how many of a query's words are looked for where the records hold more of them: the rarest. Those say
// the most, and reading the others' long lists of records is what a query of a thousand words would take its time for.
const maxWords = 256

func look(vs []*vocabulary, w Words) lookup {
	l := lookup{}
	type known struct {
		word int
		df   int
	}
	var held []known
	dfs := make([]int, len(w.list))
	ids := make([][]uint32, len(w.list))
	total := int64(0)
	for _, v := range vs {
		l.n += v.live
		total += v.total
	}
	l.average = max(1, float64(total)/float64(max(1, l.n)))
	flat := make([]uint32, len(w.list)*len(vs))
	for i, word := range w.list {
		ids[i] = flat[i*len(vs) : (i+1)*len(vs)]
		df := 0
		for part, v := range vs {
			id, ok := v.ids[word]
			if !ok || v.terms[id].stop != w.stop {
				id = none
			} else {
				df += len(v.terms[id].posts)
			}
			ids[i][part] = id
		}
		dfs[i] = df
		if df > 0 {
			held = append(held, known{i, df})
		}
	}
	if len(held) > maxWords {
		slices.SortStableFunc(held, func(a, b known) int { return cmp.Compare(a.df, b.df) })
		for _, k := range held[maxWords:] {
			ids[k.word] = nil
		}
	}
	for i := range ids {
		if ids[i] != nil {
			l.ids = append(l.ids, ids[i])
			l.idf = append(l.idf, idf(l.n, dfs[i]))
			l.mass += l.idf[len(l.idf)-1]
		}
	}
	return l
}

// scratch is what a search adds up in, reused between searches. The slices by slot are zero between uses.
type scratch struct {
	score   []float64 // by slot
	matched []uint32  // by slot: words of the query that it holds
	touched []uint32  // slots that hold any

	bySession []float64 // by session, numbered through all parts
	times     []uint32  // by session: of one word
	seen      []seenSession
}

type seenSession struct {
	in  *session
	all int
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func grow[T any](list []T, n int) []T {
	if n <= len(list) {
		return list
	}
	return make([]T, n+n/4)
}

// match adds up BM25 of the query's words for the records of one part, as a share of 1.5 × the mass: an absolute
// number, so that a weak match stays weak where there is no better one. A record must hold all of a query of stop
// words: nearly every record holds one of them.
func (s *scratch) match(v *vocabulary, part int, l *lookup, q *Query) {
	s.score = grow(s.score, len(v.words))
	s.matched = grow(s.matched, len(v.words))
	scale := 1 / (1.5 * l.mass)
	for i := range l.ids {
		id := l.ids[i][part]
		if id == none {
			continue
		}
		if q.done() {
			return
		}
		weight := l.idf[i] * scale
		for _, p := range v.terms[id].posts {
			if s.matched[p.slot] == 0 {
				s.touched = append(s.touched, p.slot)
			}
			s.matched[p.slot]++
			s.score[p.slot] += weight * saturate(p.times, v.sizes[p.slot], l.average)
		}
	}
	if !q.Words.stop {
		return
	}
	for _, slot := range s.touched {
		if int(s.matched[slot]) < len(l.ids) {
			s.score[slot] = 0
		}
	}
}

// clear makes the numbers of match zero again.
func (s *scratch) clear() {
	for _, slot := range s.touched {
		s.score[slot], s.matched[slot] = 0, 0
	}
	s.touched = s.touched[:0]
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func logit(y float64) float64 { return math.Log(y / (1 - y)) }

const lowest = -math.MaxFloat64
