package remember_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

func said(role memoryd.Role, text string) remember.NewMessage {
	raw, _ := json.Marshal(text)
	return remember.NewMessage{Role: role, Content: raw}
}

func hello() remember.NewMessage { return said("user", "hello") }

func TestPutSession(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "w")
	s, created, notes, err := w.PutSession(t.Context(), g, "s", remember.SessionRequest{Group: "team", Metadata: json.RawMessage(`{"n":1.0,"t":"a\u0000"}`)})
	if err != nil || !created || len(notes) != 1 {
		t.Fatalf("%v %v %v", created, notes, err)
	}
	diff(t, "session", []string{s.User, s.Agent, s.Group, s.State, string(s.Metadata)}, []string{"amy", "w", "team", "open", `{"n":1.0,"t":"a"}`})
	w.append(g, "s", hello())
	w.now = w.now.Add(time.Minute)
	s, created, _, err = w.PutSession(t.Context(), g, "s", remember.SessionRequest{})
	if err != nil || created || string(s.Metadata) != `{"n":1.0,"t":"a"}` || s.LastSeq != 1 {
		t.Errorf("nothing new: %+v %v %v", s, created, err)
	}
	s, created, _, err = w.PutSession(t.Context(), g, "s", remember.SessionRequest{Group: "team", Metadata: json.RawMessage(`{}`)})
	if err != nil || created || string(w.session("s").Metadata) != `{}` || w.session("s").LastSeq != 1 || !s.Updated.Equal(w.now) {
		t.Errorf("new metadata: %+v %v %v", s, created, err)
	}
	before := w.all()
	_, _, _, err = w.PutSession(t.Context(), g, "s", remember.SessionRequest{Group: "other"})
	refused(t, "another group", err, "conflict immutable", "")
	_, _, _, err = w.PutSession(t.Context(), g, "x", remember.SessionRequest{Group: "a*"})
	refused(t, "group", err, "invalid bad-field", "group")
	_, _, _, err = w.PutSession(t.Context(), g, "x", remember.SessionRequest{Metadata: json.RawMessage(`1`)})
	refused(t, "metadata", err, "invalid bad-field", "metadata")
	if w.all() != before {
		t.Error("a refusal changed something")
	}
	if s, _, _, err := w.PutSession(t.Context(), w.grant("", ""), "agent:child", remember.SessionRequest{}); err != nil || s.ID != "child" || s.User != "default" || s.Scope() != memoryd.DM {
		t.Errorf("%+v, %v", s, err)
	}
}

