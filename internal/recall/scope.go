package recall

import (
	"strings"

	"memoryd"
	"memoryd/internal/access"
)

const noteNarrowed = "narrowed"

// reach is where one request looks, rights already taken into account.
type reach struct {
	memories memoryd.Scopes
	turns    memoryd.Scopes
	both     bool // global and another place were both asked for
	notes    []string
}

// unnamed is where a request looks that names no scope: global, the agent's own, and the group, or dm where there is
// none. What may not be read of these is left out.
func unnamed(g access.Grant, group string, dm *bool) reach {
	want := memoryd.ScopesOf(memoryd.Global)
	if a := g.Agent(); a != "" {
		want = want.With(memoryd.AgentScope(a))
	}
	if group != "" {
		want = want.With(memoryd.GroupScope(group))
	}
	if dm == nil && group == "" || dm != nil && *dm {
		want = want.With(memoryd.DM)
	}
	at := within(g, want)
	if group != "" && !at.turns.Has(memoryd.GroupScope(group)) {
		at.notes = append(at.notes, noteNarrowed)
	}
	return at
}

// within is what the grant may read of the scopes.
func within(g access.Grant, want memoryd.Scopes) reach {
	return reach{memories: g.Reads().Within(want), turns: g.SessionReads().Within(want)}
}

// searched resolves the scope of a search. One named scope takes global along where that may be read.
func searched(g access.Grant, req SearchRequest) (reach, error) {
	if req.Group != "" {
		if err := memoryd.CheckGroup("group", req.Group); err != nil {
			return reach{}, err
		}
	}
	switch group, cross := strings.CutPrefix(req.Scope, "cross:"); {
	case req.Scope == "":
		return unnamed(g, req.Group, req.DM), nil
	case req.Scope == "all":
		return reach{memories: g.Reads(), turns: g.SessionReads()}, nil
	case cross:
		return crossed(g, group)
	}
	s, err := named(g, req.Scope)
	if err != nil {
		return reach{}, err
	}
	return alone(g, s, req.Include)
}

// crossed is a group and global, both of which must be readable.
func crossed(g access.Grant, group string) (reach, error) {
	if err := memoryd.CheckGroup("scope", group); err != nil {
		return reach{}, memoryd.BadFieldAs("bad-scope", "scope", `the id after "cross:" names no group`)
	}
	s := memoryd.GroupScope(group)
	for _, x := range []memoryd.Scope{s, memoryd.Global} {
		if !g.Reads().Has(x) {
			return reach{}, refused(x)
		}
	}
	at := within(g, memoryd.ScopesOf(s, memoryd.Global))
	at.both = true
	return at, nil
}

// alone is one named scope with global beside it. The right to its memories and the right to its turns may differ:
// having neither that was asked for is refused, having one is noted.
func alone(g access.Grant, s memoryd.Scope, include []string) (reach, error) {
	at := within(g, memoryd.ScopesOf(s, memoryd.Global))
	memories, turns := wants(include)
	readable := memories && at.memories.Has(s)
	if !readable && !(turns && at.turns.Has(s)) {
		return reach{}, refused(s)
	}
	at.both = s != memoryd.Global && at.memories.Has(memoryd.Global)
	if memories && !readable || s != memoryd.Global && !at.both {
		at.notes = append(at.notes, noteNarrowed)
	}
	return at, nil
}

// named is the scope that a request names, "agent:self" resolved.
func named(g access.Grant, text string) (memoryd.Scope, error) {
	if text == memoryd.Self {
		if g.Agent() == "" {
			return "", memoryd.BadFieldAs("bad-scope", "scope", `"agent:self" needs an agent, and none is named`)
		}
		return memoryd.AgentScope(g.Agent()), nil
	}
	return memoryd.ParseScope("scope", text)
}

func refused(s memoryd.Scope) error {
	return memoryd.Errorf(memoryd.Denied, "scope-denied", "scope %q may not be read", string(s))
}

// wants says what a list of things to include asks for.
func wants(include []string) (memories, turns bool) {
	for _, w := range include {
		memories = memories || w == IncludeMemory
		turns = turns || w == IncludeTurn
	}
	return memories, turns
}

// query is a query within the reach, and whether there is anything that it may look at.
func (at reach) query(g access.Grant, text string, include []string) (memoryd.Query, bool) {
	q := memoryd.Query{Owner: g.Owner(), Text: text, BothSides: at.both}
	memories, turns := wants(include)
	q.Memories = memories && !at.memories.Empty()
	q.Turns = turns && !at.turns.Empty()
	switch {
	case q.Memories && q.Turns:
		q.Scopes, q.TurnScopes = at.memories, at.turns
	case q.Turns:
		q.Scopes = at.turns
	default:
		q.Scopes = at.memories
	}
	return q, q.Memories || q.Turns
}

// permitted drops hits that the query's rights do not cover, whatever a provider answers.
func permitted(q memoryd.Query, hits []memoryd.Hit) []memoryd.Hit {
	turns := q.TurnScopes
	if turns.Empty() {
		turns = q.Scopes
	}
	mine := func(tenant, user string, s memoryd.Scope) bool {
		return tenant == q.Owner.Tenant && (s.Group() != "" || q.Owner.User == "" || user == q.Owner.User)
	}
	out := make([]memoryd.Hit, 0, len(hits))
	for _, h := range hits {
		switch {
		case h.Memory != nil && q.Memories:
			m := h.Memory
			if q.Scopes.Has(m.Scope) && mine(m.Tenant, m.User, m.Scope) {
				out = append(out, h)
			}
		case h.Turn != nil && q.Turns:
			t := h.Turn
			if turns.Has(t.Scope) && mine(t.Tenant, t.User, t.Scope) && (q.NotSession == "" || t.Session != q.NotSession) {
				out = append(out, h)
			}
		}
	}
	return out
}
