// Package remember is the WRITE path: memories are added, changed, deleted and restored, and messages appended. It
// decides what a grant may write and what is stored of it; how it is stored is the Store's affair.
package remember

import (
	"encoding/json"
	"time"

	"memoryd"
	"memoryd/internal/guard"
)

// Options is what New needs.
type Options struct {
	Store memoryd.Store
	Guard guard.Guard
	Count func(text string) int    // tokens
	Fold  func(text string) string // how texts are compared: NFKC, lower case, Traditional as Simplified
	Now   func() time.Time
	NewID func() string // UUIDv7

	Working Working
}

// AddRequest is one memory to keep.
type AddRequest struct {
	Text       string
	Scope      string
	Type       memoryd.Type
	Form       memoryd.Form
	Trust      memoryd.Trust
	Source     string // other words for it (user_said, web_scrape) are understood
	Importance int    // 0: the middle of the type's band
	Occurred   *memoryd.Span
	Expires    *time.Time
	Labels     map[string]string
	Metadata   json.RawMessage
}

// Added is what became of an AddRequest.
type Added struct {
	Memory memoryd.Memory
	State  string // stored, duplicate
	Notes  []string
}

// BatchItem is what became of one item of a batch: Added, or the error that kept it out.
type BatchItem struct {
	Added
	Err error
}

// Patch changes a memory. Nil leaves a field as it is.
type Patch struct {
	IfVersion int64 // 0: whatever the version
	Text      *string
	Type      *memoryd.Type
	Expires   *time.Time
	NoExpiry  bool              // clears expires
	Labels    map[string]string // nil: as it is
	Metadata  json.RawMessage   // nil: as it is
}

// SessionRequest is what a session is created with.
type SessionRequest struct {
	Group    string
	Metadata json.RawMessage
}

// AppendRequest is messages to store in a session, which is created when it is missing.
type AppendRequest struct {
	Group    string // counts when it creates the session
	Mode     string // ModeAppend, or ModeSync where Messages is all that was said, old and new
	Messages []NewMessage
}

// NewMessage is a message as a client sends it. Content is a JSON string, a list of parts, or null.
type NewMessage struct {
	ID         string
	Role       memoryd.Role
	Content    json.RawMessage
	Name       string
	User       string
	ToolCalls  json.RawMessage
	ToolCallID string
	Kind       string // "": chat
	Time       *time.Time
	Metadata   json.RawMessage
}

// Appended is what became of an AppendRequest.
type Appended struct {
	Items   []AppendedItem
	LastSeq int64
	Notes   []string
}

// AppendedItem is what became of one message. Seq is nil for a dropped one.
type AppendedItem struct {
	ID        string `json:"id,omitempty"`
	Seq       *int64 `json:"seq"`
	Duplicate bool   `json:"duplicate"`
	Dropped   bool   `json:"dropped,omitempty" doc:"a child agent's message that is not chat is kept nowhere"`
}
