package recall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

// asking answers nothing and remembers what it was asked. An arm that came too late may still ask beside the next.
type asking struct {
	mu      sync.Mutex
	queries []memoryd.Query
}

func (a *asking) Search(_ context.Context, q memoryd.Query) (memoryd.Found, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queries = append(a.queries, q)
	return memoryd.Found{}, nil
}

func scopesOf(s memoryd.Scopes) string {
	var out []string
	for _, x := range s.Exact {
		out = append(out, string(x))
	}
	slices.Sort(out)
	if s.Groups {
		out = append(out, "group:*")
	}
	if s.Agents {
		out = append(out, "agent:*")
	}
	return strings.Join(out, " ")
}

func TestWhereAContextLooks(t *testing.T) {
	yes, no := true, false
	grouped := memoryd.Session{Tenant: "default", ID: "s", User: "amy", Group: "team", State: "open"}
	own := memoryd.Session{Tenant: "default", ID: "s", User: "amy", State: "open"}
	quiets := memoryd.Session{Tenant: "default", ID: "s", User: "amy", Agent: "quiet", State: "open"}
	fail := func(context.Context) error { return errors.New("down") }
	for name, c := range map[string]struct {
		ask       access.Ask
		req       ContextRequest
		session   memoryd.Session
		before    func(context.Context) error
		memories  string // scopes; "-" when nothing was asked
		turns     string // where it differs
		user      string
		sensitive bool // may be shown
		notes     []string
	}{
		"nothing named":      {memories: "dm global", user: "default", sensitive: true},
		"an unknown agent":   {ask: access.Ask{Agent: "new"}, memories: "-", notes: []string{"agent_unknown", "long_term_off"}},
		"switched on":        {ask: access.Ask{Agent: "new"}, req: ContextRequest{LongTerm: &yes}, memories: "agent:new dm global", user: "default", sensitive: true, notes: []string{"agent_unknown"}},
		"switched off":       {req: ContextRequest{LongTerm: &no}, memories: "-", notes: []string{"long_term_off"}},
		"off by its setting": {ask: access.Ask{Agent: "quiet"}, memories: "-", notes: []string{"long_term_off"}},
		"rights hold":        {ask: access.Ask{Agent: "quiet"}, req: ContextRequest{LongTerm: &yes}, memories: "agent:quiet global", user: "default", sensitive: true},
		"no right at all":    {ask: access.Ask{Agent: "closed"}, memories: "agent:closed", user: "default", sensitive: true},
		"own turns":          {ask: access.Ask{Agent: "writer"}, memories: "global", turns: "agent:writer global", user: "default", sensitive: true},
		"a group":            {req: ContextRequest{Group: "team"}, memories: "global group:team", user: "default"},
		"a group and dm":     {req: ContextRequest{Group: "team", DM: &yes}, memories: "dm global group:team", user: "default"},
		"no dm":              {req: ContextRequest{DM: &no}, memories: "global", user: "default", sensitive: true},
		"a group out of reach": {ask: access.Ask{Agent: "quiet"}, req: ContextRequest{Group: "team", LongTerm: &yes}, memories: "agent:quiet global",
			user: "default", notes: []string{"narrowed"}},
		"the session's group":  {req: ContextRequest{Session: "s"}, session: grouped, memories: "global group:team", user: "amy"},
		"the same group named": {req: ContextRequest{Session: "s", Group: "team"}, session: grouped, memories: "global group:team", user: "amy"},
		"another user of it":   {ask: access.Ask{User: "bob"}, req: ContextRequest{Session: "s"}, session: grouped, memories: "global group:team", user: "bob"},
		"the session's user":   {req: ContextRequest{Session: "s"}, session: own, memories: "dm global", user: "amy", sensitive: true},
		"a child's session": {ask: access.Ask{Agent: "quiet"}, req: ContextRequest{Session: "agent:s", LongTerm: &yes}, session: quiets,
			memories: "agent:quiet global", user: "amy", sensitive: true},
		"no such session":      {req: ContextRequest{Session: "new"}, session: own, memories: "dm global", user: "default", sensitive: true},
		"personal data asked":  {req: ContextRequest{Session: "s", FilterSensitive: &no}, session: grouped, memories: "global group:team", user: "amy", sensitive: true},
		"personal data of one": {req: ContextRequest{FilterSensitive: &yes}, memories: "dm global", user: "default"},
		"no head":              {ask: access.Ask{User: "amy"}, req: ContextRequest{Session: "s"}, before: fail, memories: "global", user: "amy"},
		"no head, dm named":    {ask: access.Ask{User: "amy"}, req: ContextRequest{Session: "s", DM: &yes}, before: fail, memories: "dm global", user: "amy"},
		"no head, no user":     {req: ContextRequest{Session: "s"}, before: fail, memories: "-"},
		"an agent's settings":  {ask: access.Ask{Agent: "set"}, memories: "agent:set dm global", user: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &asking{}
			r := reader(t, holding{session: c.session, before: c.before}, p, nil)
			c.req.Query = "x"
			out, err := r.Context(t.Context(), grantOf(t, c.ask), c.req)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out.Notes, c.notes) {
				t.Errorf("notes %q, want %q", out.Notes, c.notes)
			}
			if c.memories == "-" {
				if len(p.queries) > 0 {
					t.Errorf("asked %+v", p.queries)
				}
				return
			}
			if len(p.queries) != 1 {
				t.Fatalf("%d queries", len(p.queries))
			}
			q := p.queries[0]
			if c.turns == "" {
				c.turns = c.memories
			}
			if got := scopesOf(q.Scopes); got != c.memories {
				t.Errorf("looks in %q, want %q", got, c.memories)
			}
			if got := scopesOf(q.TurnScopes); got != c.turns && q.Memories {
				t.Errorf("turns in %q, want %q", got, c.turns)
			}
			if q.Owner != (memoryd.Owner{Tenant: "default", User: c.user}) || q.NotSensitive == c.sensitive {
				t.Errorf("owner %+v, not sensitive %v", q.Owner, q.NotSensitive)
			}
			if want := strings.TrimPrefix(c.req.Session, "agent:"); q.NotSession != want {
				t.Errorf("leaves out session %q", q.NotSession)
			}
		})
	}
}

