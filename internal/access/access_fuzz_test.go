package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memoryd"
)

// granted is the grammar of rights told a second time: whether the list lets an agent reach a scope.
func granted(list []string, agent string, x memoryd.Scope) bool {
	own := memoryd.AgentScope(agent)
	for _, pattern := range list {
		switch pattern {
		case "none":
		case "group:*":
			if strings.HasPrefix(string(x), "group:") {
				return true
			}
		case "agent:*":
			if strings.HasPrefix(string(x), "agent:") {
				return true
			}
		case "agent:self":
			if x == own {
				return true
			}
		default:
			if string(x) == pattern {
				return true
			}
		}
	}
	return x == own && !slices.Contains(list, "none")
}

func badPattern(text string) bool {
	if text == "none" || text == "group:*" || text == "agent:*" || text == "agent:self" {
		return false
	}
	_, err := memoryd.ParseScope("", text)
	return err != nil
}

func patterns(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// FuzzRights: an agent reaches what its patterns say and nothing else, whoever holds the key; a list that cannot be
// read is refused with the place of its first bad pattern.
func FuzzRights(f *testing.F) {
	for _, s := range [][4]string{
		{"global", "none", "w", "global"},
		{"", "", "w", "agent:w"},
		{"none", "none", "w", "agent:w"},
		{"none,agent:self", "dm", "w", "agent:w"},
		{"group:*", "group:a", "w", "group:b"},
		{"agent:*", "agent:x", "w", "agent:x"},
		{"agent:self", "agent:w", "v", "agent:w"},
		{"agent:self", "agent:*", "self", "agent:self"},
		{"*", "all", "w", "global"},
		{"group:a*", "group:**", "w", "group:ab"},
		{"global,group:", "cross:a", "w", "group:a"},
		{"Global,NONE", "none ", "*", "agent:*"},
		{"group:a,group:a/../b", "global,,dm", "group:a", "agent:group:a"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, read, write, name, probe string) {
		c := AgentConfig{Read: patterns(read), Write: patterns(write)}
		a, err := New(Options{Named: map[string]AgentConfig{name: c}, Loopback: true})
		if memoryd.CheckID("name", name) != nil {
			if err == nil {
				t.Fatalf("an agent %q", name)
			}
			return
		}
		bad := ""
		for _, l := range []struct {
			key  string
			list []string
		}{{"read", c.Read}, {"write", c.Write}} {
			if i := slices.IndexFunc(l.list, badPattern); i >= 0 && bad == "" {
				bad = "agents.named." + name + "." + l.key + "[" + itoa(i) + "]"
			}
		}
		if bad != "" || err != nil {
			e, ok := err.(*memoryd.Error)
			if !ok || e.Code != memoryd.Invalid || len(e.Fields) != 1 || e.Fields[0].Path != bad {
				t.Fatalf("read %q write %q: %v, want %s", read, write, err, bad)
			}
			return
		}
		x := memoryd.Scope(probe)
		for _, id := range []Identity{
			{kind: kindOperator, tenant: a.tenant}, {kind: kindTenant, tenant: a.tenant}, {kind: kindAgent, tenant: a.tenant, agent: name},
		} {
			g, err := a.Grant(context.Background(), id, Ask{Agent: name})
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range append([]memoryd.Scope{x, memoryd.Global, memoryd.DM, "group:g", "agent:other", memoryd.AgentScope(name)}, g.Reads().Exact...) {
				if got, want := g.Reads().Has(y), granted(c.Read, name, y); got != want {
					t.Errorf("a %s key reads %q: %v by %q", id.kind, y, got, read)
				}
				if got, want := g.Writes().Has(y), granted(c.Write, name, y); got != want {
					t.Errorf("a %s key writes %q: %v by %q", id.kind, y, got, write)
				}
				if own := y == memoryd.AgentScope(name); g.SessionReads().Has(y) != (own || g.Reads().Has(y)) {
					t.Errorf("a %s key reads sessions of %q: %v", id.kind, y, !own)
				}
			}
			if g.Operator() || g.Manages() || g.MaxTrust() != memoryd.Medium {
				t.Errorf("a %s key that names an agent: %+v", id.kind, g)
			}
		}
	})
}

func itoa(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}

// FuzzStoredAgent: settings that are taken grant the same after they were stored and read, and never an operator's.
func FuzzStoredAgent(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"read":null}`, `{"read":[],"write":["none"],"allowed_types":[]}`, `{"read":["global"],"operator":true}`,
		`{"READ":["group:*"],"read":["dm"]}`, `{"max_trust":"high","min_trust":"low","filter_sensitive":"auto"}`, `{"max_trust":"HIGH"}`,
		`{"context_rounds":0,"window_tokens":1000001}`, `{"context_rounds":-1}`, `{"memory_tokens":1e3}`, `{"allowed_types":["fact",""]}`, `{"read":["\ud800"]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := New(Options{Loopback: true})
		if err != nil {
			t.Fatal(err)
		}
		ag, err := a.decode(raw)
		if err != nil {
			if !reflect.DeepEqual(ag, agent{}) {
				t.Fatalf("%q is refused and grants %+v", raw, ag)
			}
			return
		}
		if ag.operator {
			t.Fatalf("%q makes an operator", raw)
		}
		if s := ag.settings; s.ContextRounds < 0 || s.ContextRounds > MaxRounds || s.WindowTokens < 0 || s.MemoryTokens > MaxMemoryTokens || s.MinTrust.Rank() == 0 || ag.maxTrust.Rank() == 0 {
			t.Fatalf("%q sets %+v", raw, s)
		}
		shown, err := storedAgent("x", raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(shown.AgentConfig)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := a.decode(again); err != nil || !reflect.DeepEqual(back, ag) {
			t.Fatalf("%q grants %+v, stored as %s %+v, %v", raw, ag, again, back, err)
		}
	})
}

