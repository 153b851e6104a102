package index

import "math"

// TurnCut says how many turns are wanted.
type TurnCut struct {
	MinScore float64
	Limit    int // 0: no bound
}

// Turns answers the turns that hold a word of the query, or have one near them or in their session, best first.
func Turns(parts []*Partition, q *Query, cut TurnCut) []Hit {
	return turnsBy(turnWeights(), parts, q, cut)
}

func turnsBy(w weights, parts []*Partition, q *Query, cut TurnCut) []Hit {
	if q.Words.Empty() || len(q.Labels) > 0 {
		return nil
	}
	vs := make([]*vocabulary, len(parts))
	for i, p := range parts {
		vs[i] = &p.turns.vocabulary
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	r := ranking{
		weights: w, scratch: s, parts: parts, q: q, words: look(vs, q.Words), speaker: named(parts, q.Words),
		min: cut.MinScore, best: top{limit: cut.Limit}, floor: w.least(cut.MinScore), dfs: make([][]uint32, len(parts)),
	}
	r.scoreSessions()
	for i, p := range parts {
		pass := p.filter(q)
		if pass.nothing || q.done() {
			continue
		}
		s.match(vs[i], i, &r.words, q)
		if q.Words.stop {
			r.alone(i, &pass)
		} else {
			r.together(i, &pass)
		}
		s.clear()
	}
	return r.best.sorted()
}

// ranking is one search of turns.
type ranking struct {
	weights
	*scratch
	parts   []*Partition
	q       *Query
	words   lookup
	speaker string
	first   []int // part → number of its first session among those of all parts

	min   float64
	best  top
	floor float64      // a sum that a turn must reach to get in
	rare  [512]float64 // idf by df, 0 where it was not wanted yet
	dfs   [][]uint32   // part → term → df in all parts, 0 where it was not wanted yet
}

// scoreSessions leaves in scratch.bySession what match would give for the sessions as records of an index of their own.
func (r *ranking) scoreSessions() {
	r.first = make([]int, len(r.parts)+1)
	n, total := 0, int64(0)
	for i, p := range r.parts {
		r.first[i+1] = r.first[i] + len(p.turns.byNumber)
		n += len(p.turns.sessions)
		total += p.turns.total
	}
	all := r.first[len(r.parts)]
	r.bySession, r.times = grow(r.bySession, all), grow(r.times, all)
	clear(r.bySession[:all])
	if r.q.Words.stop {
		return
	}
	average, mass := max(1, float64(total)/float64(max(1, n))), 0.
	for _, ids := range r.words.ids {
		if r.q.done() {
			return
		}
		r.countSessions(ids)
		weight := sessionIDF(n, len(r.seen))
		mass += weight
		for _, at := range r.seen {
			r.bySession[at.all] += weight * saturate(r.times[at.all], uint32(at.in.size), average)
			r.times[at.all] = 0
		}
		clear(r.seen) // they must not outlive their partition in the pool
		r.seen = r.seen[:0]
	}
	for i := range r.bySession[:all] {
		r.bySession[i] /= 1.5 * mass
	}
}

// countSessions leaves in scratch.times how often each session says the word, and in scratch.seen those that do.
func (r *ranking) countSessions(ids []uint32) {
	for i, id := range ids {
		if id == none {
			continue
		}
		rows := r.parts[i].turns.rows
		for _, p := range r.parts[i].turns.terms[id].posts {
			in := rows[p.slot].in
			all := r.first[i] + int(in.number)
			if r.times[all] == 0 {
				r.seen = append(r.seen, seenSession{in: in, all: all})
			}
			r.times[all] += p.times
		}
	}
}

// together ranks the turns of every session that has a word of the query, with their neighbours and their session.
func (r *ranking) together(part int, pass *filter) {
	t := &r.parts[part].turns
	by := t.speakers[r.speaker]
	for number, in := range t.byNumber {
		if in == nil || r.bySession[r.first[part]+number] == 0 || in == pass.session {
			continue
		}
		if r.q.done() {
			return
		}
		whole := r.session * r.bySession[r.first[part]+number]
		for i, slot := range in.slots {
			if row := &t.rows[slot]; pass.turn(row) {
				r.take(part, slot, r.sum(row, r.window(in.slots, i)+whole, by))
			}
		}
	}
}

// alone ranks the turns that match by themselves: in a query of stop words, every neighbour does.
func (r *ranking) alone(part int, pass *filter) {
	t := &r.parts[part].turns
	for _, slot := range r.touched {
		if row := &t.rows[slot]; r.score[slot] > 0 && row.in != pass.session && pass.turn(row) {
			r.take(part, slot, r.sum(row, r.score[slot], nil))
		}
	}
}

// window is a turn's match with its neighbours'. A neighbour that does not exist counts as the turn itself: one that
// stands alone would lose against the middle of any talk.
func (r *ranking) window(slots []uint32, i int) float64 {
	own := r.score[slots[i]]
	at := func(i int) float64 {
		if i < 0 || i >= len(slots) {
			return own
		}
		return r.score[slots[i]]
	}
	return own + r.near*(at(i-1)+at(i+1)) + r.far*(at(i-2)+at(i+2))
}

func (r *ranking) sum(row *turn, match float64, by *speaker) float64 {
	sum := r.weights.words*match + r.length*float64(row.length) - r.asking*float64(row.asking)
	if by != nil && row.by == by {
		sum += r.named
	}
	if r.q.Words.time && row.dated {
		sum += r.time
	}
	return sum
}

// take adds info to the sum of a turn that can get in with it, and lets it in. Info takes the longest to find out.
func (r *ranking) take(part int, slot uint32, sum float64) {
	if sum+r.info < r.floor {
		return
	}
	p := r.parts[part]
	row := &p.turns.rows[slot]
	h := Hit{
		Score:   r.shown(sum + r.info*r.infoOf(part, slot)),
		Session: row.in.id, Seq: row.seq, Scope: p.scopes.list[row.scope], time: row.time,
	}
	if h.Score < r.min {
		return
	}
	r.best.add(&h)
	if r.best.full() {
		r.floor = max(r.floor, r.least(r.best.hits[0].Score))
	}
}

// infoOf is how much the turn says, as a sum of idf, at most 1.
func (r *ranking) infoOf(part int, slot uint32) float64 {
	v := &r.parts[part].turns.vocabulary
	sum := 0.
	for _, id := range v.words[slot] {
		if t := &v.terms[id]; !t.stop {
			sum += r.idf(r.frequency(part, id))
		}
		if sum >= enough {
			return 1
		}
	}
	return sum / enough
}

// idf keeps what it worked out for rare words, which most are.
func (r *ranking) idf(df int) float64 {
	if df >= len(r.rare) {
		return idf(r.words.n, df)
	}
	if r.rare[df] == 0 {
		r.rare[df] = idf(r.words.n, df)
	}
	return r.rare[df]
}

// frequency is how many turns of all parts hold a term of one. Words are looked up in the other parts once a search.
func (r *ranking) frequency(part int, id uint32) int {
	t := &r.parts[part].turns.terms[id]
	if len(r.parts) == 1 {
		return len(t.posts)
	}
	if r.dfs[part] == nil {
		r.dfs[part] = make([]uint32, len(r.parts[part].turns.terms))
	}
	df := &r.dfs[part][id]
	if *df == 0 {
		for _, p := range r.parts {
			if id, ok := p.turns.ids[t.word]; ok {
				*df += uint32(len(p.turns.terms[id].posts))
			}
		}
	}
	return int(*df)
}

// sessionIDF has no prior as idf has: a store's sessions are few by nature.
func sessionIDF(n, df int) float64 { return math.Log1p((float64(n-df) + .5) / (float64(df) + .5)) }
