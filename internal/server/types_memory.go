package server

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

// Who is whose memory a request with a body is about.
type Who struct {
	User  string `json:"user,omitempty" doc:"Whose memory it is; \"default\" when absent. A key that is bound to a user may only repeat it." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"amy"`
	Agent string `json:"agent,omitempty" doc:"The agent on whose behalf. One with settings of its own narrows the request to its rights; an unknown name only attributes, note agent_unknown." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"coder"`
}

// WhoQuery is Who for requests without a body.
type WhoQuery struct {
	User  string `query:"user" doc:"Whose memory it is. Lists: \"default\" when absent. By id: must match when given, else 404." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"amy"`
	Agent string `query:"agent" doc:"The agent on whose behalf." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"coder"`
}

// Page is the part of a list that is asked for.
type Page struct {
	Limit  int    `query:"limit" doc:"Items a page." minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before; only with the same filters." minLength:"1" maxLength:"2048" pattern:"^[A-Za-z0-9_-]+$"`
}

// Said is what every answer says of how it was made.
type Said struct {
	Notes []string `json:"notes" doc:"Slugs of what was done differently from what was asked." example:"[\"cleaned\"]"`
}

// Memory is one kept statement.
type Memory struct {
	ID               string            `json:"id" doc:"UUIDv7." example:"0198f3a2-7c1d-7b2e-9a77-0c8f5d1e2b3a"`
	User             string            `json:"user" doc:"Whose it is."`
	Agent            string            `json:"agent,omitempty" doc:"The agent that wrote it."`
	Scope            string            `json:"scope" doc:"Who shares it: global, dm, group:ID or agent:ID." example:"global"`
	Text             string            `json:"text" doc:"The statement, as it was written less control characters." example:"Prefers tea without sugar"`
	Type             string            `json:"type" doc:"What kind of statement it is." enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
	Form             string            `json:"form" doc:"The form of its content." enum:"text,pref,skill,tool"`
	Trust            string            `json:"trust" doc:"How far it is to be believed." enum:"high,medium,low"`
	Source           string            `json:"source" doc:"Where it came from." enum:"user_direct,user_approved,agent_output,tool_result,inferred,import,consolidation"`
	Status           string            `json:"status" doc:"Where it stands in its life; only active ones are found unless others are asked for." enum:"active,quarantined,superseded,archived"`
	Sensitive        bool              `json:"sensitive" doc:"Whether it holds personal data."`
	Importance       int               `json:"importance" doc:"1 to 10." minimum:"1" maximum:"10"`
	Strength         float64           `json:"strength" doc:"0 to 1: what decay leaves." minimum:"0" maximum:"1"`
	Occurred         *Span             `json:"occurred,omitempty" doc:"When it was true."`
	Recorded         time.Time         `json:"recorded" doc:"When it was learned."`
	LastConfirmed    *time.Time        `json:"last_confirmed,omitempty" doc:"When the same statement was last made again."`
	LastUsed         *time.Time        `json:"last_used,omitempty" doc:"When it last stood in an answer."`
	Uses             int64             `json:"uses" doc:"How often it was used, once a day and session at most." minimum:"0"`
	Expires          *time.Time        `json:"expires,omitempty" doc:"From when on it is no longer found."`
	Immutable        bool              `json:"immutable" doc:"Whether its text may not change."`
	Labels           map[string]string `json:"labels" doc:"Words to filter by."`
	Metadata         Object            `json:"metadata" doc:"The writer's own data, as it was sent; never searched."`
	Provenance       Provenance        `json:"provenance" doc:"How it came to be."`
	ConsolidatedFrom []string          `json:"consolidated_from" doc:"Ids of the memories that it sums up."`
	SupersededBy     string            `json:"superseded_by,omitempty" doc:"Id of the memory that took its place."`
	Archived         *Archived         `json:"archived,omitempty" doc:"When and why it left the active ones."`
	Version          int64             `json:"version" doc:"Counts its changes, from 1; also its ETag, and what If-Match takes." minimum:"1"`
	TypedBy          string            `json:"typed_by" doc:"Who set the type." enum:"given,rule,default"`
}

// Span is a time, or with an end a stretch of time.
type Span struct {
	Start time.Time  `json:"start" doc:"When it began."`
	End   *time.Time `json:"end,omitempty" doc:"When it ended."`
}

// Archived says when and why a memory left the active ones.
type Archived struct {
	At     time.Time `json:"at" doc:"When."`
	Reason string    `json:"reason" doc:"Why." example:"deleted"`
}

// Provenance says how a memory came to be.
type Provenance struct {
	Writer     string   `json:"writer" doc:"The credential that wrote it; never the key itself." example:"key:4fB2xQ9a"`
	Agent      string   `json:"agent,omitempty" doc:"The agent on whose behalf."`
	Session    string   `json:"session,omitempty" doc:"The session that it was learned in."`
	MessageIDs []string `json:"message_ids" doc:"The messages that it was learned from."`
	Model      string   `json:"model,omitempty" doc:"The model that judged it."`
	Prompt     string   `json:"prompt,omitempty" doc:"The version of the prompt."`
}

func memoryOf(m memoryd.Memory) Memory {
	out := Memory{
		ID: m.ID, User: m.User, Agent: m.Agent, Scope: string(m.Scope), Text: m.Text, Type: string(m.Type), Form: string(m.Form),
		Trust: string(m.Trust), Source: string(m.Source), Status: string(m.Status), Sensitive: m.Sensitive, Importance: m.Importance,
		Strength: m.Strength, Recorded: m.Recorded, LastConfirmed: m.LastConfirmed, LastUsed: m.LastUsed, Uses: m.Uses,
		Expires: m.Expires, Immutable: m.Immutable, Labels: m.Labels, Metadata: Object(m.Metadata),
		ConsolidatedFrom: whole(m.ConsolidatedFrom), SupersededBy: m.SupersededBy, Version: m.Version, TypedBy: m.TypedBy,
		Provenance: Provenance{
			Writer: m.Provenance.Writer, Agent: m.Provenance.Agent, Session: m.Provenance.Session,
			MessageIDs: whole(m.Provenance.MessageIDs), Model: m.Provenance.Model, Prompt: m.Provenance.Prompt,
		},
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if m.Occurred != nil {
		out.Occurred = &Span{Start: m.Occurred.Start, End: m.Occurred.End}
	}
	if m.ArchivedAt != nil {
		out.Archived = &Archived{At: m.ArchivedAt.At, Reason: m.ArchivedAt.Reason}
	}
	return out
}

// Version is a memory as it was, or (the last one) as it is.
type Version struct {
	Memory
	ReplacedBy string     `json:"replaced_by" doc:"The credential that made the next version; empty for the current one."`
	ReplacedAt *time.Time `json:"replaced_at,omitempty" doc:"When; absent for the current one."`
}

func versionOf(v memoryd.Version) Version {
	out := Version{Memory: memoryOf(v.Memory), ReplacedBy: v.ReplacedBy}
	if !v.ReplacedAt.IsZero() {
		out.ReplacedAt = &v.ReplacedAt
	}
	return out
}

// Turn is one message of a session as search sees it.
type Turn struct {
	ID       string    `json:"id" doc:"The message's id."`
	Session  string    `json:"session" doc:"The session that it stands in."`
	Seq      int64     `json:"seq" doc:"Its place in the session, from 1." minimum:"1"`
	Role     string    `json:"role" doc:"Who speaks." enum:"system,user,assistant,tool"`
	Name     string    `json:"name,omitempty" doc:"The speaker's name."`
	Content  Content   `json:"content" doc:"What was said."`
	Time     time.Time `json:"time" doc:"When it was said."`
	Scope    string    `json:"scope" doc:"Who shares it: group:ID, agent:ID or dm."`
	Trust    string    `json:"trust" doc:"How far it is to be believed." enum:"high,medium,low"`
	Metadata Object    `json:"metadata" doc:"The writer's own data."`
}

// MemoryHit is a memory that was found.
type MemoryHit struct {
	Memory
	Kind             string   `json:"kind" doc:"What was found." enum:"memory"`
	Score            float64  `json:"score" doc:"0 to 1, of the same meaning for every query." minimum:"0" maximum:"1"`
	SourceMessageIDs []string `json:"source_message_ids" doc:"The messages that it was learned from."`
}

// TurnHit is a turn that was found.
type TurnHit struct {
	Turn
	Kind             string   `json:"kind" doc:"What was found." enum:"turn"`
	Score            float64  `json:"score" doc:"0 to 1, of the same meaning for every query." minimum:"0" maximum:"1"`
	SourceMessageIDs []string `json:"source_message_ids" doc:"The message itself."`
}

// Hit is a MemoryHit or a TurnHit, flat; kind tells them apart.
type Hit struct{ found any }

// Schema is one of the two.
func (Hit) Schema(r huma.Registry) *huma.Schema {
	memory := r.Schema(reflect.TypeFor[MemoryHit](), true, "MemoryHit")
	turn := r.Schema(reflect.TypeFor[TurnHit](), true, "TurnHit")
	return &huma.Schema{OneOf: []*huma.Schema{memory, turn}}
}

// MarshalJSON writes what was found.
func (h Hit) MarshalJSON() ([]byte, error) { return encode(h.found) }

func hitsOf(list []memoryd.Hit) []Hit {
	out := make([]Hit, 0, len(list))
	for _, h := range list {
		switch {
		case h.Memory != nil:
			m := memoryOf(*h.Memory)
			out = append(out, Hit{MemoryHit{Memory: m, Kind: "memory", Score: h.Score, SourceMessageIDs: m.Provenance.MessageIDs}})
		case h.Turn != nil:
			t := h.Turn
			out = append(out, Hit{TurnHit{
				Turn: Turn{
					ID: t.ID, Session: t.Session, Seq: t.Seq, Role: string(t.Role), Name: t.Name, Content: Content(t.Content),
					Time: t.Time, Scope: string(t.Scope), Trust: string(t.Trust), Metadata: Object(t.Metadata),
				},
				Kind: "turn", Score: h.Score, SourceMessageIDs: []string{t.ID},
			}})
		}
	}
	return out
}

var (
	_ json.Marshaler      = Hit{}
	_ huma.SchemaProvider = Hit{}
)
