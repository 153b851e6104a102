package builtin

import (
	"slices"

	"memoryd"
	"memoryd/internal/index"
)

// ask is one query on its way: what it asks, and the hits of the index.
type ask struct {
	memoryd.Query
	words index.Words
	done  func() bool // nobody waits any more

	hits        []index.Hit // memories and turns, best first
	preferences []index.Hit
}

// query is what memories must pass.
func (a *ask) query() *index.Query {
	return &index.Query{
		Words: a.words, Scopes: a.Scopes, Types: a.Types, Forms: a.Forms, Statuses: a.Statuses, MinTrust: a.MinTrust,
		Labels: a.Labels, NotSensitive: a.NotSensitive, NotSession: a.NotSession, Now: a.Now, Done: a.done,
	}
}

// turnQuery is what turns must pass: rights to turns may be wider than those to memories.
func (a *ask) turnQuery() *index.Query {
	q := a.query()
	q.Scopes = turnScopes(&a.Query)
	return q
}

// turnScopes is where turns are searched.
func turnScopes(q *memoryd.Query) memoryd.Scopes {
	if q.TurnScopes.Empty() {
		return q.Scopes
	}
	return q.TurnScopes
}

// preferenceQuery is what the preferences must pass. A preference is shown whatever is asked, so what narrows the
// hits (types, forms, labels) says nothing of it, but it stands for the user and must not be of low trust.
func (a *ask) preferenceQuery() *index.Query {
	q := &index.Query{
		Words: a.words, Scopes: a.Scopes.Within(memoryd.ScopesOf(memoryd.Global, memoryd.DM)),
		Types: []memoryd.Type{memoryd.Preference}, MinTrust: memoryd.Medium, NotSensitive: a.NotSensitive, Now: a.Now,
		Done: a.done,
	}
	if a.MinTrust.Rank() > q.MinTrust.Rank() {
		q.MinTrust = a.MinTrust
	}
	return q
}

func (a *ask) search(parts []*index.Partition, factor [4]float64) {
	q := a.query()
	if a.Memories {
		a.hits = index.Memories(parts, q, index.MemoryCut{
			MinScore: a.MinScore, PerScope: smaller(a.PerScope, a.Limit), Factor: factor,
		})
	}
	if a.Turns {
		turns := index.Turns(parts, a.turnQuery(), index.TurnCut{MinScore: a.MinTurn, Limit: smaller(a.TurnMax, a.Limit)})
		a.hits = append(a.hits, turns...)
		slices.SortFunc(a.hits, index.Compare)
	}
	if a.Limit > 0 && len(a.hits) > a.Limit {
		if a.BothSides {
			a.hits = bothSides(a.hits, a.Limit)
		}
		a.hits = a.hits[:a.Limit]
	}
	if a.Preferences > 0 {
		a.preferences = index.Best(parts, a.preferenceQuery(), a.Preferences, factor)
	}
}

// smaller is the smaller bound; 0 is none.
func smaller(x, y int) int {
	if x <= 0 || y > 0 && y < x {
		return max(0, y)
	}
	return x
}

// bothSides puts the best two of the global scope, and of the others, among the first n of sorted hits, and otherwise
// takes the best. Of fewer than four, each side gets half.
func bothSides(hits []index.Hit, n int) []index.Hit {
	want := min(2, n/2)
	var have [2]int
	side := func(h *index.Hit) int {
		if h.Scope == memoryd.Global {
			return 1
		}
		return 0
	}
	first, rest := make([]index.Hit, 0, len(hits)), []index.Hit(nil)
	reserved := make([]bool, len(hits))
	for i := range hits {
		if s := side(&hits[i]); have[s] < want {
			have[s]++
			reserved[i] = true
		}
	}
	free := n - have[0] - have[1]
	for i, h := range hits {
		switch {
		case reserved[i]:
			first = append(first, h)
		case free > 0:
			first = append(first, h)
			free--
		default:
			rest = append(rest, h)
		}
	}
	return append(first, rest...)
}