func TestSettingsOfAnAgent(t *testing.T) {
	p := &asking{}
	s := amys(t, nil)
	s.session.Agent = "set"
	r := reader(t, s, p, func(o *Options) { o.MessagesPerRound = 1 })
	g := grantOf(t, access.Ask{Agent: "set"})
	out, err := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s", Context: strings.Repeat("👨‍👩‍👧‍👦", 40)})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("%v %+v", err, out.Messages)
	}
	q := p.queries[0]
	if q.MinTrust != memoryd.Medium || !q.NotSensitive || q.Preferences != 6 || q.PerScope != 10 || q.MinScore != 0.3 || q.TurnMax != 100 {
		t.Errorf("query %+v", q)
	}
	if want := "x\n" + strings.Repeat("👨‍👩‍👧‍👦", 28); q.Text != want {
		t.Errorf("searches for %q", q.Text)
	}
	two := 2
	out, err = r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s", Rounds: &two, MinTrust: memoryd.High, Include: []string{"memory"}})
	if err != nil || len(out.Messages) != 1 || out.Messages[0].Text != "three" {
		t.Fatalf("%v %+v", err, out.Messages)
	}
	if q := p.queries[1]; q.MinTrust != memoryd.High || q.Turns {
		t.Errorf("query %+v", q)
	}
}

