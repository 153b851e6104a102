package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/recall"
	"memoryd/internal/remember"
)

// NewMemory is one memory to keep.
type NewMemory struct {
	Text       string            `json:"text" doc:"The statement, in a sentence or two that can stand alone. Control characters are taken out, note cleaned." minLength:"1" maxLength:"16384" example:"Prefers tea without sugar"`
	Scope      string            `json:"scope" doc:"Who shares it: global (the user's own, for all agents that may), dm, group:ID, agent:ID, or agent:self for the agent named." minLength:"1" maxLength:"134" example:"global"`
	Type       string            `json:"type,omitempty" doc:"What kind of statement it is. Absent: by its words, else task_log, which decays." enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
	Form       string            `json:"form,omitempty" doc:"The form of its content. Absent: by type and source." enum:"text,pref,skill,tool"`
	Trust      string            `json:"trust,omitempty" doc:"How far it is to be believed. Absent: by source. What the writer may not claim is lowered, note trust_lowered." enum:"high,medium,low"`
	Source     string            `json:"source,omitempty" doc:"Where it came from. Absent: agent_output when an agent is named, else user_direct." enum:"user_direct,user_said,user_approved,user_confirmed,agent_output,tool_result,tool_output,web_scrape,inferred,agent_inferred,import,migration,consolidation"`
	Importance int               `json:"importance,omitempty" doc:"1 to 10. Absent: the middle of the type's band." minimum:"1" maximum:"10"`
	Occurred   *NewSpan          `json:"occurred,omitempty" doc:"When it was true, where that is not now."`
	Expires    Time              `json:"expires,omitzero" doc:"From when on it is no longer found. Absent: never."`
	Labels     map[string]string `json:"labels,omitempty" doc:"Words to filter by."`
	Metadata   Object            `json:"metadata,omitempty" doc:"Your own data, kept as it is; it changes nothing about the memory."`
}

// NewSpan is a Span as a client gives it.
type NewSpan struct {
	Start Time `json:"start" doc:"When it began, or was."`
	End   Time `json:"end,omitzero" doc:"When it ended."`
}

func (m NewMemory) request() remember.AddRequest {
	r := remember.AddRequest{
		Text: m.Text, Scope: m.Scope, Type: memoryd.Type(m.Type), Form: memoryd.Form(m.Form), Trust: memoryd.Trust(m.Trust),
		Source: m.Source, Importance: m.Importance, Expires: m.Expires.ptr(), Labels: m.Labels, Metadata: []byte(m.Metadata),
	}
	if m.Occurred != nil {
		r.Occurred = &memoryd.Span{Start: m.Occurred.Start.Time, End: m.Occurred.End.ptr()}
	}
	return r
}

type addInput struct {
	Caller
	Repeatable
	Body AddBody
}

// AddBody is a memory to keep, and whose.
type AddBody struct {
	Who
	NewMemory
}

type addOutput struct {
	ETag     string `header:"ETag"`
	Replayed string `header:"Idempotency-Replayed"`
	Body     AddedMemory
}

// AddedMemory is what became of a memory to keep.
type AddedMemory struct {
	Memory Memory `json:"memory" doc:"The memory as it stands now."`
	State  string `json:"state" doc:"stored, or duplicate: an active memory of the same text stood in the scope and was confirmed." enum:"stored,duplicate"`
	Said
}

type batchInput struct {
	Caller
	Repeatable
	Body BatchBody
}

// BatchBody is memories to keep, of one user.
type BatchBody struct {
	Who
	Items []NewMemory `json:"items" doc:"Each is kept or refused on its own." minItems:"1" maxItems:"500"`
}

type batchOutput struct {
	Replayed string `header:"Idempotency-Replayed"`
	Body     BatchAnswer
}

// BatchAnswer is what became of each, in their order.
type BatchAnswer struct {
	Items []BatchResult `json:"items" doc:"What became of each, in the order of the request."`
	Said
}

// BatchResult is what became of one item.
type BatchResult struct {
	State   string   `json:"state" doc:"stored, duplicate, or refused for the reason in problem." enum:"stored,duplicate,refused"`
	Memory  *Memory  `json:"memory,omitempty" doc:"The memory, unless it was refused."`
	Problem *Problem `json:"problem,omitempty" doc:"Why it was refused."`
	Said
}

type listInput struct {
	Caller
	Page
	User    string   `query:"user" doc:"Whose memories; \"default\" when absent. Those of groups are the tenant's." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"amy"`
	Agent   string   `query:"agent" doc:"Only what this agent wrote, of what it may read." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"coder"`
	Scope   string   `query:"scope" doc:"One scope. Absent: every readable one." minLength:"1" maxLength:"134" example:"global"`
	Types   []string `query:"type" doc:"Types, separated by commas." minItems:"1" enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
	Forms   []string `query:"form" doc:"Forms, separated by commas." minItems:"1" enum:"text,pref,skill,tool"`
	Trusts  []string `query:"trust" doc:"Levels of trust, separated by commas." minItems:"1" enum:"high,medium,low"`
	Status  []string `query:"status" doc:"States, separated by commas. Absent: active." minItems:"1" enum:"active,quarantined,superseded,archived"`
	Q       string   `query:"q" doc:"A literal part of the text; no character in it is an operator." minLength:"1" maxLength:"8192"`
	Since   Time     `query:"since" doc:"Recorded at or after this time."`
	Until   Time     `query:"until" doc:"Recorded before this time."`
	Sort    string   `query:"sort" doc:"Largest or newest first." enum:"recorded,last_used,importance" default:"recorded"`
	filters labelFilter
}

