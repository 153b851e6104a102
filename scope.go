package memoryd

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scope says who shares a memory: "global" (the user's own, for all agents that may), "dm" (the user, one-to-one),
// "group:ID" (a chat or team of the tenant) or "agent:ID" (one agent with that user).
type Scope string

// The two scopes without an id.
const (
	Global Scope = "global"
	DM     Scope = "dm"
)

// Self stands in requests and rights for the agent's own scope; it is resolved before anything is stored.
const Self = "agent:self"

// GroupScope is the scope of a group.
func GroupScope(id string) Scope { return Scope("group:" + id) }

// AgentScope is the scope of an agent.
func AgentScope(id string) Scope { return Scope("agent:" + id) }

// Group is the group's id, "" for other scopes.
func (s Scope) Group() string { return s.after("group:") }

// Agent is the agent's id, "" for other scopes.
func (s Scope) Agent() string { return s.after("agent:") }

func (s Scope) after(prefix string) string {
	if rest, ok := strings.CutPrefix(string(s), prefix); ok {
		return rest
	}
	return ""
}

// ParseScope reads a scope that names one place; wildcards and query words ("all", "cross:X") are refused.
func ParseScope(path, text string) (Scope, error) {
	s := Scope(text)
	if s == Global || s == DM {
		return s, nil
	}
	for _, prefix := range []string{"group:", "agent:"} {
		if id, ok := strings.CutPrefix(text, prefix); ok {
			if !validScopeID(id) {
				return "", BadFieldAs("bad-scope", path, "the id after %q takes 1 to 128 letters, digits and . _ @ + -, and no wildcard", prefix)
			}
			return s, nil
		}
	}
	return "", BadFieldAs("bad-scope", path, `want "global", "dm", "group:ID" or "agent:ID"`)
}

// CheckGroup refuses a group id that cannot stand in a scope.
func CheckGroup(path, id string) error {
	if !validScopeID(id) {
		return BadField(path, "takes 1 to 128 letters, digits and . _ @ + -, and is not . or ..")
	}
	return nil
}

func validScopeID(id string) bool {
	if id == "." || id == ".." || id == "" || utf8.RuneCountInString(id) > MaxID {
		return false
	}
	for _, r := range id {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._@+-", r) {
			return false
		}
	}
	return true
}

// MaxID is the length of the longest id, in characters.
const MaxID = 128

// CheckID refuses an id (tenant, user, agent, session, message) that is empty, too long, "." or "..", or holds
// control characters. Ids are compared byte for byte and never folded.
func CheckID(path, id string) error {
	switch {
	case id == "":
		return BadField(path, "is empty; an id takes 1 to %d characters", MaxID)
	case id == "." || id == "..":
		return BadField(path, "an id cannot be . or ..")
	case !utf8.ValidString(id):
		return BadField(path, "is not UTF-8")
	case utf8.RuneCountInString(id) > MaxID:
		return BadFieldAs("too-long", path, "is longer than %d characters", MaxID)
	case strings.ContainsFunc(id, unicode.IsControl):
		return BadField(path, "an id holds no control characters")
	}
	return nil
}

// Scopes is a set of scopes: single ones, and whole kinds.
type Scopes struct {
	Exact  []Scope
	Groups bool // every group of the tenant
	Agents bool // every agent's own
}

// AllScopes is every scope there is.
func AllScopes() Scopes { return Scopes{Exact: []Scope{Global, DM}, Groups: true, Agents: true} }

// ScopesOf is the set of the given ones.
func ScopesOf(list ...Scope) Scopes { return Scopes{Exact: list} }

// Has says whether the set holds the scope.
func (s Scopes) Has(x Scope) bool {
	switch {
	case s.Groups && strings.HasPrefix(string(x), "group:"):
		return true
	case s.Agents && strings.HasPrefix(string(x), "agent:"):
		return true
	}
	return slices.Contains(s.Exact, x)
}

// Empty says whether the set holds nothing.
func (s Scopes) Empty() bool { return len(s.Exact) == 0 && !s.Groups && !s.Agents }

// With is the set and one scope more.
func (s Scopes) With(x Scope) Scopes {
	if s.Has(x) {
		return s
	}
	s.Exact = append(slices.Clone(s.Exact), x)
	return s
}

// Within is what both sets hold.
func (s Scopes) Within(o Scopes) Scopes {
	out := Scopes{Groups: s.Groups && o.Groups, Agents: s.Agents && o.Agents}
	for _, x := range s.Exact {
		if o.Has(x) && !out.Has(x) {
			out.Exact = append(out.Exact, x)
		}
	}
	for _, x := range o.Exact {
		if s.Has(x) && !out.Has(x) {
			out.Exact = append(out.Exact, x)
		}
	}
	return out
}

// Owner is whose rows a call may touch: a user of a tenant, or with User "" every user of it. Rows in a group's scope
// belong to the whole tenant, so User does not narrow those.
type Owner struct {
	Tenant string
	User   string
}

// Partition is what is indexed and versioned together: a user's own rows, or (User "") those of one group.
type Partition struct {
	Tenant string
	User   string
	Group  string
}

// PartitionOf is where a row of that user and scope is indexed.
func PartitionOf(tenant, user string, s Scope) Partition {
	if g := s.Group(); g != "" {
		return Partition{Tenant: tenant, Group: g}
	}
	return Partition{Tenant: tenant, User: user}
}
