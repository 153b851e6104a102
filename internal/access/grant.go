// Package access turns a credential into a Grant: whose memory, which scopes to read and to write, which types, how
// much trust. Only this package mints Grants, and no handler takes identity from anywhere else.
package access

import (
	"slices"

	"memoryd"
)

// Ask is the identity that a request names in its fields; it may only repeat or narrow what the credential gives.
type Ask struct {
	Tenant string // operators only
	User   string
	Agent  string
}

// Settings is what the configuration says of an agent, its defaults filled in.
type Settings struct {
	LongTerm        bool
	ContextRounds   int
	WindowTokens    int // 0: sessions.window_tokens
	MemoryTokens    int // 0: context.memory_tokens
	FilterSensitive *bool
	MinTrust        memoryd.Trust
}

// Grant is what one request may do. The zero Grant may do nothing.
type Grant struct {
	tenant   string
	home     bool   // the tenant is the default one, which is always there
	user     string // bound or named, "" for neither
	bound    string // the user that the credential is bound to, "" for any
	agent    string // bound or named
	writer   string
	operator bool
	manages  bool           // the tenant's agents and users
	reads    memoryd.Scopes // of memories
	writes   memoryd.Scopes // of memories
	types    []memoryd.Type // nil: all
	limited  bool           // types counts, even when it is empty
	maxTrust memoryd.Trust
	settings Settings
	notes    []string
}

// DefaultUser is who a request is about when it names nobody.
const DefaultUser = "default"

// Tenant is the wall around everything this grant reaches.
func (g Grant) Tenant() string { return g.tenant }

// Owner is whose memory creating, listing, searching and context are about: the user named or bound, else "default".
func (g Grant) Owner() memoryd.Owner {
	if g.user == "" {
		return memoryd.Owner{Tenant: g.tenant, User: DefaultUser}
	}
	return memoryd.Owner{Tenant: g.tenant, User: g.user}
}

// Reach is what routes by id may touch: the user named or bound, else every user of the tenant.
func (g Grant) Reach() memoryd.Owner { return memoryd.Owner{Tenant: g.tenant, User: g.user} }

// User is the user named or bound, "" for neither.
func (g Grant) User() string { return g.user }

// MayQuote says whether words may be stored as that user's: a credential that is bound to one user speaks for nobody
// else.
func (g Grant) MayQuote(user string) bool { return g.bound == "" || g.bound == user }

// Agent is the agent named or bound, "" for neither.
func (g Grant) Agent() string { return g.agent }

// Writer is what provenance and versions call the credential; never the key itself.
func (g Grant) Writer() string { return g.writer }

// Operator says whether the credential reaches all tenants and settings.
func (g Grant) Operator() bool { return g.operator }

// Manages says whether the credential may see the tenant as a whole and set its agents: an operator's or the tenant's.
func (g Grant) Manages() bool { return g.manages }

// Reads is the scopes whose memories may be read.
func (g Grant) Reads() memoryd.Scopes { return g.reads }

// Writes is the scopes whose memories may be written.
func (g Grant) Writes() memoryd.Scopes { return g.writes }

// SessionReads is the scopes whose sessions and turns may be read: an agent's own always counts.
func (g Grant) SessionReads() memoryd.Scopes { return g.withOwn(g.reads) }

// SessionWrites is the scopes whose sessions may be appended to: an agent's own always counts.
func (g Grant) SessionWrites() memoryd.Scopes { return g.withOwn(g.writes) }

func (g Grant) withOwn(s memoryd.Scopes) memoryd.Scopes {
	if g.agent == "" {
		return s
	}
	return s.With(memoryd.AgentScope(g.agent))
}

// AllowsType says whether memories of the type may be written.
func (g Grant) AllowsType(t memoryd.Type) bool {
	return !g.limited || slices.Contains(g.types, t)
}

// MaxTrust is the cap on what this writer may claim.
func (g Grant) MaxTrust() memoryd.Trust { return g.maxTrust }

// Settings is the agent's, or the defaults where none is named or it is unknown.
func (g Grant) Settings() Settings { return g.settings }

// Notes is what the answer must say of how the request was read (agent_unknown).
func (g Grant) Notes() []string { return slices.Clone(g.notes) }

// ForUser is the grant narrowed to a user, where it names none yet. A grant that names another user answers
// ErrNotFound.
func (g Grant) ForUser(user string) (Grant, error) {
	if g.user == user {
		return g, nil
	}
	if g.user != "" {
		return Grant{}, memoryd.ErrNotFound
	}
	g.user = user
	return g, nil
}
