package access_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"memoryd"
	"memoryd/internal/access"

	"pgregory.net/rapid"
)

func TestRights(t *testing.T) {
	every := []memoryd.Scope{"global", "dm", "group:a", "group:b", "agent:w", "agent:other"}
	for name, c := range map[string]struct {
		list     []string
		memories []memoryd.Scope
		sessions []memoryd.Scope // nil: as memories
	}{
		"absent":       {nil, []memoryd.Scope{"agent:w"}, nil},
		"empty":        {[]string{}, []memoryd.Scope{"agent:w"}, nil},
		"none":         {[]string{"none"}, nil, []memoryd.Scope{"agent:w"}},
		"global":       {[]string{"global"}, []memoryd.Scope{"global", "agent:w"}, nil},
		"none, global": {[]string{"none", "global"}, []memoryd.Scope{"global"}, []memoryd.Scope{"global", "agent:w"}},
		"self":         {[]string{"agent:self"}, []memoryd.Scope{"agent:w"}, nil},
		"none, self":   {[]string{"none", "agent:self"}, []memoryd.Scope{"agent:w"}, nil},
		"one group":    {[]string{"group:a", "dm"}, []memoryd.Scope{"dm", "group:a", "agent:w"}, nil},
		"all groups":   {[]string{"group:*"}, []memoryd.Scope{"group:a", "group:b", "agent:w"}, nil},
		"all agents":   {[]string{"agent:*"}, []memoryd.Scope{"agent:w", "agent:other"}, nil},
		"one other":    {[]string{"agent:other"}, []memoryd.Scope{"agent:w", "agent:other"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, access.Options{Loopback: true, Named: map[string]access.AgentConfig{
				"w": {Read: c.list}, "v": {Write: c.list},
			}})
			if c.sessions == nil {
				c.sessions = c.memories
			}
			g := w.grant(t, "", access.Ask{Agent: "w"})
			if got := held(g.Reads(), every); !slices.Equal(got, c.memories) {
				t.Errorf("reads %v, want %v", got, c.memories)
			}
			if got := held(g.SessionReads(), every); !slices.Equal(got, c.sessions) {
				t.Errorf("reads sessions %v, want %v", got, c.sessions)
			}
			v := w.grant(t, "", access.Ask{Agent: "v"})
			swap := strings.NewReplacer("agent:w", "agent:v")
			for i, s := range every {
				x := memoryd.Scope(swap.Replace(string(s)))
				if v.Writes().Has(x) != slices.Contains(c.memories, every[i]) || v.SessionWrites().Has(x) != slices.Contains(c.sessions, every[i]) {
					t.Errorf("writes %v: %v, sessions %v", x, v.Writes().Has(x), v.SessionWrites().Has(x))
				}
			}
		})
	}
}

func held(s memoryd.Scopes, every []memoryd.Scope) (out []memoryd.Scope) {
	for _, x := range every {
		if s.Has(x) {
			out = append(out, x)
		}
	}
	return out
}

