package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"memoryd"
)

// Agent is what is said of one agent: by the configuration file, for all tenants, or over the API, for one.
type Agent struct {
	AgentConfig
	ID   string
	File bool // the file says it, and it cannot be changed here
}

func errDenied(what string) error {
	return memoryd.Errorf(memoryd.Denied, "denied", "%s takes an operator's or the tenant's key", what)
}

// Agent answers an agent of the grant's tenant. An agent may look at itself; for it, others do not exist.
func (a *Access) Agent(ctx context.Context, g Grant, id string) (Agent, error) {
	if err := memoryd.CheckID("id", id); err != nil {
		return Agent{}, err
	}
	if !g.manages && g.agent != id {
		return Agent{}, memoryd.ErrNotFound
	}
	if c, ok := a.file[id]; ok {
		return Agent{c, id, true}, nil
	}
	var stored []byte
	err := a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		stored, err = tx.Agents.Get(g.tenant, id)
		return err
	})
	if err != nil {
		return Agent{}, fmt.Errorf("access: agent: %w", err)
	}
	return storedAgent(id, stored)
}

func storedAgent(id string, stored []byte) (Agent, error) {
	out := Agent{ID: id}
	if err := json.Unmarshal(stored, &out.AgentConfig); err != nil {
		return Agent{}, fmt.Errorf("access: stored agent: %w", err)
	}
	return out, nil
}

// Agents lists the agents that the grant's tenant has settings for, those of the file among them, by id.
func (a *Access) Agents(ctx context.Context, g Grant, p Page) (page []Agent, next string, err error) {
	if !g.manages {
		return nil, "", errDenied("listing agents")
	}
	var stored map[string][]byte
	err = a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		stored, err = tx.Agents.List(g.tenant)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("access: agents: %w", err)
	}
	for id := range a.file {
		stored[id] = nil
	}
	ids, next, err := cut(p, "agents", slices.Sorted(maps.Keys(stored)), func(id string) string { return id })
	if err != nil {
		return nil, "", err
	}
	for _, id := range ids {
		c, ok := a.file[id]
		entry := Agent{c, id, true}
		if !ok {
			if entry, err = storedAgent(id, stored[id]); err != nil {
				return nil, "", err
			}
		}
		page = append(page, entry)
	}
	return page, next, nil
}

// PutAgent sets all that is said of an agent of the grant's tenant, from the next request on.
func (a *Access) PutAgent(ctx context.Context, g Grant, id string, c AgentConfig) (created bool, err error) {
	if err := a.mayChange(g, id); err != nil {
		return false, err
	}
	if err := c.checkStored(a.base); err != nil {
		return false, err
	}
	settings, err := json.Marshal(c)
	if err != nil {
		return false, fmt.Errorf("access: put agent: %w", err)
	}
	now := a.now()
	err = a.store.Write(ctx, func(tx memoryd.Tx) error {
		if err := g.Stands(tx, now); err != nil {
			return err
		}
		_, err := tx.Agents.Get(g.tenant, id)
		created = errors.Is(err, memoryd.ErrNotFound)
		if err != nil && !created {
			return err
		}
		return tx.Agents.Put(g.tenant, id, settings)
	})
	if err != nil {
		return false, fmt.Errorf("access: put agent: %w", err)
	}
	return created, nil
}

// checkStored refuses what cannot be said of an agent over the API.
func (c AgentConfig) checkStored(base AgentConfig) error {
	if c.Operator != nil {
		return memoryd.BadField("operator", "only the configuration file makes an agent an operator")
	}
	_, err := resolve("", base, c)
	return err
}

// maxPatterns is how many scopes one list of an agent's rights names.
const maxPatterns = 1000

// CheckSettings refuses stored settings of an agent that PutAgent would not have stored.
func CheckSettings(stored []byte) error {
	var c AgentConfig
	d := json.NewDecoder(bytes.NewReader(stored))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return memoryd.BadField("settings", "cannot be read: %v", err)
	}
	for name, list := range map[string]int{"read": len(c.Read), "write": len(c.Write)} {
		if list > maxPatterns {
			return memoryd.BadFieldAs("too-long", name, "holds more than %d scopes", maxPatterns)
		}
	}
	return c.checkStored(AgentConfig{})
}

// CheckTenant refuses a tenant that PutTenant would not have stored.
func CheckTenant(id, name string) error {
	return firstError(memoryd.CheckID("id", id), checkName(name))
}

