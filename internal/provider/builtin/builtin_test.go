package builtin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"memoryd"
	"memoryd/internal/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// place is a store with a provider in front of it.
type place struct {
	t     testing.TB
	store *sqlstore.Store
	*Provider
}

func open(t testing.TB, o Options) *place {
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Driver: "sqlite", Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	o.Store = store
	p := &place{t: t, store: store, Provider: New(o)}
	t.Cleanup(func() {
		p.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	p.write(func(tx memoryd.Tx) error {
		return errors.Join(tx.Tenants.Ensure(memoryd.Tenant{ID: "acme", Created: now}), tx.Tenants.Ensure(memoryd.Tenant{ID: "zeta", Created: now}))
	})
	return p
}

func (p *place) write(f func(memoryd.Tx) error) {
	p.t.Helper()
	if err := p.store.Write(context.Background(), f); err != nil {
		p.t.Fatal(err)
	}
}

// note is a memory of amy as most tests want it.
func note(id, text string, change ...func(*memoryd.Memory)) memoryd.Memory {
	m := memoryd.Memory{
		Tenant: "acme", ID: id, User: "amy", Hash: id, Text: text, Scope: memoryd.Global, Type: memoryd.Fact, Form: memoryd.FormText,
		Status: memoryd.Active, Trust: memoryd.High, Source: memoryd.UserDirect, Importance: 5, Strength: 1, Recorded: now, Version: 1,
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

func scope(s memoryd.Scope) func(*memoryd.Memory) { return func(m *memoryd.Memory) { m.Scope = s } }
func user(u string) func(*memoryd.Memory)         { return func(m *memoryd.Memory) { m.User = u } }
func preference(importance int) func(*memoryd.Memory) {
	return func(m *memoryd.Memory) { m.Type, m.Importance = memoryd.Preference, importance }
}

func (p *place) add(list ...memoryd.Memory) {
	p.t.Helper()
	p.write(func(tx memoryd.Tx) error {
		for _, m := range list {
			if err := tx.Memories.Insert(m); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *place) change(id string, f func(*memoryd.Memory)) {
	p.t.Helper()
	p.write(func(tx memoryd.Tx) error {
		list, err := tx.Memories.Get(memoryd.Owner{Tenant: "acme"}, memoryd.AllScopes(), id)
		if err != nil || len(list) != 1 {
			return fmt.Errorf("%d memories %s: %w", len(list), id, err)
		}
		f(&list[0])
		list[0].Version++
		return tx.Memories.Update(list[0])
	})
}

// say appends the lines to a session, which begins with the first.
func (p *place) say(session, user, group string, lines ...string) {
	p.t.Helper()
	p.sayIn(memoryd.Session{ID: session, User: user, Group: group}, lines...)
}

func (p *place) sayIn(s memoryd.Session, lines ...string) {
	p.t.Helper()
	p.write(func(tx memoryd.Tx) error {
		s.Tenant, s.State, s.Created, s.Updated = "acme", "open", now, now
		if _, err := tx.Sessions.Put(s); err != nil {
			return err
		}
		s, err := tx.Sessions.Get(memoryd.Owner{Tenant: "acme"}, memoryd.AllScopes(), s.ID)
		if err != nil {
			return err
		}
		list := make([]memoryd.Message, len(lines))
		for i, text := range lines {
			list[i] = memoryd.Message{
				ID: fmt.Sprintf("%s-%d", s.ID, s.LastSeq+int64(i)), Role: memoryd.RoleUser, Content: []byte(`"x"`), Text: text, Kind: "chat",
				Trust: memoryd.High, Time: now, Recorded: now, Searchable: true,
			}
		}
		_, err = tx.Messages.Append(s, list)
		return err
	})
}

// about asks for amy's memories and turns in all scopes.
func about(text string, change ...func(*memoryd.Query)) memoryd.Query {
	q := memoryd.Query{
		Owner: memoryd.Owner{Tenant: "acme", User: "amy"}, Scopes: memoryd.AllScopes(), Text: text, Memories: true, Turns: true, Now: now,
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

func in(list ...memoryd.Scope) func(*memoryd.Query) {
	return func(q *memoryd.Query) { q.Scopes = memoryd.ScopesOf(list...) }
}

func (p *place) search(q memoryd.Query) memoryd.Found {
	p.t.Helper()
	found, err := p.Search(context.Background(), q)
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// names are the hits' ids in order, those of turns as session/seq.
func names(hits []memoryd.Hit) string {
	var list []string
	for _, h := range hits {
		if h.Turn != nil {
			list = append(list, fmt.Sprintf("%s/%d", h.Turn.Session, h.Turn.Seq))
		} else {
			list = append(list, h.Memory.ID)
		}
	}
	return strings.Join(list, " ")
}

func (p *place) expect(q memoryd.Query, want string) {
	p.t.Helper()
	if got := names(p.search(q).Hits); got != want {
		p.t.Errorf("%q: %q, want %q", q.Text, got, want)
	}
}

func TestFindsWhatWasWrittenLast(t *testing.T) {
	p := open(t, Options{})
	p.expect(about("river"), "")
	p.add(note("a", "the river is wide"))
	p.expect(about("river"), "a")
	p.add(note("b", "a river, a river"))
	p.expect(about("river"), "b a")
	p.change("b", func(m *memoryd.Memory) { m.Text = "the mountain" })
	p.expect(about("river"), "a")
	p.expect(about("mountain"), "b")
	p.change("a", func(m *memoryd.Memory) { m.Status = memoryd.Archived })
	p.expect(about("river"), "")
	p.expect(about("river", func(q *memoryd.Query) { q.Statuses = []memoryd.Status{memoryd.Archived} }), "a")
	p.say("s", "amy", "", "we rowed on the river")
	p.expect(about("river"), "s/1")
	p.say("s", "amy", "", "and then home")
	p.expect(about("river"), "s/1 s/2")
	p.write(func(tx memoryd.Tx) error {
		_, err := tx.Sessions.Delete(memoryd.Owner{Tenant: "acme"}, memoryd.AllScopes(), "s")
		return err
	})
	p.expect(about("river"), "")
	p.say("s", "amy", "", "a new talk of the river")
	p.expect(about("river"), "s/1")
}

func TestNothingForeignIsFound(t *testing.T) {
	p := open(t, Options{})
	p.add(
		note("own", "river", scope(memoryd.DM)), note("global", "river"), note("agent", "river", scope("agent:x")), note("other", "river", user("bo")),
		note("group", "river", scope("group:g"), user("bo")), note("group2", "river", scope("group:h"), user("bo")),
		note("tenant", "river", func(m *memoryd.Memory) { m.Tenant = "zeta" }),
		note("tenants-group", "river", scope("group:g"), func(m *memoryd.Memory) { m.Tenant = "zeta" }),
	)
	p.say("s", "bo", "", "river")
	p.say("t", "bo", "g", "river")
	sorted := func(q memoryd.Query) string {
		list := strings.Fields(names(p.search(q).Hits))
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	for _, c := range []struct {
		f    func(*memoryd.Query)
		want string
	}{
		{func(*memoryd.Query) {}, "agent global group group2 own t/1"},
		{in(memoryd.Global), "global"},
		{in(memoryd.DM), "own"},
		{in("group:g"), "group t/1"},
		{in("group:none"), ""},
		{in("group:g", "group:h", memoryd.DM), "group group2 own t/1"},
		{in(), ""},
		{func(q *memoryd.Query) { q.Scopes = memoryd.Scopes{Agents: true} }, "agent"},
		{func(q *memoryd.Query) { q.Scopes = memoryd.Scopes{Groups: true} }, "group group2 t/1"},
		{func(q *memoryd.Query) { q.Scopes, q.Owner.User = memoryd.Scopes{Groups: true}, "" }, "group group2 t/1"},
		{func(q *memoryd.Query) {
			q.Owner.User = "nobody"
			q.Scopes = memoryd.ScopesOf(memoryd.Global, memoryd.DM)
		}, ""},
		{func(q *memoryd.Query) { q.Owner.Tenant = "zeta" }, "tenant tenants-group"},
	} {
		q := about("river", c.f)
		if got := sorted(q); got != c.want {
			t.Errorf("%+v: %q, want %q", q.Scopes, got, c.want)
		}
	}
	_, err := p.Search(context.Background(), about("river", func(q *memoryd.Query) { q.Owner.User = "" }))
	if memoryd.CodeOf(err) != memoryd.Invalid {
		t.Errorf("no user, own scopes: %v", err)
	}
}

func TestBounds(t *testing.T) {
	p := open(t, Options{})
	for i := range 6 {
		later := func(m *memoryd.Memory) { m.Recorded = now.Add(time.Duration(i) * time.Minute) }
		p.add(note(fmt.Sprint("g", i), "river", later, scope(memoryd.Global)), note(fmt.Sprint("d", i), "river and much else that is not asked for", later, scope(memoryd.DM)))
	}
	p.say("s", "amy", "", "river", "river", "river")
	for _, c := range []struct {
		f    func(*memoryd.Query)
		want string
	}{
		{func(q *memoryd.Query) { q.Turns, q.Limit = false, 3 }, "g5 g4 g3"},
		{func(q *memoryd.Query) { q.Turns, q.Limit, q.BothSides = false, 5, true }, "g5 g4 g3 d5 d4"},
		{func(q *memoryd.Query) { q.Turns, q.Limit, q.BothSides = false, 3, true }, "g5 g4 d5"},
		{func(q *memoryd.Query) { q.Turns, q.Limit, q.BothSides = false, 1, true }, "g5"},
		{func(q *memoryd.Query) { q.Turns, q.PerScope = false, 2 }, "g5 g4 d5 d4"},
		{func(q *memoryd.Query) { q.Memories, q.TurnMax = false, 2 }, "s/1 s/2"},
		{func(q *memoryd.Query) { q.Memories, q.Limit = false, 1 }, "s/1"},
		{func(q *memoryd.Query) { q.Turns, q.MinScore = false, .99 }, ""},
		{func(q *memoryd.Query) { q.Memories, q.MinTurn = false, .99 }, ""},
		{func(q *memoryd.Query) { q.Memories, q.NotSession = false, "s" }, ""},
		{func(q *memoryd.Query) { q.Memories, q.Turns = false, false }, ""},
	} {
		p.expect(about("river", c.f), c.want)
	}
	all := p.search(about("river"))
	if len(all.Hits) != 15 || !slices.IsSortedFunc(all.Hits, func(a, b memoryd.Hit) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Errorf("%d hits: %s", len(all.Hits), names(all.Hits))
	}
}

func TestTrustFactor(t *testing.T) {
	p := open(t, Options{TrustFactor: map[memoryd.Trust]float64{memoryd.High: 1, memoryd.Medium: .9, memoryd.Low: .75}})
	for id, trust := range map[string]memoryd.Trust{"a": memoryd.Low, "b": memoryd.Medium, "c": memoryd.High} {
		p.add(note(id, "the river is wide", func(m *memoryd.Memory) { m.Trust = trust }))
	}
	found := p.search(about("Is the river wide?"))
	if names(found.Hits) != "c b a" || found.Hits[2].Score != .75*found.Hits[0].Score || found.Hits[2].Score < .3 {
		t.Errorf("%s: %+v", names(found.Hits), found.Hits)
	}
	p.expect(about("river", func(q *memoryd.Query) { q.MinTrust = memoryd.Medium }), "c b")
}

func TestPreferences(t *testing.T) {
	p := open(t, Options{})
	p.add(
		note("a", "answers in short sentences", preference(3)), note("b", "likes tea in the morning", preference(9), scope(memoryd.DM)),
		note("c", "drinks no coffee", preference(1)), note("d", "of an agent", preference(9), scope("agent:x")),
		note("e", "of a group", preference(9), scope("group:g")), note("f", "no preference: tea"),
		note("g", "of little trust", preference(9), func(m *memoryd.Memory) { m.Trust = memoryd.Low }),
		note("h", "archived", preference(9), func(m *memoryd.Memory) { m.Status = memoryd.Archived }),
		note("i", "expired", preference(9), func(m *memoryd.Memory) { gone := now; m.Expires = &gone }),
		note("j", "personal", preference(2), func(m *memoryd.Memory) { m.Sensitive = true }),
		note("k", "of another user", preference(9), user("bo")),
		note("l", "old but dear", preference(9), func(m *memoryd.Memory) { m.Recorded = now.Add(-time.Hour) }),
	)
	asks := func(n int) func(*memoryd.Query) {
		return func(q *memoryd.Query) { q.Preferences, q.MinScore = n, .3 }
	}
	for _, c := range []struct {
		text string
		f    func(*memoryd.Query)
		want string
	}{
		{"Where does the train leave?", func(*memoryd.Query) {}, "b l a j c"},
		{"More coffee?", func(*memoryd.Query) {}, "c b l a j"},
		{"?!", func(*memoryd.Query) {}, "b l a j c"},
		{"coffee", asks(2), "c b"},
		{"coffee", in(memoryd.Global), "c l a j"},
		{"coffee", in("agent:x"), ""},
		{"coffee", func(q *memoryd.Query) { q.NotSensitive = true }, "c b l a"},
		{"coffee", func(q *memoryd.Query) { q.MinTrust = memoryd.Low }, "c b l a j"},
		{"coffee", func(q *memoryd.Query) { q.Types = []memoryd.Type{memoryd.Fact} }, "c b l a j"},
		{"coffee", asks(0), ""},
	} {
		q := about(c.text, asks(9), c.f)
		if got := names(p.search(q).Preferences); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if got := p.search(about("Where does the train leave?", asks(9))); len(got.Hits) > 0 {
		t.Errorf("hits: %s", names(got.Hits))
	}
}

func TestOneMemoryIsFoundByItsWords(t *testing.T) {
	p := open(t, Options{})
	p.add(note("a", "The user's cat is called Pixel"))
	if hits := p.search(about("what is the cat called?")).Hits; len(hits) != 1 || hits[0].Score <= .3 {
		t.Errorf("%+v", hits)
	}
}

// TestTurnsOfAGroupHaveSpeakers gives no names: in a group the users are the speakers.
func TestTurnsOfAGroupHaveSpeakers(t *testing.T) {
	p := open(t, Options{})
	p.write(func(tx memoryd.Tx) error {
		s := memoryd.Session{Tenant: "acme", ID: "s", User: "amy", Group: "g", State: "open", Created: now, Updated: now}
		if _, err := tx.Sessions.Put(s); err != nil {
			return err
		}
		message := func(id, name, user string) memoryd.Message {
			return memoryd.Message{ID: id, Role: memoryd.RoleUser, Name: name, User: user, Content: []byte(`"x"`), Text: "I mend the boat",
				Kind: "chat", Trust: memoryd.High, Time: now, Recorded: now, Searchable: true}
		}
		_, err := tx.Messages.Append(s, []memoryd.Message{message("1", "", "ada"), message("2", "", "bo"), message("3", "Cy", "ada")})
		return err
	})
	for _, c := range []struct{ query, want string }{{"What does Ada mend?", "ada"}, {"What does Bo mend?", "bo"}, {"What does Cy mend?", "Cy"}} {
		if hits := p.search(about(c.query)).Hits; len(hits) != 3 || hits[0].Turn.Name != c.want {
			t.Errorf("%s: %s, want %s first", c.query, names(hits), c.want)
		}
	}
}

func TestExpiredIsNotActive(t *testing.T) {
	p := open(t, Options{})
	gone := now
	expired := func(m *memoryd.Memory) { m.Expires = &gone }
	p.add(note("a", "river"), note("b", "river", expired), note("c", "river", expired, func(m *memoryd.Memory) { m.Status = memoryd.Archived }))
	for _, c := range []struct {
		statuses []memoryd.Status
		want     string
	}{
		{nil, "a"}, {[]memoryd.Status{memoryd.Active}, "a"}, {[]memoryd.Status{memoryd.Archived}, "c"},
		{[]memoryd.Status{memoryd.Archived, memoryd.Active}, "c a"},
	} {
		p.expect(about("river", func(q *memoryd.Query) { q.Statuses = c.statuses }), c.want)
	}
}

func TestTurnsMayBeWiderThanMemories(t *testing.T) {
	p := open(t, Options{})
	p.add(note("m", "the ferry leaves at nine", scope("agent:quill")))
	p.sayIn(memoryd.Session{ID: "talk", User: "amy", Agent: "quill"}, "the ferry leaves at nine")
	q := about("ferry", in(memoryd.Global))
	q.TurnScopes = memoryd.ScopesOf(memoryd.Global, "agent:quill")
	p.expect(q, "talk/1")
	q.TurnScopes = memoryd.Scopes{}
	p.expect(q, "")
}
