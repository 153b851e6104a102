package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"memoryd"
)

// The kinds of rows, in the order in which a tenant's stand. A session's messages follow it, a memory's versions too.
const (
	rowExport   = "export" // the first line
	rowTenant   = "tenant"
	rowAgent    = "agent"
	rowSession  = "session"
	rowMessage  = "message"
	rowMemory   = "memory"
	rowVersion  = "version"
	rowManifest = "manifest" // the last line
)

type header struct {
	Row    string `json:"row"`
	Format int    `json:"format"`
}

type tenantRow struct {
	Row     string `json:"row"`
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Created stamp  `json:"created"`
}

type agentRow struct {
	Row      string          `json:"row"`
	Tenant   string          `json:"tenant"`
	ID       string          `json:"id"`
	Settings json.RawMessage `json:"settings"`
}

type sessionRow struct {
	Row       string          `json:"row"`
	Tenant    string          `json:"tenant"`
	ID        string          `json:"id"`
	User      string          `json:"user"`
	Agent     string          `json:"agent,omitempty"`
	Group     string          `json:"group,omitempty"`
	State     string          `json:"state"`
	LastSeq   int64           `json:"last_seq"`
	JudgedSeq int64           `json:"judged_seq"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Created   stamp           `json:"created"`
	Updated   stamp           `json:"updated"`
}

type messageRow struct {
	Row        string          `json:"row"`
	Tenant     string          `json:"tenant"`
	Session    string          `json:"session"`
	Seq        int64           `json:"seq"`
	ID         string          `json:"id"`
	Role       memoryd.Role    `json:"role"`
	Kind       string          `json:"kind"`
	Content    json.RawMessage `json:"content,omitempty"`
	Text       *string         `json:"text,omitempty"` // absent where content is that very string
	Name       string          `json:"name,omitempty"`
	User       string          `json:"user,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Time       stamp           `json:"time"`
	Recorded   stamp           `json:"recorded"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Tokens     int             `json:"tokens"`
	Trust      memoryd.Trust   `json:"trust"`
	Writer     string          `json:"writer"`
	Searchable bool            `json:"searchable"`
}

// memoryRow is a memory or, with replaced_by and replaced_at, a version of one.
type memoryRow struct {
	Row              string             `json:"row"`
	Tenant           string             `json:"tenant"`
	ID               string             `json:"id"`
	Version          int64              `json:"version"`
	User             string             `json:"user"`
	Agent            string             `json:"agent,omitempty"`
	Scope            memoryd.Scope      `json:"scope"`
	Text             string             `json:"text"`
	Type             memoryd.Type       `json:"type"`
	TypedBy          string             `json:"typed_by"`
	Form             memoryd.Form       `json:"form"`
	Trust            memoryd.Trust      `json:"trust"`
	Source           memoryd.Source     `json:"source"`
	Status           memoryd.Status     `json:"status"`
	Sensitive        bool               `json:"sensitive,omitempty"`
	Immutable        bool               `json:"immutable,omitempty"`
	Importance       int                `json:"importance"`
	Strength         float64            `json:"strength"`
	Occurred         *spanRow           `json:"occurred,omitempty"`
	Recorded         stamp              `json:"recorded"`
	LastConfirmed    *stamp             `json:"last_confirmed,omitempty"`
	LastUsed         *stamp             `json:"last_used,omitempty"`
	Uses             int64              `json:"uses,omitempty"`
	Expires          *stamp             `json:"expires,omitempty"`
	Archived         *archiveRow        `json:"archived,omitempty"`
	SupersededBy     string             `json:"superseded_by,omitempty"`
	Labels           map[string]string  `json:"labels,omitempty"`
	Metadata         json.RawMessage    `json:"metadata,omitempty"`
	Provenance       memoryd.Provenance `json:"provenance"`
	ConsolidatedFrom []string           `json:"consolidated_from,omitempty"`
	Tokens           int                `json:"tokens"`
	ReplacedBy       *string            `json:"replaced_by,omitempty"`
	ReplacedAt       *stamp             `json:"replaced_at,omitempty"`
}

type spanRow struct {
	Start stamp  `json:"start"`
	End   *stamp `json:"end,omitempty"`
}

type archiveRow struct {
	At     stamp  `json:"at"`
	Reason string `json:"reason"`
}

// stamp is a time to the microsecond with its offset, which RFC 3339 knows to the minute only. Whole seconds have no
// fraction.
type stamp struct{ time.Time }

func (s stamp) MarshalJSON() ([]byte, error) {
	t := s.Time
	if _, off := t.Zone(); off%60 != 0 {
		t = t.In(time.FixedZone("", off/60*60))
	}
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the year %d has more than four digits", y)
	}
	return t.AppendFormat(nil, `"2006-01-02T15:04:05.999999Z07:00"`), nil
}

func (s *stamp) UnmarshalJSON(text []byte) error {
	t, err := time.Parse(`"2006-01-02T15:04:05.999999999Z07:00"`, string(text))
	if err != nil {
		return fmt.Errorf("%.60s is not a time of RFC 3339 with an offset", text)
	}
	if _, off := t.Zone(); off == 0 {
		t = t.UTC() // not the host's zone where that has the same offset
	} else {
		t = t.In(time.FixedZone("", off))
	}
	s.Time = t.Truncate(time.Microsecond)
	return nil
}

func optStamp(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	return &stamp{*t}
}

func (s *stamp) opt() *time.Time {
	if s == nil {
		return nil
	}
	t := s.Time
	return &t
}

// emptyObject is left out of the file where an object may be absent.
const emptyObject = "{}"

func object(raw json.RawMessage) json.RawMessage {
	if string(raw) == emptyObject {
		return nil
	}
	return raw
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(emptyObject)
	}
	return compact(raw)
}

// compact takes out the blanks that somebody may have put between tokens: an export has none.
func compact(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, " \t\r\n") {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func rowOfSession(s memoryd.Session) *sessionRow {
	return &sessionRow{
		Row: rowSession, Tenant: s.Tenant, ID: s.ID, User: s.User, Agent: s.Agent, Group: s.Group, State: s.State, LastSeq: s.LastSeq,
		JudgedSeq: s.JudgedSeq, Metadata: object(s.Metadata), Created: stamp{s.Created}, Updated: stamp{s.Updated},
	}
}

func (r *sessionRow) session() memoryd.Session {
	return memoryd.Session{
		Tenant: r.Tenant, ID: r.ID, User: r.User, Agent: r.Agent, Group: r.Group, State: r.State, LastSeq: r.LastSeq,
		JudgedSeq: r.JudgedSeq, Metadata: orEmpty(r.Metadata), Created: r.Created.Time, Updated: r.Updated.Time,
	}
}

func rowOfMessage(s memoryd.Session, m memoryd.Message) *messageRow {
	r := &messageRow{
		Row: rowMessage, Tenant: s.Tenant, Session: s.ID, Seq: m.Seq, ID: m.ID, Role: m.Role, Kind: m.Kind, Content: m.Content,
		Name: m.Name, User: m.User, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Time: stamp{m.Time}, Recorded: stamp{m.Recorded},
		Metadata: object(m.Metadata), Tokens: m.Tokens, Trust: m.Trust, Writer: m.Writer, Searchable: m.Searchable,
	}
	if m.Text != plainText(m.Content) {
		r.Text = &m.Text
	}
	return r
}

func (r *messageRow) message() memoryd.Message {
	m := memoryd.Message{
		Seq: r.Seq, ID: r.ID, Role: r.Role, Kind: r.Kind, Content: compact(r.Content), Name: r.Name, User: r.User,
		ToolCalls: compact(r.ToolCalls), ToolCallID: r.ToolCallID, Time: r.Time.Time, Recorded: r.Recorded.Time, Metadata: orEmpty(r.Metadata), Tokens: r.Tokens,
		Trust: r.Trust, Writer: r.Writer, Searchable: r.Searchable,
	}
	if r.Text != nil {
		m.Text = *r.Text
	} else {
		m.Text = plainText(r.Content)
	}
	return m
}

// plainText is the words of a content that is a string, "" for others.
func plainText(content json.RawMessage) string {
	if len(content) == 0 || content[0] != '"' {
		return ""
	}
	var text string
	if json.Unmarshal(content, &text) != nil {
		return ""
	}
	return text
}

func rowOfMemory(m memoryd.Memory) *memoryRow {
	r := &memoryRow{
		Row: rowMemory, Tenant: m.Tenant, ID: m.ID, Version: m.Version, User: m.User, Agent: m.Agent, Scope: m.Scope, Text: m.Text, Type: m.Type,
		TypedBy: m.TypedBy, Form: m.Form, Trust: m.Trust, Source: m.Source, Status: m.Status, Sensitive: m.Sensitive, Immutable: m.Immutable,
		Importance: m.Importance, Strength: m.Strength, Recorded: stamp{m.Recorded}, LastConfirmed: optStamp(m.LastConfirmed),
		LastUsed: optStamp(m.LastUsed), Uses: m.Uses, Expires: optStamp(m.Expires), SupersededBy: m.SupersededBy, Labels: m.Labels,
		Metadata: object(m.Metadata), Provenance: m.Provenance, ConsolidatedFrom: m.ConsolidatedFrom, Tokens: m.Tokens,
	}
	if m.Occurred != nil {
		r.Occurred = &spanRow{stamp{m.Occurred.Start}, optStamp(m.Occurred.End)}
	}
	if m.ArchivedAt != nil {
		r.Archived = &archiveRow{stamp{m.ArchivedAt.At}, m.ArchivedAt.Reason}
	}
	return r
}

func rowOfVersion(v memoryd.Version) *memoryRow {
	r := rowOfMemory(v.Memory)
	r.Row, r.ReplacedBy, r.ReplacedAt = rowVersion, &v.ReplacedBy, &stamp{v.ReplacedAt}
	return r
}

// memory is the row without its hash, which follows from the text.
func (r *memoryRow) memory() memoryd.Memory {
	m := memoryd.Memory{
		Tenant: r.Tenant, ID: r.ID, Version: r.Version, User: r.User, Agent: r.Agent, Scope: r.Scope, Text: r.Text, Type: r.Type,
		TypedBy: r.TypedBy, Form: r.Form, Trust: r.Trust, Source: r.Source, Status: r.Status, Sensitive: r.Sensitive, Immutable: r.Immutable,
		Importance: r.Importance, Strength: r.Strength, Recorded: r.Recorded.Time, LastConfirmed: r.LastConfirmed.opt(),
		LastUsed: r.LastUsed.opt(), Uses: r.Uses, Expires: r.Expires.opt(), SupersededBy: r.SupersededBy, Labels: r.Labels,
		Metadata: orEmpty(r.Metadata), Provenance: r.Provenance, ConsolidatedFrom: r.ConsolidatedFrom, Tokens: r.Tokens,
	}
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	if m.ConsolidatedFrom == nil {
		m.ConsolidatedFrom = []string{}
	}
	if r.Occurred != nil {
		m.Occurred = &memoryd.Span{Start: r.Occurred.Start.Time, End: r.Occurred.End.opt()}
	}
	if r.Archived != nil {
		m.ArchivedAt = &memoryd.Archive{At: r.Archived.At.Time, Reason: r.Archived.Reason}
	}
	return m
}

func (r *memoryRow) version() memoryd.Version {
	return memoryd.Version{Memory: r.memory(), ReplacedBy: *r.ReplacedBy, ReplacedAt: r.ReplacedAt.Time}
}

// encode is the line of a row, its end included. Equal rows have equal lines.
func encode(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// equal says whether two rows have one line. A row that cannot be written is equal to none.
func equal(a, b any) bool {
	x, errX := encode(a)
	y, errY := encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