func TestRoundsAndTokensOfNothing(t *testing.T) {
	p := &asking{}
	r := reader(t, amys(t, nil), p, nil)
	zero := 0
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s", Rounds: &zero, MemoryTokens: &zero})
	if err != nil || len(out.Messages) != 0 || len(out.Degraded) != 0 || len(out.Notes) != 0 || len(p.queries) != 0 {
		t.Errorf("%v %+v %+v", err, out, p.queries)
	}
}

func TestZeroIsNone(t *testing.T) {
	p := &asking{}
	r := reader(t, holding{}, p, func(o *Options) { o.TurnItems, o.Preferences, o.QueryContext, o.Floor = 0, 0, 0, 0 })
	if _, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Context: "y", Include: []string{"turn"}}); err != nil || len(p.queries) > 0 {
		t.Errorf("%v %+v", err, p.queries)
	}
	if _, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Context: "y"}); err != nil {
		t.Fatal(err)
	}
	if q := p.queries[0]; q.Turns || q.Preferences != 0 || q.MinScore != 0 || q.Text != "x" {
		t.Errorf("query %+v", q)
	}
}

// TestForeignHitsAreDropped distrusts the provider.
func TestForeignHitsAreDropped(t *testing.T) {
	mine := fact("mine", memoryd.Global, memoryd.High, "mine")
	foreign := []memoryd.Hit{mine, mine, mine}
	for i, change := range []func(*memoryd.Memory){
		func(m *memoryd.Memory) { m.Tenant = "other" },
		func(m *memoryd.Memory) { m.User = "bob" },
		func(m *memoryd.Memory) { m.Scope = memoryd.GroupScope("g") },
	} {
		m := *mine.Memory
		change(&m)
		foreign[i].Memory = &m
	}
	own, ours := turn("s", 1, 0.9, "own session"), turn("s2", 1, 0.9, "another session")
	bobs := *ours.Turn
	bobs.User = "bob"
	p := searching(func(context.Context, memoryd.Query) (memoryd.Found, error) {
		return memoryd.Found{
			Hits:        append(slices.Clone(foreign), own, ours, memoryd.Hit{Score: 1, Turn: &bobs}),
			Preferences: append(slices.Clone(foreign), mine),
		}, nil
	})
	r := reader(t, holding{}, p, nil)
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s"})
	if err != nil || !slices.Equal(idsOf(out.UserProfile), []string{"mine"}) || len(out.Group.Items) > 0 || len(out.Turns.Items) != 1 {
		t.Errorf("%v %+v", err, out)
	}
	got, err := r.Search(t.Context(), grantOf(t, access.Ask{}), SearchRequest{Query: "x"})
	if err != nil || len(got.Hits) != 0 {
		t.Errorf("%v %+v", err, got.Hits)
	}
}

// TestLowTrustCrowdsNothingOut has ten low-trust memories take the whole share of global.
func TestLowTrustCrowdsNothingOut(t *testing.T) {
	good, agents := fact("good", memoryd.Global, memoryd.High, "good"), fact("a", memoryd.AgentScope("new"), memoryd.Low, "noted")
	p := searching(func(_ context.Context, q memoryd.Query) (memoryd.Found, error) {
		if q.MinTrust == memoryd.Medium {
			if q.Scopes.Has(memoryd.AgentScope("new")) || q.Turns {
				t.Errorf("asks again for %+v", q)
			}
			return memoryd.Found{Hits: []memoryd.Hit{good}}, nil
		}
		var found memoryd.Found
		for range q.PerScope {
			found.Hits = append(found.Hits, fact("bad", memoryd.Global, memoryd.Low, "bad"))
		}
		found.Hits = append(found.Hits, agents)
		return found, nil
	})
	r := reader(t, holding{}, p, nil)
	yes := true
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{Agent: "new"}), ContextRequest{Query: "x", LongTerm: &yes})
	if err != nil || !slices.Equal(idsOf(out.UserProfile), []string{"good"}) || !slices.Equal(idsOf(out.Agent), []string{"a"}) {
		t.Errorf("%v %+v", err, out)
	}
}
