package index

import (
	"testing"
	"time"

	"memoryd"
)

func TestFilters(t *testing.T) {
	later, gone := now.Add(time.Hour), now
	change := map[string]func(*memoryd.Memory){
		"A": func(*memoryd.Memory) {},
		"B": func(m *memoryd.Memory) { m.Scope = "group:g" },
		"C": func(m *memoryd.Memory) { m.Type = memoryd.Preference; m.Form = memoryd.FormPref },
		"D": func(m *memoryd.Memory) { m.Status = memoryd.Archived },
		"E": func(m *memoryd.Memory) { m.Status = memoryd.Quarantined; m.Expires = &gone },
		"F": func(m *memoryd.Memory) { m.Expires = &later; m.Trust = memoryd.Low },
		"G": func(m *memoryd.Memory) { m.Expires = &gone },
		"H": func(m *memoryd.Memory) { m.Sensitive = true; m.Trust = memoryd.Medium },
		"I": func(m *memoryd.Memory) { m.Labels = map[string]string{"team": "blue", "site": ""} },
	}
	p := New(NewStems())
	memories := map[string]*memoryd.Memory{}
	for id, f := range change {
		m := note(id, "the river "+id)
		f(m)
		memories[id] = m
		p.PutMemory(m)
	}
	for _, c := range []struct {
		name string
		f    func(*Query)
		want string
	}{
		{"nothing narrowed", func(*Query) {}, "ABCFHI"},
		{"scopes", func(q *Query) { q.Scopes = memoryd.ScopesOf("group:g", "group:h") }, "B"},
		{"types", func(q *Query) { q.Types = []memoryd.Type{memoryd.Preference, memoryd.Lesson} }, "C"},
		{"forms", func(q *Query) { q.Forms = []memoryd.Form{memoryd.FormPref} }, "C"},
		{"unknown type", func(q *Query) { q.Types = []memoryd.Type{"?"} }, ""},
		{"statuses", func(q *Query) { q.Statuses = []memoryd.Status{memoryd.Archived, memoryd.Quarantined} }, "DE"},
		{"active ones by name", func(q *Query) { q.Statuses = []memoryd.Status{memoryd.Active} }, "ABCFHI"},
		{"every status", func(q *Query) { q.Statuses = memoryd.Statuses }, "ABCDEFHI"},
		{"medium trust", func(q *Query) { q.MinTrust = memoryd.Medium }, "ABCHI"},
		{"high trust", func(q *Query) { q.MinTrust = memoryd.High }, "ABCI"},
		{"not sensitive", func(q *Query) { q.NotSensitive = true }, "ABCFI"},
		{"labels", func(q *Query) { q.Labels = map[string]string{"team": "blue"} }, "I"},
		{"empty label", func(q *Query) { q.Labels = map[string]string{"site": ""} }, "I"},
		{"missing label", func(q *Query) { q.Labels = map[string]string{"none": ""} }, ""},
	} {
		q := about("river")
		c.f(q)
		hits := Memories([]*Partition{p}, q, MemoryCut{Factor: plain})
		got := map[string]bool{}
		for _, h := range hits {
			got[h.ID] = true
		}
		for id, m := range memories {
			want := false
			for _, r := range c.want {
				want = want || string(r) == id
			}
			if got[id] != want || q.Passes(m) != want {
				t.Errorf("%s: %s found %v, passes %v, want %v", c.name, id, got[id], q.Passes(m), want)
			}
		}
	}
}

func TestTurnFilters(t *testing.T) {
	p := New(NewStems())
	a, b, c := said("s", 1, "Bo", "the river"), said("t", 1, "Bo", "the river"), said("u", 1, "Bo", "the river")
	b.Trust, c.Scope = memoryd.Low, "group:g"
	for _, turn := range []*memoryd.Turn{a, b, c} {
		p.PutTurn(turn)
	}
	for _, x := range []struct {
		name string
		f    func(*Query)
		want string
	}{
		{"nothing narrowed", func(*Query) {}, "stu"},
		{"session", func(q *Query) { q.NotSession = "s" }, "tu"},
		{"trust", func(q *Query) { q.MinTrust = memoryd.Medium }, "su"},
		{"scope", func(q *Query) { q.Scopes = memoryd.ScopesOf("group:g") }, "u"},
		{"labels", func(q *Query) { q.Labels = map[string]string{"a": "b"} }, ""},
		{"what only memories have", func(q *Query) { q.Types, q.NotSensitive = []memoryd.Type{memoryd.Fact}, true }, "stu"},
	} {
		q := about("river")
		x.f(q)
		got := map[string]bool{}
		for _, h := range Turns([]*Partition{p}, q, TurnCut{}) {
			got[h.Session] = true
		}
		for _, turn := range []*memoryd.Turn{a, b, c} {
			want := false
			for _, r := range x.want {
				want = want || string(r) == turn.Session
			}
			if got[turn.Session] != want || q.PassesTurn(turn) != want {
				t.Errorf("%s: %s found %v, passes %v, want %v", x.name, turn.Session, got[turn.Session], q.PassesTurn(turn), want)
			}
		}
	}
}

