package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"memoryd"
)

// Grant answers what an identity may do, narrowed by what the request names. It never answers more than the identity
// has: an agent named under an operator's or a tenant's key takes away, never adds.
func (a *Access) Grant(ctx context.Context, id Identity, ask Ask) (Grant, error) {
	if id.IsZero() {
		return Grant{}, memoryd.Errorf(memoryd.Unauthenticated, "no-key", "a key is needed: send it as Authorization: Bearer mrd_…")
	}
	err := firstError(checkOptional("tenant", ask.Tenant), checkOptional("user", ask.User), checkOptional("agent", ask.Agent))
	if err != nil {
		return Grant{}, err
	}
	if err := id.permits(ask); err != nil {
		return Grant{}, err
	}
	g, err := a.unnarrowed(id, a.tenantOf(id, ask))
	if err != nil {
		return Grant{}, err
	}
	g.user, g.agent, g.bound = first(id.user, ask.User), first(id.agent, ask.Agent), id.user
	ag, known, err := a.lookUp(ctx, g.tenant, g.agent, ask.Tenant != "" && g.tenant != a.tenant)
	if err != nil {
		return Grant{}, err
	}
	switch {
	case g.agent == "":
		return g, nil
	case known:
	case id.kind == kindAgent:
		ag = a.policy
	default:
		g.notes = append(g.notes, "agent_unknown")
		g.settings = a.defaults
		return g, nil
	}
	g.narrow(ag, id.kind)
	return g, nil
}

// permits refuses what the credential's own binding excludes. The answer is the same whatever exists elsewhere.
func (id Identity) permits(ask Ask) error {
	outside := func(bound, asked string) bool { return asked != "" && bound != "" && asked != bound }
	refused := id.kind != kindOperator && outside(id.tenant, ask.Tenant)
	if id.kind == kindAgent {
		refused = refused || outside(id.agent, ask.Agent) || outside(id.user, ask.User)
	}
	if refused {
		return memoryd.Errorf(memoryd.Denied, "scope-denied", "the key is bound to another tenant, agent or user than the request names")
	}
	return nil
}

func (a *Access) tenantOf(id Identity, ask Ask) string {
	if id.kind == kindOperator && ask.Tenant != "" {
		return ask.Tenant
	}
	return id.tenant
}

// unnarrowed is what the identity may do when the request names no agent. An agent's is nothing until it is narrowed.
func (a *Access) unnarrowed(id Identity, tenant string) (Grant, error) {
	g := Grant{tenant: tenant, home: tenant == a.tenant, writer: id.writer, settings: a.defaults}
	switch id.kind {
	case kindOperator, kindTenant:
		g.operator, g.manages = id.kind == kindOperator, true
		g.reads, g.writes, g.maxTrust = memoryd.AllScopes(), memoryd.AllScopes(), memoryd.High
		// Nobody switched anything off: the switch is an agent's.
		g.settings.LongTerm = true
	case kindAgent:
		g.limited, g.maxTrust = true, memoryd.Low
	default:
		return Grant{}, fmt.Errorf("access: identity of kind %q", id.kind)
	}
	return g, nil
}

// narrow puts the agent's rights in the place of the credential's.
func (g *Grant) narrow(ag agent, kind string) {
	if kind == kindAgent {
		g.reads, g.writes = ag.read.of(g.agent), ag.write.of(g.agent)
		g.maxTrust, g.operator = ag.maxTrust, ag.operator
	} else {
		g.reads, g.writes = ag.read.of(g.agent).Within(g.reads), ag.write.of(g.agent).Within(g.writes)
		g.maxTrust, g.operator = ag.maxTrust.Lower(g.maxTrust), ag.operator && g.operator
	}
	g.manages = g.operator
	g.types, g.limited = ag.types, ag.limited
	g.settings = ag.settings
}

// lookUp finds the agent in the file, else among the tenant's stored ones. mustExist has the tenant checked too.
func (a *Access) lookUp(ctx context.Context, tenant, name string, mustExist bool) (ag agent, known bool, err error) {
	ag, known = a.named[name]
	if name == "" {
		known = false
	}
	if !mustExist && (known || name == "") {
		return ag, known, nil
	}
	var stored []byte
	err = a.store.Read(ctx, func(tx memoryd.Tx) error {
		stored = nil
		if mustExist {
			if _, err := tx.Tenants.Get(tenant); err != nil {
				return err
			}
		}
		if known || name == "" {
			return nil
		}
		var err error
		stored, err = tx.Agents.Get(tenant, name)
		if errors.Is(err, memoryd.ErrNotFound) {
			return nil
		}
		return err
	})
	if errors.Is(err, memoryd.ErrNotFound) {
		return agent{}, false, memoryd.ErrNotFound
	}
	if err != nil {
		return agent{}, false, fmt.Errorf("access: agent: %w", err)
	}
	if stored == nil {
		return ag, known, nil
	}
	ag, err = a.decode(stored)
	return ag, err == nil, err
}

// decode reads a stored agent. One that cannot be read is an error rather than an unknown agent, which under a
// tenant's key would have more rights.
func (a *Access) decode(stored []byte) (agent, error) {
	var c AgentConfig
	if err := json.Unmarshal(stored, &c); err != nil {
		return agent{}, fmt.Errorf("access: stored agent: %w", err)
	}
	ag, err := resolve("agent", a.base, c)
	if err != nil {
		return agent{}, fmt.Errorf("access: stored agent: %s", err)
	}
	ag.operator = false
	return ag, nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
