package recall

import (
	"context"
	"fmt"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Search finds memories, and turns where they are included, best first. Unlike a context it is an explicit request:
// the agent's settings do not narrow it, and its provider's failure is its own.
func (r *Reader) Search(ctx context.Context, g access.Grant, req SearchRequest) (SearchResult, error) {
	start := r.o.Now()
	if len(req.Include) == 0 {
		req.Include = []string{IncludeMemory}
	}
	if err := checkSearch(req); err != nil {
		return SearchResult{}, err
	}
	at, err := searched(g, req)
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{
		Hits:     []memoryd.Hit{},
		Degraded: []memoryd.Degraded{},
		Notes:    notes(g.Notes(), at.notes),
	}
	if q, ok := at.query(g, r.words(req.Query, req.Context), req.Include); ok {
		r.narrow(&q, req)
		found, err := r.o.Provider.Search(ctx, q)
		if err != nil {
			return SearchResult{}, fmt.Errorf("recall: search: %w", err)
		}
		out.Hits = permitted(q, found.Hits)
		out.Degraded = append(out.Degraded, found.Degraded...)
	}
	r.uses.note(g, "", r.o.Now(), out.Hits)
	out.TookMS = millis(r.o.Now().Sub(start))
	return out, nil
}

func checkSearch(req SearchRequest) error {
	return first(
		checkTexts(req.Query, req.Context),
		checkNumber("limit", &req.Limit, 0, MaxHits),
		checkWords("types", req.Types, memoryd.Types),
		checkWords("forms", req.Forms, memoryd.Forms),
		checkWords("statuses", req.Statuses, memoryd.Statuses),
		checkTrust("min_trust", req.MinTrust),
		checkScore("min_score", req.MinScore),
		checkInclude(req.Include),
	)
}

func checkInclude(include []string) error {
	return checkWords("include", include, []string{IncludeMemory, IncludeTurn})
}

// narrow puts the request's filters into the query.
func (r *Reader) narrow(q *memoryd.Query, req SearchRequest) {
	q.Types, q.Forms, q.Statuses = req.Types, req.Forms, req.Statuses
	q.MinTrust, q.Labels = req.MinTrust, req.Labels
	q.MinScore = r.o.Floor
	if req.MinScore != nil {
		q.MinScore = *req.MinScore
	}
	q.MinTurn = q.MinScore
	q.Limit = r.o.TopK
	if req.Limit > 0 {
		q.Limit = req.Limit
	}
	q.Now = r.o.Now()
}

// words is what is searched for: the message, and the beginning of the context that was given with it.
func (r *Reader) words(query, more string) string {
	if more = clip(more, r.o.QueryContext); more == "" {
		return query
	}
	return query + "\n" + more
}

// notes joins lists of notes, each note once; it is never nil.
func notes(lists ...[]string) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, list := range lists {
		for _, n := range list {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
