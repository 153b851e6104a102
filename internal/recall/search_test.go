package recall

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

func TestWhereASearchLooks(t *testing.T) {
	yes := true
	both := []string{"memory", "turn"}
	turns := []string{"turn"}
	for name, c := range map[string]struct {
		agent    string
		req      SearchRequest
		memories string
		turns    string // where turns are included and it differs
		sides    bool
		notes    []string
		slug     string // of the error
	}{
		"unnamed":               {memories: "dm global"},
		"unnamed with a group":  {req: SearchRequest{Group: "t"}, memories: "global group:t"},
		"unnamed, group and dm": {req: SearchRequest{Group: "t", DM: &yes}, memories: "dm global group:t"},
		"unnamed by an agent":   {agent: "quiet", memories: "agent:quiet global"},
		"all":                   {req: SearchRequest{Scope: "all"}, memories: "dm global group:* agent:*"},
		"all of an agent's":     {agent: "quiet", req: SearchRequest{Scope: "all"}, memories: "agent:quiet global"},
		"one scope":             {req: SearchRequest{Scope: "group:t"}, memories: "global group:t", sides: true},
		"global alone":          {req: SearchRequest{Scope: "global"}, memories: "global"},
		"own":                   {agent: "quiet", req: SearchRequest{Scope: "agent:self"}, memories: "agent:quiet global", sides: true},
		"nobody's own":          {req: SearchRequest{Scope: "agent:self"}, slug: "bad-scope"},
		"narrowed":              {agent: "blind", req: SearchRequest{Scope: "dm"}, memories: "dm", notes: []string{"narrowed"}},
		"without the right":     {agent: "quiet", req: SearchRequest{Scope: "group:t"}, slug: "scope-denied"},
		"global without right":  {agent: "blind", req: SearchRequest{Scope: "global"}, slug: "scope-denied"},
		"across":                {req: SearchRequest{Scope: "cross:t"}, memories: "global group:t", sides: true},
		"across, one right":     {agent: "quiet", req: SearchRequest{Scope: "cross:t"}, slug: "scope-denied"},
		"across nothing":        {req: SearchRequest{Scope: "cross:"}, slug: "bad-scope"},
		"a wildcard":            {req: SearchRequest{Scope: "group:*"}, slug: "bad-scope"},
		"own turns":             {agent: "closed", req: SearchRequest{Scope: "agent:self", Include: turns}, turns: "agent:closed", notes: []string{"narrowed"}},
		"own memories":          {agent: "closed", req: SearchRequest{Scope: "agent:self"}, slug: "scope-denied"},
		"own, of both":          {agent: "closed", req: SearchRequest{Scope: "agent:self", Include: both}, turns: "agent:closed", notes: []string{"narrowed"}},
		"both":                  {agent: "writer", req: SearchRequest{Include: both}, memories: "global", turns: "agent:writer global"},
		"nothing readable":      {agent: "closed", memories: ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &asking{}
			r := reader(t, holding{}, p, nil)
			c.req.Query = "x"
			out, err := r.Search(t.Context(), grantOf(t, access.Ask{Agent: c.agent}), c.req)
			if c.slug != "" {
				var e *memoryd.Error
				if !errors.As(err, &e) || e.Slug != c.slug {
					t.Errorf("got %v, want %s", err, c.slug)
				}
				return
			}
			if err != nil || !slices.Equal(out.Notes, c.notes) {
				t.Fatalf("%v, notes %q, want %q", err, out.Notes, c.notes)
			}
			if c.memories == "" && c.turns == "" {
				if len(p.queries) > 0 || out.Hits == nil {
					t.Errorf("asked %+v", p.queries)
				}
				return
			}
			q := p.queries[0]
			memories, turns := scopesOf(q.Scopes), scopesOf(q.TurnScopes)
			if !q.Memories {
				memories, turns = "", scopesOf(q.Scopes)
			}
			if memories != c.memories || q.Turns && turns != c.turns || q.BothSides != c.sides {
				t.Errorf("looks in %q and for turns in %q, both sides %v", memories, turns, q.BothSides)
			}
		})
	}
}

func TestSearchQuery(t *testing.T) {
	p := &asking{}
	r := reader(t, holding{}, p, nil)
	zero := 0.0
	if _, err := r.Search(t.Context(), grantOf(t, access.Ask{User: "amy"}), SearchRequest{Query: "q"}); err != nil {
		t.Fatal(err)
	}
	if q := p.queries[0]; q.Limit != 10 || q.MinScore != 0.3 || q.Turns || !q.Memories || q.Owner.User != "amy" || q.Now.IsZero() {
		t.Errorf("query %+v", q)
	}
	req := SearchRequest{Query: "q", Limit: 100, MinScore: &zero, Context: "more", Types: []memoryd.Type{memoryd.Fact}, Include: []string{"turn", "memory"},
		Statuses: []memoryd.Status{memoryd.Archived}, MinTrust: memoryd.High, Labels: map[string]string{"a": "b"}, Forms: []memoryd.Form{memoryd.FormPref}}
	if _, err := r.Search(t.Context(), grantOf(t, access.Ask{}), req); err != nil {
		t.Fatal(err)
	}
	q := p.queries[1]
	if q.Text != "q\nmore" || q.Limit != 100 || q.MinScore != 0 || q.MinTurn != 0 || !q.Turns || q.MinTrust != memoryd.High ||
		len(q.Types)+len(q.Statuses)+len(q.Forms)+len(q.Labels) != 4 {
		t.Errorf("query %+v", q)
	}
}

func TestBadSearches(t *testing.T) {
	big, nan := 1.1, math.NaN()
	r := reader(t, holding{}, &asking{}, nil)
	for field, req := range map[string]SearchRequest{
		"query":     {Query: strings.Repeat("x", 8193)},
		"limit":     {Query: "x", Limit: 101},
		"types":     {Query: "x", Types: []memoryd.Type{"tale"}},
		"forms":     {Query: "x", Forms: []memoryd.Form{"verse"}},
		"statuses":  {Query: "x", Statuses: []memoryd.Status{"erased"}},
		"min_trust": {Query: "x", MinTrust: "none"},
		"min_score": {Query: "x", MinScore: &big},
		"include":   {Query: "x", Include: []string{"skills"}},
		"group":     {Query: "x", Group: "a b"},
		"scope":     {Query: "x", Scope: "everything"},
	} {
		_, err := r.Search(t.Context(), grantOf(t, access.Ask{}), req)
		var e *memoryd.Error
		if !errors.As(err, &e) || e.Code != memoryd.Invalid || e.Fields[0].Path != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if _, err := r.Search(t.Context(), grantOf(t, access.Ask{}), SearchRequest{Query: "x", MinScore: &nan}); err == nil {
		t.Error("NaN is a score")
	}
}