func TestBadConfigNamesItsPath(t *testing.T) {
	named := func(c access.AgentConfig) access.Options {
		return access.Options{Named: map[string]access.AgentConfig{"writer": c}}
	}
	for path, o := range map[string]access.Options{
		"agents.named.writer.read[0]:":            named(access.AgentConfig{Read: []string{"*"}}),
		"agents.named.writer.read[1]:":            named(access.AgentConfig{Read: []string{"global", "all"}}),
		"agents.named.writer.write[0]:":           named(access.AgentConfig{Write: []string{"group:"}}),
		"agents.named.writer.write[2]:":           named(access.AgentConfig{Write: []string{"dm", "none", "group:a*"}}),
		"agents.named.writer.allowed_types[1]:":   named(access.AgentConfig{AllowedTypes: []memoryd.Type{"fact", "opinion"}}),
		"agents.named.writer.max_trust:":          named(access.AgentConfig{MaxTrust: "top"}),
		"agents.named.writer.min_trust:":          named(access.AgentConfig{MinTrust: "none"}),
		"agents.named.writer.context_rounds:":     named(access.AgentConfig{ContextRounds: ptr(-1)}),
		"agents.named.writer.window_tokens:":      named(access.AgentConfig{WindowTokens: ptr(-1)}),
		"agents.named.writer.memory_tokens:":      named(access.AgentConfig{MemoryTokens: ptr(-1)}),
		"writer.context_rounds: want 0 to 1000":   named(access.AgentConfig{ContextRounds: ptr(1001)}),
		"writer.window_tokens: want 0 to 1000000": named(access.AgentConfig{WindowTokens: ptr(1_000_001)}),
		"writer.memory_tokens: want 0 to 100000":  named(access.AgentConfig{MemoryTokens: ptr(100_001)}),
		"agents.named.writer.filter_sensitive:":   named(access.AgentConfig{FilterSensitive: "maybe"}),
		"agents.policy.read[0]:":                  {Policy: access.AgentConfig{Read: []string{"cross:a"}}},
		"agents.policy.operator:":                 {Policy: access.AgentConfig{Operator: ptr(true)}},
		"agents.default.max_trust:":               {Default: access.AgentConfig{MaxTrust: "x"}},
		"agents.default:":                         {Default: access.AgentConfig{Write: []string{"global"}}},
		"agents.named.bad\x00name:":               {Named: map[string]access.AgentConfig{"bad\x00name": {}}},
		"auth.default_tenant:":                    {DefaultTenant: ".."},
	} {
		_, err := access.New(o)
		if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), path) {
			t.Errorf("%s %v", path, err)
		}
	}
}

func TestUnknownAgents(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true, Default: access.AgentConfig{ContextRounds: ptr(4)}})
	open := w.grant(t, "", access.Ask{Agent: "stranger"})
	if !slices.Equal(open.Notes(), []string{"agent_unknown"}) || !open.Operator() {
		t.Errorf("notes %v, operator %v", open.Notes(), open.Operator())
	}
	if !open.Writes().Has(memoryd.Global) || open.MaxTrust() != memoryd.High || !open.AllowsType(memoryd.Fact) {
		t.Error("an unknown name took rights from the key")
	}
	if s := open.Settings(); s.LongTerm || s.ContextRounds != 4 {
		t.Errorf("settings %+v", s)
	}
	if g := w.grant(t, "", access.Ask{}); len(g.Notes()) > 0 || !g.Settings().LongTerm {
		t.Errorf("without an agent: %v, %+v", g.Notes(), g.Settings())
	}

	secret, _ := w.key(t, access.NewKey{Kind: "agent", Agent: "stranger"})
	g := w.grant(t, secret, access.Ask{})
	if !g.Reads().Has(memoryd.Global) || g.Reads().Has(memoryd.DM) || g.Reads().Has("group:a") {
		t.Errorf("the policy reads %+v", g.Reads())
	}
	if !g.Writes().Empty() || g.AllowsType(memoryd.TaskLog) || g.MaxTrust() != memoryd.Medium || g.Operator() {
		t.Errorf("the policy grants %+v", g)
	}
	if !g.SessionReads().Has("agent:stranger") || !g.SessionWrites().Has("agent:stranger") || g.SessionWrites().Has(memoryd.DM) {
		t.Error("its own sessions")
	}
}

