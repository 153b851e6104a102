package index

import (
	"time"

	"memoryd"
)

// Query says what may be found. The zero values of all but Scopes narrow nothing, except that memories must be active
// when no Statuses are given. An active memory that has expired is never found.
type Query struct {
	Words  Words
	Scopes memoryd.Scopes

	Types        []memoryd.Type
	Forms        []memoryd.Form
	Statuses     []memoryd.Status
	MinTrust     memoryd.Trust
	Labels       map[string]string // a turn has none, so it is left out when labels are asked for
	NotSensitive bool
	NotSession   string
	Now          time.Time

	// Done, when it is set, says that nobody waits for the answer any more: the search then ends with what it has. It
	// is asked often and must be cheap.
	Done func() bool
}

func (q *Query) done() bool { return q.Done != nil && q.Done() }

// filter is a query's conditions made ready for the rows of one partition.
type filter struct {
	scopes    []bool // by number
	types     uint32 // bits by place
	forms     uint32
	statuses  uint32
	trust     uint8
	labels    map[string]string
	sensitive bool
	now       int64 // what is active and expires at or before is left out
	session   *session
	nothing   bool
}

func (p *Partition) filter(q *Query) filter {
	f := filter{
		scopes: make([]bool, len(p.scopes.list)), trust: uint8(q.MinTrust.Rank()), labels: q.Labels,
		types: bits(memoryd.Types, q.Types), forms: bits(memoryd.Forms, q.Forms), statuses: bits(memoryd.Statuses, q.Statuses),
		sensitive: !q.NotSensitive, now: q.Now.UnixMicro(), nothing: true,
	}
	for i, scope := range p.scopes.list {
		f.scopes[i] = q.Scopes.Has(scope)
		f.nothing = f.nothing && !f.scopes[i]
	}
	if len(q.Statuses) == 0 {
		f.statuses = 1 << active()
	}
	if q.NotSession != "" {
		f.session = p.turns.sessions[q.NotSession]
	}
	return f
}

func active() uint8 { return place(memoryd.Statuses, memoryd.Active) }

// bits has a bit set for each place that is wanted, all of them when none is given.
func bits[T comparable](list, want []T) uint32 {
	if len(want) == 0 {
		return ^uint32(0)
	}
	n := uint32(0)
	for _, x := range want {
		if at := place(list, x); at > 0 {
			n |= 1 << at
		}
	}
	return n
}

func (f *filter) memory(m *memory) bool {
	switch {
	case !f.scopes[m.scope], m.trust < f.trust, m.sensitive && !f.sensitive,
		f.types>>m.typ&1 == 0, f.forms>>m.form&1 == 0, f.statuses>>m.status&1 == 0,
		m.expires != 0 && m.expires <= f.now && m.status == active():
		return false
	}
	for k, v := range f.labels {
		if got, ok := m.labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func (f *filter) turn(t *turn) bool {
	return f.scopes[t.scope] && t.trust >= f.trust
}

// Passes says whether the query may find the memory, as a row read later tells of itself.
func (q *Query) Passes(m *memoryd.Memory) bool {
	p := Partition{scopes: scopes{ids: map[memoryd.Scope]uint32{}}}
	row := p.rowOf(m)
	f := p.filter(q)
	return f.memory(&row)
}

// PassesTurn says whether the query may find the turn.
func (q *Query) PassesTurn(t *memoryd.Turn) bool {
	return len(q.Labels) == 0 && q.Scopes.Has(t.Scope) && t.Trust.Rank() >= q.MinTrust.Rank() &&
		(q.NotSession == "" || t.Session != q.NotSession)
}
