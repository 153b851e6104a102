package memoryd

import (
	"context"
	"time"
)

// Provider is where long-term memory is searched.
type Provider interface {
	// Search answers what the query may see, best first. It answers what it has with Degraded set where a part was
	// down, and an error only when it has nothing to say. It may be called concurrently.
	Search(ctx context.Context, q Query) (Found, error)
}

// Query asks a provider. Owner and Scopes are rights: nothing outside them may be answered.
type Query struct {
	Owner  Owner
	Scopes Scopes
	// TurnScopes is where turns are searched when that differs from Scopes (an agent's rights to memories and to
	// sessions may differ). Empty: as Scopes.
	TurnScopes Scopes
	Text       string
	Memories   bool // search memories
	Turns      bool // search turns

	Types    []Type
	Forms    []Form
	Statuses []Status // empty: active
	MinTrust Trust
	Labels   map[string]string
	// NotSensitive leaves out memories that hold personal data.
	NotSensitive bool
	// NotSession leaves out the turns of one session, which the caller shows anyway.
	NotSession string

	MinScore float64 // 0..1, for memories
	MinTurn  float64 // 0..1, for turns
	Limit    int     // hits in all; 0: no bound
	PerScope int     // memories of each scope; 0: no bound
	TurnMax  int     // turns; 0: no bound
	// BothSides keeps min(2, hits) of the global scope and of the others in the answer.
	BothSides bool
	// Preferences asks for that many active preferences of global and dm beside the hits, whatever their score.
	Preferences int
	Now         time.Time
}

// Found is what a provider answers.
type Found struct {
	Hits        []Hit
	Preferences []Hit // best score first, then importance × strength, then newest
	Degraded    []Degraded
}

// Hit is a memory or a turn that was found, with its score from 0 to 1.
type Hit struct {
	Score  float64
	Memory *Memory // nil for a turn
	Turn   *Turn   // nil for a memory
}

// Degraded says which part of an answer is missing or late, and why.
type Degraded struct {
	Part     string `json:"part" doc:"session, long_term, embedder, cache, ..."`
	Reason   string `json:"reason" doc:"timeout, error, ..."`
	ServedBy string `json:"served_by,omitempty" doc:"what answered instead"`
}
