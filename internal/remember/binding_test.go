package remember_test

import (
	"encoding/json"
	"testing"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

// bound is the grant of a key that is bound to an agent and a user.
func (w *world) bound(agent, user string) access.Grant {
	w.t.Helper()
	secret, _, err := w.access.CreateKey(w.t.Context(), w.access.Local(), access.NewKey{Kind: "agent", Agent: agent, User: user})
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := w.access.Authenticate(w.t.Context(), secret)
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := w.access.Grant(w.t.Context(), id, access.Ask{})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func TestABoundKeySpeaksForItsUserOnly(t *testing.T) {
	w := newWorld(t)
	g := w.bound("w", "bob")
	m := func(role memoryd.Role, user string) remember.AppendRequest {
		return remember.AppendRequest{Group: "team", Messages: []remember.NewMessage{{Role: role, User: user, Content: json.RawMessage(`"x"`)}}}
	}
	for _, role := range []memoryd.Role{"user", "assistant"} {
		_, err := w.Append(t.Context(), g, "g", m(role, "amy"))
		refused(t, string(role), err, "invalid bad-field", "messages[0].user")
	}
	if w.all() != newWorld(t).all() {
		t.Error("a refusal changed something")
	}
	for _, user := range []string{"bob", ""} {
		if _, err := w.Append(t.Context(), g, "g", m("user", user)); err != nil {
			t.Errorf("%q: %v", user, err)
		}
	}
	for _, x := range w.messages("g") {
		if x.User != "bob" {
			t.Errorf("user %q", x.User)
		}
	}
}

func TestWordsStayInTheGroupThatTheyAreFor(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "w")
	for session, group := range map[string]string{"pub": "team", "own": ""} {
		if _, _, _, err := w.PutSession(t.Context(), g, session, remember.SessionRequest{Group: group}); err != nil {
			t.Fatal(err)
		}
		before := w.all()
		_, err := w.Append(t.Context(), g, session, remember.AppendRequest{Group: "board", Messages: []remember.NewMessage{hello()}})
		refused(t, session, err, "conflict immutable", "group")
		if w.all() != before {
			t.Errorf("%s: a refusal changed something", session)
		}
	}
	if _, err := w.Append(t.Context(), g, "pub", remember.AppendRequest{Group: "team", Messages: []remember.NewMessage{hello()}}); err != nil {
		t.Error(err)
	}
}

func TestARepeatDoesNotChangeWhatItsWriterMayNot(t *testing.T) {
	w := newWorld(t)
	first := w.add(w.grant("", ""), remember.AddRequest{Text: "we ship on Friday", Scope: "global", Type: memoryd.Decision, Trust: memoryd.Low}).Memory
	out := w.add(w.grant("", "facts"), remember.AddRequest{Text: "We ship on Friday", Scope: "global", Type: memoryd.Fact, Trust: memoryd.Medium, Labels: map[string]string{"a": "b"}})
	if out.State != remember.Duplicate || out.Memory.ID != first.ID {
		t.Errorf("%+v", out)
	}
	diff(t, "the decision", w.get(first.ID), w.memories("default")[0])
	if m := w.get(first.ID); m.Version != 1 || len(m.Labels) != 0 || m.Trust != memoryd.Low {
		t.Errorf("%+v", m)
	}
}

func TestAWriterThatMayNotReadASessionSeesNoHead(t *testing.T) {
	w := newWorld(t)
	if _, _, _, err := w.PutSession(t.Context(), w.grant("amy", ""), "board", remember.SessionRequest{Group: "g", Metadata: json.RawMessage(`{"topic":"merger"}`)}); err != nil {
		t.Fatal(err)
	}
	w.append(w.grant("amy", ""), "board", hello())
	s, created, _, err := w.PutSession(t.Context(), w.grant("bob", "post"), "board", remember.SessionRequest{})
	if err != nil || created {
		t.Fatalf("%v %v", created, err)
	}
	if s.User != "bob" || s.LastSeq != 0 || string(s.Metadata) != "{}" || !s.Created.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestPartsThatAreNotTextCostTokens(t *testing.T) {
	w := newWorld(t)
	page := `[{"type":"tool_result","content":"` + "word word word word" + `"}]`
	w.append(w.grant("", ""), "s", remember.NewMessage{Role: "user", Content: json.RawMessage(page)})
	if n := w.messages("s")[0].Tokens; n != len(page)-2 {
		t.Errorf("%d tokens", n)
	}
}

func TestAgentSelfReachesAnyAgent(t *testing.T) {
	w := newWorld(t)
	out := w.add(w.grant("", "the writer"), remember.AddRequest{Text: "mine", Scope: "agent:self"})
	if out.Memory.Scope != "agent:the writer" {
		t.Errorf("scope %q", out.Memory.Scope)
	}
}