// labelFilter is the label.NAME=VALUE parameters, which no struct tag can name.
type labelFilter map[string]string

// Resolve takes the labels along; the Caller's own part stays as it is.
func (in *listInput) Resolve(ctx huma.Context) []error {
	errs := in.Caller.Resolve(ctx)
	if in.req != nil {
		in.filters = in.req.labels
	}
	return errs
}

type memoriesOutput struct{ Body Memories }

// Memories is one page of memories.
type Memories struct {
	Items      []Memory `json:"items" doc:"The memories of this page."`
	NextCursor *string  `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

// ByID is what the routes of one thing take.
type ByID struct {
	Caller
	WhoQuery
	ID string `path:"id" doc:"Its id, percent-encoded where it holds other than letters and digits." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

type memoryOutput struct {
	ETag string `header:"ETag"`
	Body OneMemory
}

// OneMemory is a memory as an answer of its own.
type OneMemory struct {
	Memory
	Said
}

type versionsOutput struct{ Body Versions }

// Versions is what a memory was, oldest first; the last is what it is.
type Versions struct {
	Items      []Version `json:"items" doc:"Oldest first; the last one is the current one."`
	NextCursor *string   `json:"next_cursor" doc:"Always null: all versions are here."`
	Said
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

func oneMemory(m memoryd.Memory, notes []string) *memoryOutput {
	return &memoryOutput{ETag: etag(m.Version), Body: OneMemory{Memory: memoryOf(m), Said: Said{whole(notes)}}}
}

func (s *Server) addMemory(ctx context.Context, in *addInput) (*addOutput, error) {
	g, err := in.grant(ctx, in.Body.User, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	once := s.opt.Remember.Once(in.req.repeat)
	added, err := once.Add(ctx, g, in.Body.request())
	if err != nil {
		return nil, err
	}
	return &addOutput{
		ETag: etag(added.Memory.Version), Replayed: replayed(once.Replayed()),
		Body: AddedMemory{Memory: memoryOf(added.Memory), State: added.State, Said: Said{union(g.Notes(), added.Notes)}},
	}, nil
}

func (s *Server) addBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	g, err := in.grant(ctx, in.Body.User, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	requests := make([]remember.AddRequest, len(in.Body.Items))
	for i, m := range in.Body.Items {
		requests[i] = m.request()
	}
	once := s.opt.Remember.Once(in.req.repeat)
	list, err := once.AddBatch(ctx, g, requests)
	if err != nil {
		return nil, err
	}
	out := BatchAnswer{Items: make([]BatchResult, len(list)), Said: Said{union(g.Notes(), nil)}}
	for i, item := range list {
		if item.Err != nil {
			p := s.problem(item.Err, in.req.x.id)
			in.req.x.note(p)
			out.Items[i] = BatchResult{State: "refused", Problem: p, Said: Said{[]string{}}}
			continue
		}
		m := memoryOf(item.Memory)
		out.Items[i] = BatchResult{State: item.State, Memory: &m, Said: Said{whole(item.Notes)}}
	}
	return &batchOutput{replayed(once.Replayed()), out}, nil
}

func (s *Server) listMemories(ctx context.Context, in *listInput) (*memoriesOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	page, err := s.opt.Recall.Memories(ctx, g, recall.ListRequest{
		Scope:  in.Scope,
		Cursor: in.Cursor,
		Filter: memoryd.MemoryFilter{
			Statuses: as[memoryd.Status](in.Status), Types: as[memoryd.Type](in.Types), Forms: as[memoryd.Form](in.Forms),
			Trusts: as[memoryd.Trust](in.Trusts), Agent: in.Agent, Labels: in.filters, Contains: in.Q,
			Since: in.Since.Time, Until: in.Until.Time, Sort: memoryd.Sort(in.Sort), Limit: in.Limit,
		},
	})
	if err != nil {
		return nil, err
	}
	out := Memories{Items: make([]Memory, len(page.Items)), NextCursor: cursor(page.Next), Said: Said{union(g.Notes(), page.Notes)}}
	for i, m := range page.Items {
		out.Items[i] = memoryOf(m)
	}
	return &memoriesOutput{out}, nil
}

func (s *Server) getMemory(ctx context.Context, in *ByID) (*memoryOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	m, err := s.opt.Recall.Memory(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return oneMemory(m, g.Notes()), nil
}

// as gives words a type of their own.
func as[T ~string](words []string) []T {
	var out []T
	for _, w := range words {
		out = append(out, T(w))
	}
	return out
}

// version reads If-Match: a version, quoted or bare. 0 is any.
func version(header string) (int64, error) {
	text := strings.TrimSpace(header)
	if text == "" || text == "*" {
		return 0, nil
	}
	if len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, memoryd.BadField("If-Match", `takes the memory's version, such as "3"`)
	}
	return n, nil
}

func (s *Server) memories() {
	tags := []string{"Memories"}
	handle(s, huma.Operation{
		OperationID: "add-memory", Method: http.MethodPost, Path: "/v1/memories", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Keep a memory", Description: "Durable when answered. The same text in the same scope is a duplicate: it confirms the memory that is there.",
	}, s.addMemory)
	handle(s, huma.Operation{
		OperationID: "add-memories", Method: http.MethodPost, Path: "/v1/memories:batch", Tags: tags,
		Summary: "Keep up to 500 memories", Description: "A batch of the wrong shape is refused as a whole; what is refused for its scope, type or rights is refused item by item.",
	}, s.addBatch)
	handle(s, huma.Operation{
		OperationID: "list-memories", Method: http.MethodGet, Path: "/v1/memories", Tags: tags, Metadata: map[string]any{labelPrefix: true},
		Summary: "List memories", Description: "Beside the parameters below, label.NAME=VALUE asks for a label's value, once for each name.",
	}, s.listMemories)
	handle(s, huma.Operation{OperationID: "get-memory", Method: http.MethodGet, Path: "/v1/memories/{id}", Tags: tags, Summary: "Read a memory"}, s.getMemory)
	handle(s, huma.Operation{
		OperationID: "update-memory", Method: http.MethodPatch, Path: "/v1/memories/{id}", Tags: tags,
		Summary: "Change a memory", Description: "Fields that are absent stay as they are. With If-Match, only when the version is still that one, else 412.",
	}, s.patchMemory)
	handle(s, huma.Operation{
		OperationID: "delete-memory", Method: http.MethodDelete, Path: "/v1/memories/{id}", Tags: tags,
		Summary: "Delete a memory", Description: "It becomes archived, is no longer found, and can be restored.",
	}, s.deleteMemory)
	handle(s, huma.Operation{
		OperationID: "restore-memory", Method: http.MethodPost, Path: "/v1/memories/{id}/restore", Tags: tags,
		Summary: "Restore a memory", Description: "Makes an archived memory active again; 409 when an active one of the same text stands in its scope.",
	}, s.restoreMemory)
	handle(s, huma.Operation{OperationID: "list-versions", Method: http.MethodGet, Path: "/v1/memories/{id}/history", Tags: tags, Summary: "List a memory's versions"}, s.history)
}
