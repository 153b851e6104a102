package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/access"
)

// Switch is true, false, or auto, which leaves it to the request.
type Switch string

// Schema is the three of them.
func (Switch) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeBoolean}, {Type: huma.TypeString, Enum: []any{"auto"}}}}
}

// MarshalJSON writes the words of a file as JSON's own.
func (s Switch) MarshalJSON() ([]byte, error) {
	if s == "true" || s == "false" {
		return []byte(s), nil
	}
	return json.Marshal(string(s))
}

// UnmarshalJSON reads either kind.
func (s *Switch) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*s = Switch(text)
	return nil
}

// AgentBody is what may be said of an agent. What is left out is as agents.default of the configuration says.
type AgentBody struct {
	LongTerm        *bool    `json:"long_term,omitempty" doc:"Whether a context looks into long-term memory unless the request says."`
	ContextRounds   *int     `json:"context_rounds,omitempty" doc:"How many rounds of a session a context reads." minimum:"0" maximum:"1000"`
	WindowTokens    *int     `json:"window_tokens,omitempty" doc:"The most tokens of a session's window; 0 for sessions.window_tokens." minimum:"0" maximum:"1000000"`
	MemoryTokens    *int     `json:"memory_tokens,omitempty" doc:"The most tokens of a context's rendered block; 0 for context.memory_tokens." minimum:"0" maximum:"100000"`
	FilterSensitive Switch   `json:"filter_sensitive,omitempty" doc:"Whether a context leaves out memories that hold personal data; auto: in groups."`
	MinTrust        string   `json:"min_trust,omitempty" doc:"What it is not to be shown when it is believed less." enum:"high,medium,low"`
	MaxTrust        string   `json:"max_trust,omitempty" doc:"The most that it may claim." enum:"high,medium,low"`
	Read            []string `json:"read,omitzero" doc:"Scopes to read: global, dm, group:ID, group:*, agent:ID, agent:*, agent:self, none. Its own is among them unless none is. Absent: its own only." maxItems:"1000"`
	Write           []string `json:"write,omitzero" doc:"Scopes to write, in the same words. Absent: its own only." maxItems:"1000"`
	AllowedTypes    []string `json:"allowed_types,omitzero" doc:"Types of memory that it may write; an empty list allows none. Absent: all." maxItems:"7" enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
}

// Agent is what is said of an agent, by the configuration file or over the API.
type Agent struct {
	ID        string `json:"id" doc:"The agent's id."`
	ManagedBy string `json:"managed_by" doc:"config: the configuration file says it, for all tenants, and it cannot be changed here. api: it was put here, for this tenant." enum:"config,api"`
	Operator  bool   `json:"operator,omitempty" doc:"Its key may make keys; only the file says so."`
	AgentBody
}

// AgentByID is what the routes of one agent take.
type AgentByID struct {
	Caller
	ID string `path:"id" doc:"The agent's id, percent-encoded." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

type putAgentInput struct {
	AgentByID
	Body AgentBody
}

type agentOutput struct {
	Status int
	Body   OneAgent
}

// OneAgent is an agent as an answer of its own.
type OneAgent struct {
	Agent
	Said
}

type pageInput struct {
	Caller
	Page
}

type agentsOutput struct{ Body Agents }

// Agents is one page of agents.
type Agents struct {
	Items      []Agent `json:"items" doc:"The agents of this page, by id."`
	NextCursor *string `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

type goneOutput struct{ Body Gone }

// Gone names what is no longer there.
type Gone struct {
	ID string `json:"id" doc:"Its id."`
	Said
}

func agentOf(a access.Agent) Agent {
	out := Agent{ID: a.ID, ManagedBy: "api", Operator: a.Operator != nil && *a.Operator, AgentBody: AgentBody{
		LongTerm: a.LongTerm, ContextRounds: a.ContextRounds, WindowTokens: a.WindowTokens, MemoryTokens: a.MemoryTokens,
		FilterSensitive: Switch(a.FilterSensitive), MinTrust: string(a.MinTrust), MaxTrust: string(a.MaxTrust),
		Read: a.Read, Write: a.Write, AllowedTypes: texts(a.AllowedTypes),
	}}
	if a.File {
		out.ManagedBy = "config"
	}
	return out
}

// texts keeps an absent list apart from an empty one, which allows nothing.
func texts(list []memoryd.Type) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}

func (b AgentBody) config() access.AgentConfig {
	c := access.AgentConfig{
		LongTerm: b.LongTerm, ContextRounds: b.ContextRounds, WindowTokens: b.WindowTokens, MemoryTokens: b.MemoryTokens,
		FilterSensitive: string(b.FilterSensitive), MinTrust: memoryd.Trust(b.MinTrust), MaxTrust: memoryd.Trust(b.MaxTrust),
		Read: b.Read, Write: b.Write,
	}
	if b.AllowedTypes != nil {
		c.AllowedTypes = []memoryd.Type{}
	}
	for _, t := range b.AllowedTypes {
		c.AllowedTypes = append(c.AllowedTypes, memoryd.Type(t))
	}
	return c
}

func (s *Server) putAgent(ctx context.Context, in *putAgentInput) (*agentOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	created, err := s.opt.Access.PutAgent(ctx, g, in.ID, in.Body.config())
	if err != nil {
		return nil, err
	}
	out := &agentOutput{Status: http.StatusOK, Body: OneAgent{Agent{ID: in.ID, ManagedBy: "api", AgentBody: in.Body}, Said{union(g.Notes(), nil)}}}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *Server) getAgent(ctx context.Context, in *AgentByID) (*agentOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	a, err := s.opt.Access.Agent(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return &agentOutput{Status: http.StatusOK, Body: OneAgent{agentOf(a), Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) listAgents(ctx context.Context, in *pageInput) (*agentsOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	page, next, err := s.opt.Access.Agents(ctx, g, access.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := Agents{Items: make([]Agent, len(page)), NextCursor: cursor(next), Said: Said{union(g.Notes(), nil)}}
	for i, a := range page {
		out.Items[i] = agentOf(a)
	}
	return &agentsOutput{out}, nil
}

func (s *Server) deleteAgent(ctx context.Context, in *AgentByID) (*goneOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	if err := s.opt.Access.DeleteAgent(ctx, g, in.ID); err != nil {
		return nil, err
	}
	return &goneOutput{Gone{in.ID, Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) agents() {
	tags := []string{"Agents"}
	one := s.schemas().Schema(reflect.TypeFor[OneAgent](), true, "OneAgent")
	handle(s, huma.Operation{
		OperationID: "put-agent", Method: http.MethodPut, Path: "/v1/agents/{id}", Tags: tags,
		Summary:     "Say what an agent may do and how it is served",
		Description: "Replaces all that was said of it, and counts from the next request on. For operators and the tenant's key. An agent of the configuration file is answered 409.",
		Responses: map[string]*huma.Response{
			"201": {Description: "Created", Content: map[string]*huma.MediaType{"application/json": {Schema: one}}},
		},
	}, s.putAgent)
	handle(s, huma.Operation{
		OperationID: "get-agent", Method: http.MethodGet, Path: "/v1/agents/{id}", Tags: tags,
		Summary: "Read what is said of an agent", Description: "For operators and the tenant's key; an agent's key reads its own.",
	}, s.getAgent)
	handle(s, huma.Operation{
		OperationID: "list-agents", Method: http.MethodGet, Path: "/v1/agents", Tags: tags,
		Summary: "List agents", Description: "Those of the configuration file and those put here for the tenant. For operators and the tenant's key.",
	}, s.listAgents)
	handle(s, huma.Operation{
		OperationID: "delete-agent", Method: http.MethodDelete, Path: "/v1/agents/{id}", Tags: tags,
		Summary: "Forget what was said of an agent", Description: "It is then one that is named nowhere. Its memories and keys stay.",
	}, s.deleteAgent)
}
