package main

import (
	"errors"

	"memoryd"
	"memoryd/internal/access"
)

// words turns values of the vocabulary's own types into the words that a file holds.
func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// access is what the configuration says of keys and agents.
func (c *config) access(store memoryd.Store, loopback bool) access.Options {
	d := &c.Agents.Default
	o := access.Options{
		Store: store, Loopback: loopback, Mode: c.Auth.Mode, DefaultTenant: c.Auth.DefaultTenant,
		Default: access.AgentConfig{
			LongTerm: &d.LongTerm, ContextRounds: &d.ContextRounds, WindowTokens: &d.WindowTokens, MemoryTokens: &d.MemoryTokens,
			FilterSensitive: d.FilterSensitive, MinTrust: memoryd.Trust(d.MinTrust), MaxTrust: memoryd.Trust(d.MaxTrust),
		},
		Policy: access.AgentConfig{
			Read: c.Agents.Policy.Read, Write: c.Agents.Policy.Write, AllowedTypes: types(c.Agents.Policy.AllowedTypes),
		},
		Named: make(map[string]access.AgentConfig, len(c.Agents.Named)),
	}
	for name, a := range c.Agents.Named {
		o.Named[name] = access.AgentConfig{
			LongTerm: a.LongTerm, ContextRounds: a.ContextRounds, WindowTokens: a.WindowTokens, MemoryTokens: a.MemoryTokens,
			FilterSensitive: a.FilterSensitive, MinTrust: memoryd.Trust(a.MinTrust), MaxTrust: memoryd.Trust(a.MaxTrust),
			Read: a.Read, Write: a.Write, AllowedTypes: types(a.AllowedTypes), Operator: a.Operator,
		}
	}
	return o
}

// types keeps nil, which says nothing, apart from an empty list, which allows nothing.
func types(list []string) []memoryd.Type {
	if list == nil {
		return nil
	}
	out := make([]memoryd.Type, len(list))
	for i, t := range list {
		out[i] = memoryd.Type(t)
	}
	return out
}

// checkAgents has access read the agents: it alone knows the grammar of rights. Its errors carry the configuration's keys.
func (r *reader) checkAgents(c *config) {
	_, err := access.New(c.access(nil, true))
	var bad *memoryd.Error
	if errors.As(err, &bad) && len(bad.Fields) > 0 {
		for _, f := range bad.Fields {
			r.fail(f.Path, "%s", f.Message)
		}
	} else if err != nil {
		r.errs = append(r.errs, err)
	}
}