func TestFiltersComeBeforeTheCut(t *testing.T) {
	p := New(NewStems())
	for i := range 50 {
		m := note(string(rune('a'+i)), "river river river")
		m.Trust = memoryd.Low
		p.PutMemory(m)
		turn := said("loud", int64(i), "Bo", "river river")
		p.PutTurn(turn)
	}
	p.PutMemory(note("A", "a long memory that says river once among many other words"))
	p.PutTurn(said("quiet", 1, "Bo", "a long turn that says river once among many other words"))
	q := about("river")
	q.MinTrust, q.NotSession = memoryd.High, "loud"
	if hits := Memories([]*Partition{p}, q, MemoryCut{PerScope: 2, Factor: plain}); ids(hits) != "A" {
		t.Errorf("%+v", hits)
	}
	if hits := Turns([]*Partition{p}, q, TurnCut{Limit: 2}); len(hits) != 1 || hits[0].Session != "quiet" {
		t.Errorf("%+v", hits)
	}
}

func TestCutIsPerScopeAndAfterTheFactor(t *testing.T) {
	p := New(NewStems())
	for i, scope := range []memoryd.Scope{"global", "global", "dm", "dm", "dm"} {
		m := note(string(rune('A'+i)), "the river")
		m.Scope = scope
		if i == 1 || i == 3 {
			m.Trust = memoryd.Low
			m.Recorded = now.Add(time.Hour)
		}
		p.PutMemory(m)
	}
	hits := Memories([]*Partition{p}, about("river"), MemoryCut{PerScope: 1, Factor: [4]float64{1, .75, .9, 1}})
	if ids(hits) != "EA" {
		t.Errorf("%s, want the trusted one of each scope", ids(hits))
	}
	if hits = Memories([]*Partition{p}, about("river"), MemoryCut{MinScore: .8, Factor: [4]float64{1, .75, .9, 1}}); ids(hits) != "ECA" {
		t.Errorf("%s reach .8, want the trusted ones", ids(hits))
	}
}

func TestTiesAreNewestFirst(t *testing.T) {
	p := New(NewStems())
	for i := range 4 {
		m := note(string(rune('A'+i)), "the river")
		m.Recorded = now.Add(time.Duration(i/2) * time.Hour)
		if i == 0 {
			confirmed := now.Add(9 * time.Hour)
			m.LastConfirmed = &confirmed
		}
		p.PutMemory(m)
	}
	old := note("E", "the river")
	old.Recorded, old.Occurred = now.Add(20*time.Hour), &memoryd.Span{Start: now.Add(-time.Hour)}
	p.PutMemory(old)
	if got := ids(lookIn(p, "river")); got != "ADCBE" {
		t.Errorf("%s, want the confirmed one, the two new ones by id, the old one, what was true before them all", got)
	}
}

func TestBest(t *testing.T) {
	p := New(NewStems())
	for _, c := range []struct {
		id, text   string
		importance int
		hours      int
	}{{"A", "likes tea", 3, 0}, {"B", "likes the river", 1, 0}, {"C", "likes snow", 9, 0}, {"D", "likes sand", 9, 1}} {
		m := note(c.id, c.text)
		m.Importance, m.Recorded = c.importance, now.Add(time.Duration(c.hours)*time.Hour)
		p.PutMemory(m)
	}
	hits := Best([]*Partition{p}, about("down by the river"), 3, plain)
	if ids(hits) != "BDC" || hits[0].Score == 0 || hits[1].Score != 0 {
		t.Errorf("%+v, want the one about rivers, then the important ones, newest first", hits)
	}
	if hits = Best([]*Partition{p}, about("?"), 9, plain); ids(hits) != "DCAB" {
		t.Errorf("%s for a query without words", ids(hits))
	}
}