func TestKnownAgentNarrowsAKey(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true,
		Default: access.AgentConfig{MaxTrust: memoryd.Low, WindowTokens: ptr(900), FilterSensitive: "true", LongTerm: ptr(true)},
		Named: map[string]access.AgentConfig{
			"w": {Read: []string{"global"}, AllowedTypes: []memoryd.Type{"procedure"}, MaxTrust: memoryd.High, FilterSensitive: "auto", MinTrust: memoryd.Medium},
			"v": {AllowedTypes: []memoryd.Type{}},
			"u": {},
		}})
	g := w.grant(t, "", access.Ask{Agent: "w"})
	if g.Writes().Has(memoryd.Global) || g.Operator() || g.MaxTrust() != memoryd.High || len(g.Notes()) > 0 {
		t.Errorf("%+v", g)
	}
	if !g.AllowsType("procedure") || g.AllowsType("fact") {
		t.Error("types")
	}
	if s := g.Settings(); s.WindowTokens != 900 || s.FilterSensitive != nil || s.MinTrust != memoryd.Medium || !s.LongTerm || s.ContextRounds != 10 {
		t.Errorf("settings %+v", s)
	}
	v := w.grant(t, "", access.Ask{Agent: "v"})
	if v.AllowsType("fact") || v.MaxTrust() != memoryd.Low || v.Settings().FilterSensitive == nil {
		t.Errorf("%+v", v)
	}
	if !w.grant(t, "", access.Ask{Agent: "u"}).AllowsType("fact") {
		t.Error("absent types are all types")
	}
}

func TestStoredAgents(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true, Default: access.AgentConfig{WindowTokens: ptr(900)},
		Named: map[string]access.AgentConfig{"both": {Read: []string{"dm"}}}})
	put := func(id string, settings []byte) {
		t.Helper()
		if err := w.store.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Agents.Put("default", id, settings) }); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := json.Marshal(access.AgentConfig{Read: []string{"global"}, AllowedTypes: []memoryd.Type{}, Operator: ptr(true)})
	if err != nil {
		t.Fatal(err)
	}
	put("stored", stored)
	put("both", stored)
	put("broken", []byte(`{"read":["*"]}`))

	g := w.grant(t, "", access.Ask{Agent: "stored"})
	if !g.Reads().Has("global") || g.Writes().Has("global") || g.AllowsType("fact") || g.Settings().WindowTokens != 900 {
		t.Errorf("%+v", g)
	}
	if g.Operator() {
		t.Error("a stored agent is an operator")
	}
	if g := w.grant(t, "", access.Ask{Agent: "both"}); g.Reads().Has("global") || !g.Reads().Has("dm") {
		t.Error("the file does not win")
	}
	id, _ := w.Authenticate(t.Context(), "")
	if _, err := w.Grant(t.Context(), id, access.Ask{Agent: "broken"}); memoryd.CodeOf(err) != memoryd.Internal {
		t.Errorf("a broken agent: %v", err)
	}
	w.key(t, access.NewKey{Kind: "tenant", Tenant: "other"})
	secret, _ := w.key(t, access.NewKey{Kind: "operator"})
	if g := w.grant(t, secret, access.Ask{Tenant: "other", Agent: "stored"}); !slices.Equal(g.Notes(), []string{"agent_unknown"}) {
		t.Error("another tenant's agent is known")
	}
}

// words of the grammar, and names that look alike.
var (
	names    = rapid.SampledFrom([]string{"", "a", "b", "A", "self", "*", "amy", "bob", "t1", "t2", "default", "none", "x:y"})
	patterns = rapid.SampledFrom([]string{"global", "dm", "group:a", "group:b", "group:*", "agent:a", "agent:b", "agent:*", "agent:self", "none"})
	probes   = []memoryd.Scope{"global", "dm", "group:a", "group:b", "group:*", "agent:a", "agent:b", "agent:self", "agent:*", "agent:amy", "agent:default", "all", ""}
)

// allowed reads the grammar once more, one scope at a time.
func allowed(list []string, self string, s memoryd.Scope) bool {
	own := memoryd.AgentScope(self)
	if s == own && !slices.Contains(list, "none") {
		return true
	}
	return slices.ContainsFunc(list, func(p string) bool {
		switch p {
		case "group:*", "agent:*":
			return strings.HasPrefix(string(s), strings.TrimSuffix(p, "*"))
		case "agent:self":
			return s == own
		}
		return p == string(s) && p != "none"
	})
}