var keyForm = regexp.MustCompile(`\Amrd_([0-9A-Za-z]{8})_[0-9A-Za-z]{32}\z`)

func FuzzParseKey(f *testing.F) {
	good := "mrd_4fB2xQ9a_0123456789ABCDEFGHIJabcdefghij01"
	for _, s := range []string{"", "mrd_", good, good + "0", good[:len(good)-1], strings.ToUpper(good), " " + good, good + "\n",
		strings.Replace(good, "_", "-", 1), "mrd_4fB2xQ9a00123456789ABCDEFGHIJabcdefghij01", "mrd_4fB2xQé_0123456789ABCDEFGHIJabcdefghij01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := parseKey(s)
		m := keyForm.FindStringSubmatch(s)
		if ok != (m != nil) || ok && id != m[1] || !ok && id != "" {
			t.Fatalf("%q: %q, %v", s, id, ok)
		}
		hash := sha256.Sum256([]byte(s))
		if !sameKey(s, hash[:]) || sameKey(s, nil) || sameKey(s, hash[:31]) || sameKey(s+"0", hash[:]) {
			t.Fatalf("%q is not its own key, or another's", s)
		}
	})
}

// FuzzCut: pages that follow each other are the list; a cursor that was made up reaches a later place in it or none.
func FuzzCut(f *testing.F) {
	f.Add("a b c", 1, "")
	f.Add("a b c", 2, base64.RawURLEncoding.EncodeToString([]byte("keys\nb")))
	f.Add("a b", 200, base64.RawURLEncoding.EncodeToString([]byte("agents\na")))
	f.Add("", 0, "a2V5cw")
	f.Add("x", 201, "!")
	f.Add("é 中 \xff", -1, base64.RawURLEncoding.EncodeToString([]byte("keys\n\xff")))
	f.Fuzz(func(t *testing.T, text string, limit int, cursor string) {
		all := strings.Fields(text)
		slices.Sort(all)
		all = slices.Compact(all)
		self := func(id string) string { return id }
		page, next, err := cut(Page{limit, cursor}, "keys", all, self)
		if err != nil {
			e, ok := err.(*memoryd.Error)
			if !ok || e.Code != memoryd.Invalid || len(e.Fields) != 1 || (e.Fields[0].Path == "limit") != (limit < 0 || limit > maxPage) || page != nil || next != "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if n := len(page); n > max(limit, defaultPage) || limit > 0 && n > limit {
			t.Fatalf("%d on a page of %d", n, limit)
		}
		var seen []string
		for {
			seen = append(seen, page...)
			if next == "" {
				break
			}
			if _, _, err := cut(Page{limit, next}, "agents", all, self); err == nil {
				t.Fatalf("the cursor %q is good for another list", next)
			}
			if page, next, err = cut(Page{limit, next}, "keys", all, self); err != nil || len(page) == 0 {
				t.Fatalf("%v, %v", page, err)
			}
		}
		if rest := all[len(all)-min(len(all), len(seen)):]; !slices.Equal(seen, rest) || cursor == "" && len(seen) != len(all) {
			t.Fatalf("pages hold %q of %q", seen, all)
		}
	})
}
