package memoryd

import (
	"encoding/json"
	"time"
)

// Type is what kind of statement a memory is.
type Type string

// The types.
const (
	Preference Type = "preference"
	Fact       Type = "fact"
	Procedure  Type = "procedure"
	Lesson     Type = "lesson"
	Decision   Type = "decision"
	TaskLog    Type = "task_log"
	Knowledge  Type = "knowledge"
)

// Types lists all types.
var Types = []Type{Preference, Fact, Procedure, Lesson, Decision, TaskLog, Knowledge}

// Form is the form of a memory's content, a dimension apart from its scope.
type Form string

// The forms.
const (
	FormText  Form = "text"
	FormPref  Form = "pref"
	FormSkill Form = "skill"
	FormTool  Form = "tool"
)

// Forms lists all forms.
var Forms = []Form{FormText, FormPref, FormSkill, FormTool}

// Trust says how far a text is to be believed.
type Trust string

// The levels of trust.
const (
	High   Trust = "high"
	Medium Trust = "medium"
	Low    Trust = "low"
)

// Rank orders trust: 3 high, 2 medium, 1 low, 0 anything else.
func (t Trust) Rank() int {
	switch t {
	case High:
		return 3
	case Medium:
		return 2
	case Low:
		return 1
	}
	return 0
}

// Lower is the lower of two levels.
func (t Trust) Lower(o Trust) Trust {
	if o.Rank() < t.Rank() {
		return o
	}
	return t
}

// Source says where a text came from.
type Source string

// The sources.
const (
	UserDirect    Source = "user_direct"
	UserApproved  Source = "user_approved"
	AgentOutput   Source = "agent_output"
	ToolResult    Source = "tool_result"
	Inferred      Source = "inferred"
	Imported      Source = "import"
	Consolidation Source = "consolidation"
)

// Status is where a memory stands in its life.
type Status string

// The states; only active memories are found unless others are asked for.
const (
	Active      Status = "active"
	Quarantined Status = "quarantined"
	Superseded  Status = "superseded"
	Archived    Status = "archived"
)

// Statuses lists the states that a caller may ask for.
var Statuses = []Status{Active, Quarantined, Superseded, Archived}

// Memory is one kept statement, with exactly one scope.
type Memory struct {
	Tenant string `json:"-"`
	Hash   string `json:"-"` // of the folded text; equal hashes in one scope are exact duplicates
	Tokens int    `json:"-"` // counted once, at write

	ID               string            `json:"id" doc:"UUIDv7"`
	User             string            `json:"user"`
	Agent            string            `json:"agent,omitempty" doc:"agent that wrote it"`
	Scope            Scope             `json:"scope"`
	Text             string            `json:"text"`
	Type             Type              `json:"type"`
	Form             Form              `json:"form"`
	Trust            Trust             `json:"trust"`
	Source           Source            `json:"source"`
	Status           Status            `json:"status"`
	Sensitive        bool              `json:"sensitive" doc:"holds personal data"`
	Importance       int               `json:"importance" doc:"1 to 10"`
	Strength         float64           `json:"strength" doc:"0 to 1, what decay leaves"`
	Occurred         *Span             `json:"occurred,omitempty" doc:"when it was true"`
	Recorded         time.Time         `json:"recorded" doc:"when it was learned"`
	LastConfirmed    *time.Time        `json:"last_confirmed,omitempty" doc:"when the same statement was last made again"`
	LastUsed         *time.Time        `json:"last_used,omitempty"`
	Uses             int64             `json:"uses"`
	Expires          *time.Time        `json:"expires,omitempty"`
	Immutable        bool              `json:"immutable"`
	Labels           map[string]string `json:"labels"`
	Metadata         json.RawMessage   `json:"metadata"`
	Provenance       Provenance        `json:"provenance"`
	ConsolidatedFrom []string          `json:"consolidated_from"`
	SupersededBy     string            `json:"superseded_by,omitempty"`
	ArchivedAt       *Archive          `json:"archived,omitempty"`
	Version          int64             `json:"version"`
	TypedBy          string            `json:"typed_by" doc:"given, rule or default"`
}

// Span is a time or a stretch of time.
type Span struct {
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end,omitempty"`
}

// Archive says when and why a memory left the active ones.
type Archive struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Provenance says how a memory came to be.
type Provenance struct {
	Writer     string   `json:"writer" doc:"the key that wrote it"`
	Agent      string   `json:"agent,omitempty"`
	Session    string   `json:"session,omitempty"`
	MessageIDs []string `json:"message_ids,omitempty"`
	Model      string   `json:"model,omitempty"`
	Prompt     string   `json:"prompt,omitempty"`
}

// Live says whether the memory may be found without being asked for by status.
func (m *Memory) Live(now time.Time) bool {
	return m.Status == Active && (m.Expires == nil || m.Expires.After(now))
}

// Partition is where the memory is indexed.
func (m *Memory) Partition() Partition { return PartitionOf(m.Tenant, m.User, m.Scope) }
