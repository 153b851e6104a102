package memoryd_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"memoryd"
)

var fuzzedScopes = []string{
	"", "global", "dm", "Global", "global ", "group:", "group:team", "group:*", "group:..", "group:a/b", "group:团队", "group:e\u0301", "group:\xff",
	"agent:", "agent:self", "agent:*", "agent:a_b.c-d@e+f", "agent:group:x", "agent:a\n", "cross:x", "all", "none",
	"group:" + strings.Repeat("长", 128), "group:" + strings.Repeat("长", 129),
}

// FuzzParseScope: a scope that is taken is the text itself, names exactly one place, and could stand nowhere as a
// pattern, a path or a query word.
func FuzzParseScope(f *testing.F) {
	for _, s := range fuzzedScopes {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := memoryd.ParseScope("items[0].scope", text)
		if err != nil {
			e, ok := err.(*memoryd.Error)
			if !ok || e.Code != memoryd.Invalid || e.Slug != "bad-scope" || len(e.Fields) != 1 || e.Fields[0].Path != "items[0].scope" || s != "" {
				t.Fatalf("%q: %q, %v", text, s, err)
			}
			return
		}
		places := 0
		for _, is := range []bool{s == memoryd.Global, s == memoryd.DM, s.Group() != "", s.Agent() != ""} {
			if is {
				places++
			}
		}
		if string(s) != text || places != 1 {
			t.Fatalf("%q became %q, %d places", text, s, places)
		}
		id := s.Group() + s.Agent()
		if id == "" {
			return
		}
		if err := memoryd.CheckID("id", id); err != nil || strings.ContainsAny(id, "*:/\\%'\" \t\n<>&?#,;") {
			t.Fatalf("%q holds the id %q: %v", text, id, err)
		}
		if s.Group() != "" != (memoryd.CheckGroup("group", id) == nil && strings.HasPrefix(text, "group:")) {
			t.Fatalf("the group %q of %q", id, text)
		}
		if p := memoryd.PartitionOf("t", "u", s); (p.Group == "") != (s.Group() == "") || (p.User == "") == (s.Group() == "") {
			t.Fatalf("%q is indexed in %+v", text, p)
		}
	})
}

func FuzzCheckID(f *testing.F) {
	for _, s := range fuzzedScopes {
		f.Add(s)
	}
	for _, s := range []string{".", "..", "...", "a\x00", "a\u0085b", "a\xc3", "\u202e", strings.Repeat("x", 128), strings.Repeat("x", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		want := id != "" && id != "." && id != ".." && utf8.ValidString(id) && len([]rune(id)) <= 128
		for _, r := range id {
			want = want && !unicode.Is(unicode.Cc, r)
		}
		err := memoryd.CheckID("messages[2].id", id)
		if (err == nil) != want {
			t.Fatalf("%q: %v", id, err)
		}
		if err == nil {
			return
		}
		e, ok := err.(*memoryd.Error)
		if !ok || e.Code != memoryd.Invalid || len(e.Fields) != 1 || e.Fields[0].Path != "messages[2].id" {
			t.Fatalf("%q: %v", id, err)
		}
		if memoryd.CheckGroup("g", id) == nil {
			t.Fatalf("%q is a group's id and no id", id)
		}
	})
}

// FuzzScopes: sets behave as sets do.
func FuzzScopes(f *testing.F) {
	f.Add("global,group:a", "dm,agent:x", "group:a", byte(0))
	f.Add("", "group:b,group:b", "group:b", byte(1))
	f.Add("agent:x", "agent:y,global", "agent:y", byte(6))
	f.Add("agent:x,group:", "group:,agent:", "group:", byte(15))
	f.Fuzz(func(t *testing.T, one, two, probe string, kinds byte) {
		set := func(list string, bits byte) memoryd.Scopes {
			s := memoryd.Scopes{Groups: bits&1 != 0, Agents: bits&2 != 0}
			if list != "" {
				for x := range strings.SplitSeq(list, ",") {
					s.Exact = append(s.Exact, memoryd.Scope(x))
				}
			}
			return s
		}
		a, b, x := set(one, kinds), set(two, kinds>>2), memoryd.Scope(probe)
		ab, ba := a.Within(b), b.Within(a)
		for _, y := range append(append([]memoryd.Scope{x}, a.Exact...), b.Exact...) {
			if want := a.Has(y) && b.Has(y); ab.Has(y) != want || ba.Has(y) != want {
				t.Fatalf("%q in %+v and %+v: %v and %v, want %v", y, a, b, ab.Has(y), ba.Has(y), want)
			}
			if with := a.With(x); with.Has(y) != (a.Has(y) || y == x) {
				t.Fatalf("%q in %+v with %q: %v", y, a, x, with.Has(y))
			}
		}
		if a.Empty() && (a.Has(x) || !ab.Empty()) {
			t.Fatalf("%+v is empty and holds something", a)
		}
		if all := memoryd.AllScopes(); validScope(probe) && (!all.Has(x) || a.Within(all).Has(x) != a.Has(x)) {
			t.Fatalf("%q is not among all", x)
		}
	})
}

func validScope(text string) bool {
	_, err := memoryd.ParseScope("scope", text)
	return err == nil
}
