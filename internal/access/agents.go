package access

import (
	"fmt"
	"slices"

	"memoryd"
)

// AgentConfig is what may be said of an agent. Nil (or "") means that nothing is said, which is not the same as an
// empty list.
type AgentConfig struct {
	LongTerm        *bool         `json:"long_term,omitempty"`
	ContextRounds   *int          `json:"context_rounds,omitempty"`
	WindowTokens    *int          `json:"window_tokens,omitempty"` // 0: the configured one
	MemoryTokens    *int          `json:"memory_tokens,omitempty"` // 0: the configured one
	FilterSensitive string        `json:"filter_sensitive,omitempty"`
	MinTrust        memoryd.Trust `json:"min_trust,omitempty"`
	MaxTrust        memoryd.Trust `json:"max_trust,omitempty"`

	// Rights, not of the defaults. A pattern is a scope, group:*, agent:*, agent:self, or none.
	Read         []string       `json:"read,omitzero"`          // nil: as []
	Write        []string       `json:"write,omitzero"`         // nil: as []
	AllowedTypes []memoryd.Type `json:"allowed_types,omitzero"` // nil: all (in the policy: none)
	Operator     *bool          `json:"operator,omitempty"`     // counts for agents of the file only
}

func (c AgentConfig) grants() bool {
	return c.Read != nil || c.Write != nil || c.AllowedTypes != nil || c.Operator != nil
}

// agent is a checked AgentConfig with the defaults filled in.
type agent struct {
	settings Settings
	maxTrust memoryd.Trust
	read     rights
	write    rights
	types    []memoryd.Type
	limited  bool
	operator bool
}

const defaultRounds = 10

// The most that an agent's settings may ask for: what a request may ask for itself.
const (
	MaxRounds       = 1000
	MaxWindowTokens = 1_000_000
	MaxMemoryTokens = 100_000
)

// resolve checks c and fills in what it leaves open. path is where c stands in the configuration.
func resolve(path string, base, c AgentConfig) (agent, error) {
	a := agent{settings: Settings{ContextRounds: defaultRounds, MinTrust: memoryd.Low}, maxTrust: memoryd.Medium}
	for _, layer := range []AgentConfig{base, c} {
		if err := a.overlay(path, layer); err != nil {
			return agent{}, err
		}
	}
	var err error
	if a.read, err = parseRights(at(path, "read"), c.Read); err != nil {
		return agent{}, err
	}
	if a.write, err = parseRights(at(path, "write"), c.Write); err != nil {
		return agent{}, err
	}
	for i, t := range c.AllowedTypes {
		if !slices.Contains(memoryd.Types, t) {
			return agent{}, memoryd.BadField(at(path, fmt.Sprintf("allowed_types[%d]", i)), "want one of %v", memoryd.Types)
		}
	}
	a.types, a.limited = slices.Clone(c.AllowedTypes), c.AllowedTypes != nil
	a.operator = c.Operator != nil && *c.Operator
	return a, nil
}

// at is where a key of the agent at path stands; an agent of the API stands at none.
func at(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (a *agent) overlay(path string, c AgentConfig) error {
	if c.LongTerm != nil {
		a.settings.LongTerm = *c.LongTerm
	}
	for _, n := range []struct {
		name  string
		value *int
		into  *int
		limit int
	}{
		{"context_rounds", c.ContextRounds, &a.settings.ContextRounds, MaxRounds},
		{"window_tokens", c.WindowTokens, &a.settings.WindowTokens, MaxWindowTokens},
		{"memory_tokens", c.MemoryTokens, &a.settings.MemoryTokens, MaxMemoryTokens},
	} {
		if n.value == nil {
			continue
		}
		if *n.value < 0 || *n.value > n.limit {
			return memoryd.BadField(at(path, n.name), "want 0 to %d", n.limit)
		}
		*n.into = *n.value
	}
	for _, t := range []struct {
		name  string
		value memoryd.Trust
		into  *memoryd.Trust
	}{
		{"min_trust", c.MinTrust, &a.settings.MinTrust},
		{"max_trust", c.MaxTrust, &a.maxTrust},
	} {
		if t.value == "" {
			continue
		}
		if t.value.Rank() == 0 {
			return memoryd.BadField(at(path, t.name), "want high, medium or low")
		}
		*t.into = t.value
	}
	return a.overlayFilter(path, c.FilterSensitive)
}

func (a *agent) overlayFilter(path, value string) error {
	switch value {
	case "":
	case "auto":
		a.settings.FilterSensitive = nil
	case "true", "false":
		on := value == "true"
		a.settings.FilterSensitive = &on
	default:
		return memoryd.BadField(at(path, "filter_sensitive"), "want auto, true or false")
	}
	return nil
}

// rights is one list of patterns, before it is known whose "agent:self" is.
type rights struct {
	scopes memoryd.Scopes
	own    bool
}

// parseRights reads a list. The agent's own scope is implied unless the list holds "none"; what else stands beside
// "none" counts all the same.
func parseRights(path string, list []string) (rights, error) {
	none, self := false, false
	var r rights
	for i, text := range list {
		switch text {
		case "none":
			none = true
		case memoryd.Self:
			self = true
		case "group:*":
			r.scopes.Groups = true
		case "agent:*":
			r.scopes.Agents = true
		default:
			s, err := memoryd.ParseScope("", text)
			if err != nil {
				return rights{}, memoryd.BadFieldAs("bad-scope", fmt.Sprintf("%s[%d]", path, i),
					"want global, dm, group:ID, group:*, agent:ID, agent:*, agent:self or none; an ID takes 1 to 128 letters, digits and . _ @ + -")
			}
			r.scopes = r.scopes.With(s)
		}
	}
	r.own = self || !none
	return r, nil
}

func (r rights) of(agent string) memoryd.Scopes {
	s := r.scopes
	s.Exact = slices.Clone(s.Exact)
	if r.own {
		s = s.With(memoryd.AgentScope(agent))
	}
	return s
}
