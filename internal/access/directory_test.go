package access_test

import (
	"slices"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

// Who may manage: an operator, the tenant, an agent that the file made an operator; nobody who is narrowed to an agent.
func TestManages(t *testing.T) {
	yes := true
	w := newWorld(t, access.Options{Loopback: true, Named: map[string]access.AgentConfig{"boss": {Operator: &yes}, "bot": {}}})
	op, _ := w.key(t, access.NewKey{Kind: "operator"})
	tenant, _ := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme"})
	agent := func(name string) string {
		secret, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: name})
		return secret
	}
	for name, c := range map[string]struct {
		secret string
		ask    access.Ask
		want   bool
	}{
		"operator": {op, access.Ask{}, true}, "operator in a tenant": {op, access.Ask{Tenant: "acme"}, true}, "operator as an agent": {op, access.Ask{Agent: "bot"}, false},
		"operator as an operator agent": {op, access.Ask{Agent: "boss"}, true}, "operator as somebody": {op, access.Ask{Agent: "stray"}, true},
		"tenant": {tenant, access.Ask{}, true}, "tenant as an agent": {tenant, access.Ask{Agent: "bot"}, false}, "tenant as an operator agent": {tenant, access.Ask{Agent: "boss"}, false},
		"agent": {agent("bot"), access.Ask{}, false}, "operator agent": {agent("boss"), access.Ask{}, true}, "stray": {agent("stray"), access.Ask{}, false},
	} {
		if g := w.grant(t, c.secret, c.ask); g.Manages() != c.want {
			t.Errorf("%s: %v", name, g.Manages())
		}
	}
	if !w.Local().Manages() {
		t.Error("who may open the store's file may do everything")
	}
}

// What is put is what the next grant is made of, and the file comes first.
func TestPutAgentCountsAtOnce(t *testing.T) {
	on := true
	w := newWorld(t, access.Options{Loopback: true, Named: map[string]access.AgentConfig{"filed": {Read: []string{"global"}}}})
	secret, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "bot"})
	tenant, _ := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme"})
	g := w.grant(t, tenant, access.Ask{})
	if w.grant(t, secret, access.Ask{}).Reads().Has(memoryd.DM) {
		t.Fatal("nobody gave it dm")
	}
	created, err := w.PutAgent(t.Context(), g, "bot", access.AgentConfig{LongTerm: &on, Read: []string{"dm"}, MaxTrust: memoryd.High})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	now := w.grant(t, secret, access.Ask{})
	if !now.Reads().Has(memoryd.DM) || now.Reads().Has(memoryd.Global) || !now.Settings().LongTerm || now.MaxTrust() != memoryd.High {
		t.Errorf("%+v", now)
	}
	_, err = w.PutAgent(t.Context(), g, "filed", access.AgentConfig{})
	wantError(t, err, memoryd.Conflict, "managed-by-config", "")
	_, err = w.PutAgent(t.Context(), g, "bot", access.AgentConfig{Operator: &on})
	wantError(t, err, memoryd.Invalid, "bad-field", "operator")
	_, err = w.PutAgent(t.Context(), g, "bot", access.AgentConfig{Write: []string{"dm", "group:*", "agent:"}})
	wantError(t, err, memoryd.Invalid, "bad-scope", "write[2]")
	_, err = w.PutAgent(t.Context(), now, "bot", access.AgentConfig{})
	wantError(t, err, memoryd.Denied, "denied", "")
	// Elsewhere the name means nothing.
	other, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "other", Agent: "bot"})
	if w.grant(t, other, access.Ask{}).Reads().Has(memoryd.DM) {
		t.Error("an agent is known in another tenant")
	}
	if err := w.DeleteAgent(t.Context(), g, "bot"); err != nil {
		t.Fatal(err)
	}
	if w.grant(t, secret, access.Ask{}).Reads().Has(memoryd.DM) {
		t.Error("a deleted agent is known")
	}
}

// A page ends where the next begins, also when what stood there has gone.
func TestPagesGoOnBehindWhatIsGone(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	for _, id := range []string{"a", "b", "c", "d"} {
		if _, err := w.PutAgent(t.Context(), w.Local(), id, access.AgentConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	page, next, err := w.Agents(t.Context(), w.Local(), access.Page{Limit: 2})
	if err != nil || len(page) != 2 || page[1].ID != "b" {
		t.Fatal(page, err)
	}
	if err := w.DeleteAgent(t.Context(), w.Local(), "b"); err != nil {
		t.Fatal(err)
	}
	page, next, err = w.Agents(t.Context(), w.Local(), access.Page{Limit: 2, Cursor: next})
	if err != nil || next != "" || !slices.EqualFunc(page, []string{"c", "d"}, func(a access.Agent, id string) bool { return a.ID == id }) {
		t.Fatal(page, next, err)
	}
}