func TestAnAgentKeyNeverWidens(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	for _, id := range []string{"t1", "t2"} {
		w.key(t, access.NewKey{Kind: "tenant", Tenant: id})
	}
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(patterns, 0, 4)
		named := map[string]access.AgentConfig{}
		for _, name := range []string{"a", "b"} {
			if rapid.Bool().Draw(rt, "named "+name) {
				named[name] = access.AgentConfig{
					Read: list.Draw(rt, "read"), Write: list.Draw(rt, "write"),
					AllowedTypes: rapid.SliceOfNDistinct(rapid.SampledFrom(memoryd.Types), 0, 2, rapid.ID).Draw(rt, "types"),
					MaxTrust:     rapid.SampledFrom([]memoryd.Trust{"", "high", "medium", "low"}).Draw(rt, "cap"),
					Operator:     ptr(rapid.Bool().Draw(rt, "operator")),
				}
			}
		}
		a, err := access.New(access.Options{Store: w.store, Named: named, Loopback: true})
		if err != nil {
			rt.Fatal(err)
		}
		bound := access.NewKey{Kind: "agent", Tenant: "t1", Agent: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "agent"),
			User: rapid.SampledFrom([]string{"", "amy"}).Draw(rt, "user")}
		secret, _, err := a.CreateKey(t.Context(), a.Local(), bound)
		if err != nil {
			rt.Fatal(err)
		}
		id, err := a.Authenticate(t.Context(), secret)
		if err != nil {
			rt.Fatal(err)
		}
		ask := access.Ask{Tenant: names.Draw(rt, "ask tenant"), User: names.Draw(rt, "ask user"), Agent: names.Draw(rt, "ask agent")}
		g, err := a.Grant(t.Context(), id, ask)
		if err != nil {
			return
		}
		if g.Tenant() != "t1" || g.Agent() != bound.Agent || bound.User != "" && g.User() != "amy" {
			rt.Fatalf("%+v became %s/%s/%s", ask, g.Tenant(), g.User(), g.Agent())
		}
		c, ok := named[bound.Agent]
		if !ok {
			c = access.AgentConfig{Read: []string{"global"}, Write: []string{"none"}, AllowedTypes: []memoryd.Type{}}
		}
		for _, s := range probes {
			if got, want := g.Reads().Has(s), allowed(c.Read, bound.Agent, s); got != want {
				rt.Fatalf("reads %q: %v, the lists say %v (%v)", s, got, want, c.Read)
			}
			if got, want := g.Writes().Has(s), allowed(c.Write, bound.Agent, s); got != want {
				rt.Fatalf("writes %q: %v, the lists say %v (%v)", s, got, want, c.Write)
			}
		}
		for _, typ := range memoryd.Types {
			if got, want := g.AllowsType(typ), c.AllowedTypes == nil || slices.Contains(c.AllowedTypes, typ); got != want {
				rt.Fatalf("type %s: %v", typ, got)
			}
		}
		want := c.MaxTrust
		if want == "" {
			want = memoryd.Medium
		}
		if g.MaxTrust() != want || g.Operator() != (c.Operator != nil && *c.Operator) {
			rt.Fatalf("trust %s, operator %v", g.MaxTrust(), g.Operator())
		}
		// The same agent under the tenant's key has no more than under its own.
		tenant, err := a.Grant(t.Context(), tenantIdentity(rt, t, a), access.Ask{Agent: bound.Agent})
		if err != nil {
			rt.Fatal(err)
		}
		if !ok {
			return
		}
		for _, s := range probes {
			if tenant.Writes().Has(s) && !g.Writes().Has(s) || tenant.Reads().Has(s) && !g.Reads().Has(s) {
				rt.Fatalf("%q under the tenant's key", s)
			}
		}
		if tenant.Operator() {
			rt.Fatal("a tenant's key became an operator")
		}
	})
}

func tenantIdentity(rt *rapid.T, t *testing.T, a *access.Access) access.Identity {
	secret, _, err := a.CreateKey(t.Context(), a.Local(), access.NewKey{Kind: "tenant", Tenant: "t1"})
	if err != nil {
		rt.Fatal(err)
	}
	id, err := a.Authenticate(t.Context(), secret)
	if err != nil {
		rt.Fatal(err)
	}
	return id
}
