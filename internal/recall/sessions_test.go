package recall

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

func TestWhoReachesASession(t *testing.T) {
	s := open(t)
	converse(t, s, memoryd.Session{ID: "dm", User: "amy"}, talk(t, "u: one"))
	converse(t, s, memoryd.Session{ID: "own", User: "amy", Agent: "quiet"}, talk(t, "u: one"))
	converse(t, s, memoryd.Session{ID: "group", User: "amy", Group: "t"}, talk(t, "u: one"))
	r := reader(t, s, &asking{}, nil)
	for _, c := range []struct {
		ask   access.Ask
		reach []string
		list  []string // of the user
	}{
		{access.Ask{}, []string{"dm", "own", "group"}, []string{"group"}},
		{access.Ask{User: "amy"}, []string{"dm", "own", "group"}, []string{"own", "group", "dm"}},
		{access.Ask{User: "bob"}, []string{"group"}, []string{"group"}},
		{access.Ask{Agent: "quiet"}, []string{"own"}, nil},
		{access.Ask{Agent: "new"}, []string{"group"}, []string{"group"}},
		{access.Ask{Agent: "set", User: "amy"}, []string{"group"}, []string{"group"}},
	} {
		g := grantOf(t, c.ask)
		for _, id := range []string{"dm", "own", "group"} {
			want := slices.Contains(c.reach, id)
			_, err := r.Session(t.Context(), g, "agent:"+id)
			_, err2 := r.Messages(t.Context(), g, id, MessagesRequest{})
			_, err3 := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: id})
			for _, err := range []error{err, err2, err3} {
				if want && err != nil || !want && !errors.Is(err, memoryd.ErrNotFound) {
					t.Errorf("%+v and %s: %v", c.ask, id, err)
				}
			}
		}
		page, err := r.Sessions(t.Context(), g, SessionsRequest{})
		var got []string
		for _, x := range page.Items {
			got = append(got, x.ID)
		}
		if err != nil || page.Items == nil || !slices.Equal(got, c.list) {
			t.Errorf("%+v lists %q, want %q: %v", c.ask, got, c.list, err)
		}
	}
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "new"})
	if err != nil || len(out.Messages) > 0 || len(out.Degraded) > 0 {
		t.Errorf("a session that is not there: %v %+v", err, out)
	}
	if err := s.Read(t.Context(), func(tx memoryd.Tx) error {
		_, err := tx.Sessions.Get(memoryd.Owner{Tenant: "default"}, memoryd.AllScopes(), "new")
		return err
	}); !errors.Is(err, memoryd.ErrNotFound) {
		t.Errorf("a read created something: %v", err)
	}
}

