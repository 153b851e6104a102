// Package recall is the READ path: the context of a request (session window, long-term memory, budget), search, and
// reading single things. It decides what a grant may see of it, and counts what was shown; where things are kept is
// the Store's and the Provider's affair.
package recall

import (
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"memoryd"
)

// Options is what New needs. Numbers are what holds where neither a request nor an agent's settings say otherwise.
type Options struct {
	Store    memoryd.Store
	Provider memoryd.Provider
	Count    func(text string) int // tokens
	Now      func() time.Time      // nil: time.Now
	NewID    func() string         // random, for fences; nil: crypto/rand
	Log      *slog.Logger          // nil: none
	Zone     *time.Location        // of times that carry none

	// These cannot be zero: zero is the default.
	MessagesPerRound int           // 3
	WindowTokens     int           // 16000
	Alternation      string        // merge or trim
	Workers          int           // 64, for both arms of all requests together
	SessionTimeout   time.Duration // 300 ms
	LongTermTimeout  time.Duration // 800 ms
	MemoryTokens     int           // 4000
	ItemsPerScope    int           // 10
	ItemChars        int           // 1000
	TopK             int           // 10
	Include          []string      // memory, turn; of a context

	// Of these, zero is none. Beside them stands what is usual.
	SummaryTokens int     // 2000, at most half of the window
	ProfileShare  float64 // 0.6
	TurnItems     int     // 100
	Preferences   int     // 6
	QueryContext  int     // 200 characters
	Floor         float64 // 0.3
}

// withDefaults fills in what the caller left at zero and what cannot be zero.
func (o Options) withDefaults() Options {
	number(&o.MessagesPerRound, 3)
	number(&o.WindowTokens, 16000)
	number(&o.Workers, 64)
	number(&o.SessionTimeout, 300*time.Millisecond)
	number(&o.LongTermTimeout, 800*time.Millisecond)
	number(&o.MemoryTokens, 4000)
	number(&o.ItemsPerScope, 10)
	number(&o.ItemChars, 1000)
	number(&o.TopK, 10)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Include) == 0 {
		o.Include = []string{IncludeMemory, IncludeTurn}
	}
	return o
}

// number sets what is zero.
func number[T int | time.Duration](field *T, otherwise T) {
	if *field == 0 {
		*field = otherwise
	}
}

// Reader answers requests. It is safe for concurrent use.
type Reader struct {
	o     Options
	slots chan struct{} // one for each arm at work
	uses  *uses

	mu     sync.Mutex
	closed bool
	arms   sync.WaitGroup
}

// New makes a Reader; Close it when no request is left. Uses are counted where Run runs.
func New(o Options) *Reader {
	o = o.withDefaults()
	return &Reader{o: o, slots: make(chan struct{}, o.Workers), uses: newUses(o.Zone)}
}

// Close refuses further contexts and waits for the arms that still run, late ones too.
func (r *Reader) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.arms.Wait()
}

// What a request may include.
const (
	IncludeMemory = "memory"
	IncludeTurn   = "turn"
)

// ContextRequest asks for what belongs before a model request.
type ContextRequest struct {
	Query           string
	Session         string
	Group           string
	DM              *bool // nil: where there is no group
	LongTerm        *bool
	Context         string
	Rounds          *int
	WindowTokens    *int
	MemoryTokens    *int
	Include         []string
	FilterSensitive *bool
	MinTrust        memoryd.Trust
}

// Context is what to put before a model request.
type Context struct {
	Messages    []memoryd.Message  `json:"messages"`
	Summary     *memoryd.Summary   `json:"summary,omitempty"`
	UserProfile Part               `json:"user_profile" doc:"memories of global and dm"`
	Group       Part               `json:"group"`
	Agent       Part               `json:"agent"`
	Turns       Part               `json:"turns" doc:"what was said in other sessions"`
	Rendered    string             `json:"rendered" doc:"the long-term part as one fenced block of text, \"\" when there is none"`
	Tokens      ContextTokens      `json:"tokens"`
	Degraded    []memoryd.Degraded `json:"degraded"`
	Notes       []string           `json:"notes"`
	TookMS      ContextTook        `json:"took_ms"`
}

// Part is one group of a context. Text is its lines, each ended by a newline.
type Part struct {
	Text   string        `json:"text"`
	Tokens int           `json:"tokens"`
	Items  []memoryd.Hit `json:"items"`
}

// ContextTokens is what the parts cost. LongTerm counts rendered, header and fences included.
type ContextTokens struct {
	Messages int `json:"messages"`
	Summary  int `json:"summary"`
	LongTerm int `json:"long_term"`
}

// ContextTook is how long the arms and the whole took, in milliseconds.
type ContextTook struct {
	Session  float64 `json:"session"`
	LongTerm float64 `json:"long_term"`
	Total    float64 `json:"total"`
}

// SearchRequest asks for memories and turns.
type SearchRequest struct {
	Query    string
	Scope    string // "" : behaviour of an unnamed scope; else a scope, agent:self, all, cross:X
	Group    string
	DM       *bool
	Limit    int // 0: TopK
	Types    []memoryd.Type
	Forms    []memoryd.Form
	Statuses []memoryd.Status
	MinTrust memoryd.Trust
	MinScore *float64 // nil: Floor
	Include  []string
	Labels   map[string]string
	Context  string
}

// SearchResult is what a search found, best first.
type SearchResult struct {
	Hits     []memoryd.Hit
	Degraded []memoryd.Degraded
	Notes    []string
	TookMS   float64
}

// ListRequest pages through memories. Scope "" lists every readable one.
type ListRequest struct {
	Scope  string
	Filter memoryd.MemoryFilter // Sort, Limit and the narrowing fields; After is Cursor's
	Cursor string
}

// MemoryPage is one page of memories; Next is "" on the last one.
type MemoryPage struct {
	Items []memoryd.Memory
	Next  string
	Notes []string
}

// SessionsRequest pages through sessions.
type SessionsRequest struct {
	Agent, State string
	Limit        int
	Cursor       string
}

// SessionPage is one page of sessions; Next is "" on the last one.
type SessionPage struct {
	Items []memoryd.Session
	Next  string
}

// MessagesRequest pages back through a session's messages, or asks for the window as a context would hold it.
type MessagesRequest struct {
	BeforeSeq int64
	Limit     int
	Window    bool
	Cursor    string
}

// MessagePage is one page of messages, oldest first; Next leads further back and is "" at the session's start.
type MessagePage struct {
	Items   []memoryd.Message
	Summary *memoryd.Summary
	Next    string
	Notes   []string
}