// DeleteAgent forgets what was said of an agent over the API: from then on it is one that is named nowhere.
func (a *Access) DeleteAgent(ctx context.Context, g Grant, id string) error {
	if err := a.mayChange(g, id); err != nil {
		return err
	}
	if err := a.store.Write(ctx, func(tx memoryd.Tx) error { return tx.Agents.Delete(g.tenant, id) }); err != nil {
		return fmt.Errorf("access: delete agent: %w", err)
	}
	return nil
}

func (a *Access) mayChange(g Grant, id string) error {
	if !g.manages {
		return errDenied("changing agents")
	}
	if err := memoryd.CheckID("id", id); err != nil {
		return err
	}
	if _, ok := a.file[id]; ok {
		return memoryd.Errorf(memoryd.Conflict, "managed-by-config", "the configuration file names this agent; change it there (SIGHUP reads it again)")
	}
	return nil
}

// Tenant answers a tenant. Operators only.
func (a *Access) Tenant(ctx context.Context, g Grant, id string) (memoryd.Tenant, error) {
	if !g.operator {
		return memoryd.Tenant{}, errNotOperator()
	}
	if err := memoryd.CheckID("id", id); err != nil {
		return memoryd.Tenant{}, err
	}
	var t memoryd.Tenant
	err := a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		t, err = tx.Tenants.Get(id)
		return err
	})
	if errors.Is(err, memoryd.ErrNotFound) && id == a.tenant {
		return memoryd.Tenant{ID: id}, nil
	}
	if err != nil {
		return memoryd.Tenant{}, fmt.Errorf("access: tenant: %w", err)
	}
	return t, nil
}

// Tenants lists the tenants by id, the default one in any case. Operators only.
func (a *Access) Tenants(ctx context.Context, g Grant, p Page) (page []memoryd.Tenant, next string, err error) {
	if !g.operator {
		return nil, "", errNotOperator()
	}
	var list []memoryd.Tenant
	err = a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		list, err = tx.Tenants.List()
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("access: tenants: %w", err)
	}
	at, found := slices.BinarySearchFunc(list, a.tenant, func(t memoryd.Tenant, id string) int { return strings.Compare(t.ID, id) })
	if !found {
		list = slices.Insert(list, at, memoryd.Tenant{ID: a.tenant})
	}
	return cut(p, "tenants", list, func(t memoryd.Tenant) string { return t.ID })
}

// PutTenant makes a tenant, or names it anew. Operators only.
func (a *Access) PutTenant(ctx context.Context, g Grant, id, name string) (t memoryd.Tenant, created bool, err error) {
	if !g.operator {
		return t, false, errNotOperator()
	}
	if err := CheckTenant(id, name); err != nil {
		return t, false, err
	}
	now := a.now()
	err = a.store.Write(ctx, func(tx memoryd.Tx) (err error) {
		if created, err = tx.Tenants.Put(memoryd.Tenant{ID: id, Name: name, Created: now}); err != nil {
			return err
		}
		t, err = tx.Tenants.Get(id)
		return err
	})
	if err != nil {
		return memoryd.Tenant{}, false, fmt.Errorf("access: put tenant: %w", err)
	}
	return t, created, nil
}

// DeleteTenant removes a tenant that holds no memory, in whatever status, and no session; its agents' settings go, and
// its keys are revoked. Operators only.
func (a *Access) DeleteTenant(ctx context.Context, g Grant, id string) error {
	if !g.operator {
		return errNotOperator()
	}
	if err := memoryd.CheckID("id", id); err != nil {
		return err
	}
	if id == a.tenant {
		return memoryd.Errorf(memoryd.Conflict, "conflict", "this is the default tenant, which stays; auth.default_tenant names it")
	}
	now := a.now()
	err := a.store.Write(ctx, func(tx memoryd.Tx) error {
		if _, err := tx.Tenants.Get(id); err != nil {
			return err
		}
		held, err := tx.Contents.Count(id)
		if err != nil {
			return err
		}
		if held.Active+held.Other+held.Sessions > 0 {
			return memoryd.Errorf(memoryd.Conflict, "conflict", "the tenant holds %d memories (%d of them active) and %d sessions; only an empty one can be deleted",
				held.Active+held.Other, held.Active, held.Sessions)
		}
		keys, err := tx.Keys.List(id)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := tx.Keys.Revoke(id, k.ID, now); err != nil {
				return err
			}
		}
		return tx.Contents.Drop(id)
	})
	a.keysChanged()
	if err != nil {
		return fmt.Errorf("access: delete tenant: %w", err)
	}
	return nil
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > memoryd.MaxID {
		return memoryd.BadFieldAs("too-long", "name", "is longer than %d characters", memoryd.MaxID)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return memoryd.BadField("name", "holds no control characters, and is UTF-8")
	}
	return nil
}
