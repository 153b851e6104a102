package index

import "memoryd"

// MemoryCut says how many memories are wanted, and how their scores are shown.
type MemoryCut struct {
	MinScore float64
	PerScope int        // 0: no bound
	Factor   [4]float64 // by trust's rank, on the score
}

// Memories answers the memories that share a word with the query, best first.
func Memories(parts []*Partition, q *Query, cut MemoryCut) []Hit {
	if q.Words.Empty() {
		return nil
	}
	w := memoryWeights()
	tops := map[memoryd.Scope]*top{}
	var local []*top // of the part's scopes, by number
	eachMemory(parts, q, false, func(p *Partition, m *memory, match float64) {
		h := Hit{Score: w.shown(w.words*match) * cut.Factor[m.trust], ID: m.id, Scope: p.scopes.list[m.scope], time: m.newest}
		if h.Score < cut.MinScore {
			return
		}
		if local[m.scope] == nil {
			if tops[h.Scope] == nil {
				tops[h.Scope] = &top{limit: cut.PerScope}
			}
			local[m.scope] = tops[h.Scope]
		}
		local[m.scope].add(&h)
	}, func(p *Partition) { local = make([]*top, len(p.scopes.list)) })
	all := top{}
	for _, t := range tops {
		all.hits = append(all.hits, t.hits...)
	}
	return all.sorted()
}

// Best answers the n memories that suit the query best, whether they share a word with it or not; those that don't
// score 0. Equal ones stand in the order of importance × strength, then newest first.
func Best(parts []*Partition, q *Query, n int, factor [4]float64) []Hit {
	if n <= 0 {
		return nil
	}
	best := top{limit: n}
	w := memoryWeights()
	eachMemory(parts, q, true, func(p *Partition, m *memory, match float64) {
		h := Hit{ID: m.id, Scope: p.scopes.list[m.scope], time: m.newest, weight: m.weight}
		if match > 0 {
			h.Score = w.shown(w.words*match) * factor[m.trust]
		}
		best.add(&h)
	}, nil)
	return best.sorted()
}

// eachMemory calls f with the memories that pass the filter and share a word with the query, or with all that pass,
// and open before those of each partition.
func eachMemory(parts []*Partition, q *Query, all bool, f func(*Partition, *memory, float64), open func(*Partition)) {
	vs := make([]*vocabulary, len(parts))
	for i, p := range parts {
		vs[i] = &p.memories.vocabulary
	}
	l := look(vs, q.Words)
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for i, p := range parts {
		pass := p.filter(q)
		if pass.nothing || q.done() {
			continue
		}
		if open != nil {
			open(p)
		}
		s.match(vs[i], i, &l, q)
		if all {
			for slot := range p.memories.rows {
				if m := &p.memories.rows[slot]; m.id != "" && pass.memory(m) {
					f(p, m, s.score[slot])
				}
			}
		} else {
			for _, slot := range s.touched {
				if m := &p.memories.rows[slot]; s.score[slot] > 0 && pass.memory(m) {
					f(p, m, s.score[slot])
				}
			}
		}
		s.clear()
	}
}