func TestSessionsPageByPage(t *testing.T) {
	s := open(t)
	for i := range 7 {
		converse(t, s, memoryd.Session{ID: fmt.Sprint("s", i), User: "amy", Agent: []string{"", "quiet"}[i%2]}, nil)
	}
	r := reader(t, s, &asking{}, nil)
	var got []string
	var next string
	for {
		page, err := r.Sessions(t.Context(), grantOf(t, access.Ask{User: "amy"}), SessionsRequest{Limit: 2, Cursor: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page.Items {
			got = append(got, x.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if want := []string{"s6", "s5", "s4", "s3", "s2", "s1", "s0"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	page, err := r.Sessions(t.Context(), grantOf(t, access.Ask{User: "amy"}), SessionsRequest{Agent: "quiet"})
	if err != nil || len(page.Items) != 3 {
		t.Errorf("%v %+v", err, page.Items)
	}
}

func TestMessagesPageBack(t *testing.T) {
	s := open(t)
	var list []memoryd.Message
	for i := range 501 {
		m := talk(t, "u: x")[0]
		m.ID = fmt.Sprint("c", i+1)
		list = append(list, m)
	}
	converse(t, s, memoryd.Session{ID: "s", User: "amy"}, list)
	r := reader(t, s, &asking{}, nil)
	g := grantOf(t, access.Ask{})
	var next string
	want := int64(501)
	for {
		page, err := r.Messages(t.Context(), g, "s", MessagesRequest{Limit: 50, Cursor: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Backward(page.Items) {
			if m.Seq != want {
				t.Fatalf("seq %d, want %d", m.Seq, want)
			}
			want--
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if want != 0 {
		t.Errorf("ends before %d", want)
	}
	page, err := r.Messages(t.Context(), g, "s", MessagesRequest{BeforeSeq: 3})
	if err != nil || len(page.Items) != 2 || page.Next != "" {
		t.Errorf("%v %+v", err, page)
	}
}

func TestWindowOfASession(t *testing.T) {
	s := open(t)
	converse(t, s, memoryd.Session{ID: "s", User: "amy"}, talk(t, "u: 1\na: 2\nu: 3\na: 4\nu: 5"))
	r := reader(t, s, &asking{}, nil)
	one := 1
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s", Rounds: &one})
	if err != nil || told(out.Messages) != "u: 3\na: 4\nu: 5\n" || out.Tokens.Messages != 3 || len(out.Degraded) > 0 {
		t.Errorf("%v %+v", err, out)
	}
	// The agent "set" has one round of its own, and no more than the session's owner may page.
	converse(t, s, memoryd.Session{ID: "s2", User: "amy", Agent: "set"}, talk(t, "u: 1\na: 2\nu: 3\na: 4"))
	g := grantOf(t, access.Ask{Agent: "set"})
	page, err := r.Messages(t.Context(), g, "s2", MessagesRequest{Window: true})
	if err != nil || told(page.Items) != "u: 3\na: 4\n" || len(page.Notes) > 0 {
		t.Fatalf("%v %+v", err, page)
	}
	page, err = r.Messages(t.Context(), g, "s2", MessagesRequest{Window: true, Cursor: page.Next})
	if err != nil || told(page.Items) != "u: 1\na: 2\n" || page.Next != "" {
		t.Errorf("%v %+v", err, page)
	}
}

// TestToolLoopLongerThanItsRounds reads thirty messages of a turn of thirty-three.
func TestToolLoopLongerThanItsRounds(t *testing.T) {
	s := open(t)
	script := "u: look everywhere\n"
	for i := range 16 {
		script += fmt.Sprintf("a c%d:\nt c%d: nothing here\n", i, i)
	}
	converse(t, s, memoryd.Session{ID: "s", User: "amy"}, talk(t, script))
	r := reader(t, s, &asking{}, nil)
	rounds, more := 10, 11
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s", Rounds: &rounds})
	if err != nil || len(out.Messages) != 0 || !slices.Equal(out.Notes, []string{"led_by_assistant"}) {
		t.Errorf("%v: %d messages, notes %q", err, len(out.Messages), out.Notes)
	}
	out, err = r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s", Rounds: &more})
	if err != nil || len(out.Messages) != 33 || len(out.Notes) > 0 {
		t.Errorf("%v: %d messages, notes %q", err, len(out.Messages), out.Notes)
	}
}

func TestSystemPromptOfEveryTurn(t *testing.T) {
	count := cl100k(t)
	prompt := "You answer questions about the harbour. "
	var list []memoryd.Message
	for i := range 40 {
		for _, m := range talk(t, fmt.Sprintf("s: %s\nu: question %d\na: answer %d", prompt, i, i)) {
			m.ID, m.Tokens = fmt.Sprint(m.ID, "-", i), count(m.Text)
			list = append(list, m)
		}
	}
	s := open(t)
	converse(t, s, memoryd.Session{ID: "s", User: "amy"}, list)
	r := reader(t, s, &asking{}, func(o *Options) { o.Count = count })
	rounds, window := 1000, 4000
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s", Rounds: &rounds, WindowTokens: &window})
	if err != nil || len(out.Messages) != 81 || out.Messages[0].Role != memoryd.RoleSystem || len(out.Notes) > 0 || out.Tokens.Messages > 4000 {
		t.Errorf("%v: %d messages, %d tokens, notes %q", err, len(out.Messages), out.Tokens.Messages, out.Notes)
	}
}
