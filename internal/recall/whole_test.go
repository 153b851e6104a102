package recall

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/provider/builtin"
)

// TestContextFromRows goes the whole way, from rows to a rendered block.
func TestContextFromRows(t *testing.T) {
	s := open(t)
	count := cl100k(t)
	write(t, s, func(tx memoryd.Tx) error {
		style := kept("style", "amy", memoryd.Global, "weekly reports as tables, please")
		style.Type = memoryd.Preference
		var errs []error
		for i := range 200 {
			u := kept(fmt.Sprint("u", i), "amy", memoryd.Global, fmt.Sprintf("The harbour office number %d opens at nine on working days", i))
			a := kept(fmt.Sprint("a", i), "amy", memoryd.AgentScope("set"), fmt.Sprintf("The harbour gate %d was tried and it was locked", i))
			errs = append(errs, tx.Memories.Insert(u), tx.Memories.Insert(a))
		}
		return errors.Join(append(errs, tx.Memories.Insert(style),
			tx.Memories.Insert(kept("other", "amy", memoryd.GroupScope("b"), "the harbour of group b")),
			tx.Memories.Insert(kept("bobs", "bob", memoryd.Global, "bob's harbour")))...)
	})
	talked := talk(t, "u amy: the spare key of the harbour shed hangs behind the clock\na: noted")
	talked[0].Searchable, talked[1].Searchable = true, true
	converse(t, s, memoryd.Session{ID: "old", User: "amy", Created: noon.Add(-time.Hour)}, talked)
	group := talk(t, "u @ada: I rent the boat shed\na: noted, the boat shed\nu Captain: and I the boat")
	for i := range group {
		group[i].Searchable = true
	}
	group[2].User = "bob"
	converse(t, s, memoryd.Session{ID: "ours", User: "amy", Group: "b"}, group)
	converse(t, s, memoryd.Session{ID: "now", User: "amy"}, talk(t, "u: hello"))

	p := builtin.New(builtin.Options{Store: s})
	defer p.Close()
	r := reader(t, s, p, func(o *Options) { o.Count, o.LongTermTimeout = count, time.Minute })
	tokens := 1000
	ask := func(query string, want []string) Context {
		t.Helper()
		out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: query, Session: "now", MemoryTokens: &tokens})
		if err != nil || len(out.Degraded) > 0 {
			t.Fatalf("%v %+v", err, out.Degraded)
		}
		for _, text := range want {
			if !strings.Contains(out.Rendered, text) {
				t.Errorf("%q is missing in\n%s", text, out.Rendered)
			}
		}
		for _, text := range []string{"group b", "bob's", "gate", "hello"} {
			if strings.Contains(out.Rendered, text) {
				t.Errorf("%q stands in\n%s", text, out.Rendered)
			}
		}
		return out
	}
	ask("the spare key of the harbour shed", []string{"weekly reports", "2026-05-01\n- [high] amy: the spare key"})
	out := ask("when does the harbour office open?", []string{"weekly reports", "opens at nine"})
	if n := count(out.Rendered); n > 1000 || n != out.Tokens.LongTerm || out.UserProfile.Tokens > 600 {
		t.Errorf("%d tokens, said to be %d; the user's %d", n, out.Tokens.LongTerm, out.UserProfile.Tokens)
	}

	yes := true
	if out, err := r.Context(t.Context(), grantOf(t, access.Ask{User: "amy"}), ContextRequest{Query: "who rents the boat shed, Ada?", Group: "b", DM: &yes}); err != nil ||
		!strings.Contains(out.Rendered, "[high] ada: I rent the boat shed") || !strings.Contains(out.Rendered, "[medium] assistant: noted, the boat shed") ||
		!strings.Contains(out.Rendered, "[high] Captain: and I the boat") {
		t.Errorf("in a group it is not said who speaks: %v\n%s", err, out.Rendered)
	}

	found, err := r.Search(t.Context(), grantOf(t, access.Ask{User: "bob"}), SearchRequest{Query: "harbour", Scope: "all", Include: []string{"memory", "turn"}})
	if err != nil || len(found.Hits) != 2 {
		t.Errorf("%v %+v", err, found.Hits)
	}
	for _, h := range found.Hits {
		if h.Memory == nil || h.Memory.User != "bob" && h.Memory.Scope.Group() == "" {
			t.Errorf("bob finds %+v", h)
		}
	}
}