// Who may append to which session; the same rule holds for putting and deleting.
func TestRightToASession(t *testing.T) {
	w := newWorld(t)
	w.append(w.grant("amy", ""), "dm", hello())
	w.append(w.grant("amy", "w"), "agent", hello())
	for _, id := range []string{"group", "other"} {
		if _, _, _, err := w.PutSession(t.Context(), w.grant("amy", "w"), id, remember.SessionRequest{Group: id}); err != nil {
			t.Fatal(err)
		}
	}
	secret, _, err := w.access.CreateKey(t.Context(), w.access.Local(), access.NewKey{Kind: "agent", Agent: "stranger", User: "amy"})
	if err != nil {
		t.Fatal(err)
	}
	keyed, err := access.New(access.Options{Store: w.store, Mode: "keys", Named: agents()})
	if err != nil {
		t.Fatal(err)
	}
	id, err := keyed.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := keyed.Grant(t.Context(), id, access.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	before := w.all()
	for _, c := range []struct {
		name string
		g    access.Grant
		id   string
		want string
	}{
		{"its user", w.grant("amy", ""), "dm", ""},
		{"nobody named", w.grant("", ""), "dm", ""},
		{"another user", w.grant("bob", ""), "dm", "not_found not-found"},
		{"another tenant's id is free", w.tenant("other"), "dm", ""},
		{"an agent, the session has none", w.grant("amy", "w"), "dm", "not_found not-found"},
		{"its agent", w.grant("amy", "w"), "agent", ""},
		{"its agent, no user", w.grant("", "w"), "agent", ""},
		{"its agent, another user", w.grant("bob", "w"), "agent", "not_found not-found"},
		{"no agent named", w.grant("amy", ""), "agent", ""},
		{"another agent", w.grant("amy", "own"), "agent", "not_found not-found"},
		{"a group, another user", w.grant("bob", ""), "group", ""},
		{"a group, another agent", w.grant("bob", "low"), "group", ""},
		{"a group that it may read", w.grant("bob", "reader"), "group", "denied scope-denied"},
		{"a group that is nothing to it", w.grant("amy", "own"), "group", "not_found not-found"},
		{"policy, a group", stranger, "group", "not_found not-found"},
		{"policy, another agent's", stranger, "agent", "not_found not-found"},
		{"NUL in the id", w.grant("", ""), "a\x00", "invalid bad-field"},
		{"no id", w.grant("", ""), "", "invalid bad-field"},
		{"no id behind the prefix", w.grant("", ""), "agent:", "invalid bad-field"},
	} {
		_, err := w.Append(t.Context(), c.g, c.id, remember.AppendRequest{Messages: []remember.NewMessage{hello()}})
		_, _, _, putErr := w.PutSession(t.Context(), c.g, c.id, remember.SessionRequest{Metadata: json.RawMessage(`{"a":1}`)})
		if c.want == "" {
			if err != nil || putErr != nil {
				t.Errorf("%s: %v, %v", c.name, err, putErr)
			}
			before = w.all()
			continue
		}
		refused(t, c.name, err, c.want, "")
		refused(t, c.name+", put", putErr, c.want, "")
		_, err = w.DeleteSession(t.Context(), c.g, c.id)
		refused(t, c.name+", delete", err, c.want, "")
		if after := w.all(); after != before {
			t.Fatalf("%s changed something:\n%s\n%s", c.name, before, after)
		}
	}

	// Making one takes the right to the scope where it would be placed.
	w.append(stranger, "mine", hello())
	if s := w.session("mine"); s.Agent != "stranger" || s.User != "amy" {
		t.Errorf("%+v", s)
	}
	_, err = w.Append(t.Context(), stranger, "new", remember.AppendRequest{Group: "team", Messages: []remember.NewMessage{hello()}})
	refused(t, "a new one in a group", err, "denied scope-denied", "")
	_, err = w.DeleteSession(t.Context(), stranger, "missing")
	refused(t, "delete a missing one", err, "not_found not-found", "")
	_, err = w.DeleteSession(t.Context(), w.grant("", ""), "missing")
	refused(t, "delete a missing one", err, "not_found not-found", "")
}

func TestDeleteSession(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	w.append(g, "s", remember.NewMessage{ID: "m1", Role: "user", Content: json.RawMessage(`"old"`)}, hello())
	n, err := w.DeleteSession(t.Context(), g, "agent:s")
	if err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	out := w.append(w.grant("bob", ""), "s", remember.NewMessage{ID: "m1", Role: "user", Content: json.RawMessage(`"new"`)})
	if *out.Items[0].Seq != 1 || out.Items[0].Duplicate || w.session("s").User != "bob" {
		t.Errorf("the id used again: %+v", out)
	}
}

func TestAppendReopens(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	w.append(g, "s", hello())
	s := w.session("s")
	s.State = "ended"
	if err := w.store.Write(t.Context(), func(tx memoryd.Tx) error { _, err := tx.Sessions.Put(s); return err }); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	w.append(g, "s", hello())
	if s := w.session("s"); s.State != "open" || s.LastSeq != 2 || !s.Updated.Equal(w.now) {
		t.Errorf("%+v", s)
	}
}

// Many begin the same session at once, as different users: one of them has it, the others are told it is not theirs.
func TestOneSessionOfManyCreators(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for _, user := range []string{"amy", "bob", "eve", "dan"} {
		g := w.grant(user, "")
		for range 5 {
			wg.Go(func() {
				_, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Messages: []remember.NewMessage{said("user", user)}})
				if err != nil && memoryd.CodeOf(err) != memoryd.NotFound {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	owner := w.session("s").User
	list := w.messages("s")
	if len(list) != 5 {
		t.Errorf("%d messages", len(list))
	}
	for i, m := range list {
		if m.Text != owner || m.Seq != int64(i+1) {
			t.Errorf("message %d of %s: %s", m.Seq, owner, m.Text)
		}
	}
}
