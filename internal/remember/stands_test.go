package remember_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

// A request whose tenant is deleted between its grant and its write leaves nothing there.
func TestNothingIsWrittenToATenantThatIsGone(t *testing.T) {
	w := newWorld(t)
	operator := w.grant("", "")
	if _, _, err := w.access.PutTenant(t.Context(), operator, "acme", ""); err != nil {
		t.Fatal(err)
	}
	g, err := w.access.Grant(t.Context(), w.access.LocalIdentity(), access.Ask{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.access.DeleteTenant(t.Context(), operator, "acme"); err != nil {
		t.Fatal(err)
	}
	before := w.all()
	memory := remember.AddRequest{Text: "likes tea", Scope: "global"}
	for name, write := range map[string]func() error{
		"add":    func() error { _, err := w.Add(t.Context(), g, memory); return err },
		"batch":  func() error { _, err := w.AddBatch(t.Context(), g, []remember.AddRequest{memory}); return err },
		"repeat": func() error { _, err := w.Once(repeat("k", "POST", "1")).Add(t.Context(), g, memory); return err },
		"session": func() error {
			_, _, _, err := w.PutSession(t.Context(), g, "s", remember.SessionRequest{})
			return err
		},
		"append": func() error {
			_, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Messages: []remember.NewMessage{{Role: memoryd.RoleUser, Content: json.RawMessage(`"hi"`)}}})
			return err
		},
		"working": func() error {
			_, _, err := w.SetWorking(t.Context(), g, "run", "key", remember.WorkingRequest{Value: json.RawMessage("1")})
			return err
		},
		"agent": func() error { _, err := w.access.PutAgent(t.Context(), g, "bot", access.AgentConfig{}); return err },
		"key": func() error {
			_, _, err := w.access.CreateKey(t.Context(), g, access.NewKey{Kind: "operator"})
			return err
		},
		"its key": func() error {
			_, _, err := w.access.CreateKey(t.Context(), g, access.NewKey{Kind: "tenant"})
			return err
		},
	} {
		if err := write(); !errors.Is(err, memoryd.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.all() != before {
		t.Error("a write that was refused left something")
	}
	w.read(func(tx memoryd.Tx) error {
		if _, err := tx.Tenants.Get("acme"); !errors.Is(err, memoryd.ErrNotFound) {
			t.Errorf("the tenant: %v", err)
		}
		return nil
	})
}

// The default tenant is there without being made; from its first write on it has a row like others.
func TestTheFirstWriteMakesTheDefaultTenant(t *testing.T) {
	w := newWorld(t)
	w.add(w.grant("amy", ""), remember.AddRequest{Text: "likes tea", Scope: "global"})
	w.read(func(tx memoryd.Tx) error {
		if got, err := tx.Tenants.Get(access.DefaultTenant); err != nil || !got.Created.Equal(w.now) {
			t.Errorf("%+v %v", got, err)
		}
		return nil
	})
}

// What was appended to a session that is gone is gone with it, also when a session of the same id was made since.
func TestAppendOnceToASessionThatIsGone(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	ask := remember.AppendRequest{Messages: []remember.NewMessage{{ID: "m", Role: memoryd.RoleUser, Content: json.RawMessage(`"hi"`)}}}
	for _, session := range []string{"s", "agent:c"} {
		r := repeat(session, "POST", "1")
		if _, err := w.Once(r).Append(t.Context(), g, session, ask); err != nil {
			t.Fatal(err)
		}
		again := w.Once(r)
		if _, err := again.Append(t.Context(), g, session, ask); err != nil || !again.Replayed() {
			t.Errorf("%s: repeated: %v, replayed %v", session, err, again.Replayed())
		}
		if _, err := w.DeleteSession(t.Context(), g, session); err != nil {
			t.Fatal(err)
		}
		_, err := w.Once(r).Append(t.Context(), g, session, ask)
		refused(t, "deleted", err, "conflict idempotency", "")
		w.now = w.now.Add(time.Second)
		w.append(g, session, ask.Messages...)
		_, err = w.Once(r).Append(t.Context(), g, session, ask)
		refused(t, "made again", err, "conflict idempotency", "")
	}
}
