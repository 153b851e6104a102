package memoryd

import (
	"encoding/json"
	"time"
)

// Role is who speaks in a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Session is one conversation; its messages are in order.
type Session struct {
	Tenant string `json:"-"`

	ID        string          `json:"id"`
	User      string          `json:"user"`
	Agent     string          `json:"agent,omitempty"`
	Group     string          `json:"group,omitempty"`
	State     string          `json:"state" enum:"open,ending,ended"`
	LastSeq   int64           `json:"last_seq"`
	JudgedSeq int64           `json:"judged_seq"`
	Summary   *Summary        `json:"summary,omitempty"`
	Metadata  json.RawMessage `json:"metadata"`
	Created   time.Time       `json:"created"`
	Updated   time.Time       `json:"updated"`
}

// Summary stands for the messages up to ThroughSeq.
type Summary struct {
	Text       string `json:"text"`
	ThroughSeq int64  `json:"through_seq"`
	Tokens     int    `json:"tokens"`
	Extractive bool   `json:"extractive"`
	Trust      Trust  `json:"-"`
}

// Scope is where the session's turns are placed, and the right that it takes to read or to append.
func (s *Session) Scope() Scope {
	switch {
	case s.Group != "":
		return GroupScope(s.Group)
	case s.Agent != "":
		return AgentScope(s.Agent)
	}
	return DM
}

// Partition is where the session's turns are indexed.
func (s *Session) Partition() Partition { return PartitionOf(s.Tenant, s.User, s.Scope()) }

// Message is one message of a session. Content is a JSON string, a list of parts, or null beside tool calls.
type Message struct {
	Text       string    `json:"-"` // the words in Content, for search and windows
	Tokens     int       `json:"-"` // of content and tool calls, counted once, at write
	Trust      Trust     `json:"-"`
	Writer     string    `json:"-"`
	Recorded   time.Time `json:"-"`
	Searchable bool      `json:"-"` // false for system, step and tool-call messages without words, and fenced blocks

	ID         string          `json:"id"`
	Seq        int64           `json:"seq"`
	Role       Role            `json:"role" enum:"system,user,assistant,tool"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name,omitempty"`
	User       string          `json:"user,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Kind       string          `json:"kind" enum:"chat,step,tool"`
	Time       time.Time       `json:"time"`
	Metadata   json.RawMessage `json:"metadata"`
}

// Turn is one message as search sees it.
type Turn struct {
	Tenant string `json:"-"`
	User   string `json:"-"` // the session's
	Text   string `json:"-"` // the message's, without blocks of memories that were rendered into it

	ID       string          `json:"id"`
	Session  string          `json:"session"`
	Seq      int64           `json:"seq"`
	Role     Role            `json:"role"`
	Name     string          `json:"name,omitempty"`
	Content  json.RawMessage `json:"content"`
	Time     time.Time       `json:"time"`
	Scope    Scope           `json:"scope"`
	Trust    Trust           `json:"trust"`
	Metadata json.RawMessage `json:"metadata"`
}

// TurnKey names a turn in its tenant.
type TurnKey struct {
	Session string
	Seq     int64
}
