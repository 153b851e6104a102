package recall

import (
	"strings"

	"memoryd"
	"memoryd/internal/access"
)

// ask is a ContextRequest with the agent's settings and the defaults filled in.
type ask struct {
	g       access.Grant
	query   string
	more    string
	session string
	group   string
	dm      *bool
	include []string

	rounds          int
	windowTokens    int
	memoryTokens    int
	longTerm        bool
	minTrust        memoryd.Trust
	filterSensitive *bool // nil: in groups
	unplaced        bool  // the session's head could not be read
	notes           []string
}

// ask checks a request and fills in what it leaves out: the agent's settings, then the configured defaults.
func (r *Reader) ask(g access.Grant, req ContextRequest) (ask, error) {
	err := first(
		checkTexts(req.Query, req.Context),
		checkNumber("rounds", req.Rounds, 0, MaxRounds),
		checkNumber("window_tokens", req.WindowTokens, 1, MaxWindowTokens),
		checkNumber("memory_tokens", req.MemoryTokens, 0, MaxMemoryTokens),
		checkTrust("min_trust", req.MinTrust),
		checkInclude(req.Include),
	)
	if err != nil {
		return ask{}, err
	}
	a := ask{g: g, query: req.Query, more: req.Context, group: req.Group, dm: req.DM, include: req.Include}
	if req.Session != "" {
		if a.session, err = sessionID(req.Session); err != nil {
			return ask{}, err
		}
	}
	if req.Group != "" {
		if err := memoryd.CheckGroup("group", req.Group); err != nil {
			return ask{}, err
		}
	}
	s := g.Settings()
	if len(a.include) == 0 {
		a.include = r.o.Include
	}
	a.rounds = given(req.Rounds, s.ContextRounds)
	a.windowTokens = given(req.WindowTokens, r.windowTokens(s))
	a.memoryTokens = given(req.MemoryTokens, positive(s.MemoryTokens, r.o.MemoryTokens))
	a.minTrust = req.MinTrust
	if a.minTrust == "" {
		a.minTrust = s.MinTrust
	}
	a.filterSensitive = req.FilterSensitive
	if a.filterSensitive == nil {
		a.filterSensitive = s.FilterSensitive
	}
	if on := given(req.LongTerm, g.Agent() == "" || s.LongTerm); !on {
		a.notes = append(a.notes, noteLongTermOff)
	} else {
		a.longTerm = a.memoryTokens > 0
	}
	return a, nil
}

// windowTokens is the window of the agent's settings, else the configured one.
func (r *Reader) windowTokens(s access.Settings) int {
	return positive(s.WindowTokens, r.o.WindowTokens)
}

// given is what was given, else the default.
func given[T any](x *T, otherwise T) T {
	if x != nil {
		return *x
	}
	return otherwise
}

// positive is n, or the default where n is unset.
func positive(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// sessionID is the session that an id means: "agent:X" is a child agent's name for X.
func sessionID(id string) (string, error) {
	parent, _ := strings.CutPrefix(id, "agent:")
	return parent, memoryd.CheckID("session", parent)
}

// sessionScopes is the scopes whose sessions the grant reaches. Where an agent is named, sessions outside groups must
// be its own; groups are everybody's who may read them.
func sessionScopes(g access.Grant) memoryd.Scopes {
	s := g.SessionReads()
	if g.Agent() == "" {
		return s
	}
	own := memoryd.ScopesOf(memoryd.AgentScope(g.Agent()))
	own.Groups = true
	return s.Within(own)
}

// lookUp finds a session. One that exists but is out of reach is ErrNotFound; there is false for none at all.
func lookUp(tx memoryd.Tx, g access.Grant, id string) (s memoryd.Session, there bool, err error) {
	s, err = tx.Sessions.Get(g.Reach(), sessionScopes(g), id)
	if err == nil {
		return s, true, nil
	}
	if memoryd.CodeOf(err) != memoryd.NotFound {
		return s, false, err
	}
	_, other := tx.Sessions.Get(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), id)
	switch {
	case other == nil:
		return memoryd.Session{}, false, memoryd.ErrNotFound
	case memoryd.CodeOf(other) == memoryd.NotFound:
		return memoryd.Session{}, false, nil
	}
	return memoryd.Session{}, false, other
}
