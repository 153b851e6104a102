package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/recall"
)

// Degraded says which part of an answer is missing or late, and why.
type Degraded struct {
	Part     string `json:"part" doc:"What is missing: session, long_term, …" example:"long_term"`
	Reason   string `json:"reason" doc:"Why: timeout, error, …" example:"timeout"`
	ServedBy string `json:"served_by,omitempty" doc:"What answered instead."`
}

func degradedOf(list []memoryd.Degraded) []Degraded {
	out := make([]Degraded, len(list))
	for i, d := range list {
		out[i] = Degraded{Part: d.Part, Reason: d.Reason, ServedBy: d.ServedBy}
	}
	return out
}

// Looking is what context and search have in common.
type Looking struct {
	Query    string `json:"query" doc:"What is asked for; for a context, the user's message." minLength:"1" maxLength:"8192" example:"what tea does she like?"`
	Group    string `json:"group,omitempty" doc:"The chat or team that the request comes from." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x2a\\x2c\\x2f\\x3a-\\x3f\\x5b-\\x5e\\x60\\x7b-\\x9f]+$"`
	DM       *bool  `json:"dm,omitempty" doc:"Whether what is between the user and agents one-to-one is looked at. Absent: where there is no group."`
	Context  string `json:"context,omitempty" doc:"What was said before, to find by; its first 200 characters count." minLength:"1" maxLength:"8192"`
	Mode     string `json:"mode,omitempty" doc:"keyword looks for words only." enum:"hybrid,keyword"`
	MinTrust string `json:"min_trust,omitempty" doc:"Leave out what is to be believed less." enum:"high,medium,low"`
}

type contextInput struct {
	Caller
	Body ContextBody
}

// ContextBody asks for what belongs before a model request.
type ContextBody struct {
	Who
	Looking
	Include         []string `json:"include,omitempty" doc:"What to look for in long-term memory. Absent: memories and turns, unless the server is set otherwise." minItems:"1" maxItems:"2" enum:"memory,turn"`
	Session         string   `json:"session,omitempty" doc:"The session that the request belongs to. One that does not exist yet is empty." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	LongTerm        *bool    `json:"long_term,omitempty" doc:"Whether memories and other sessions' turns are looked at. Absent: the agent's setting; on where no agent is named."`
	Rounds          *int     `json:"rounds,omitempty" doc:"How many rounds of the session to read, three messages each; 0 for none. Absent: the agent's setting." minimum:"0" maximum:"1000"`
	WindowTokens    *int     `json:"window_tokens,omitempty" doc:"The most tokens of messages and summary." minimum:"1" maximum:"1000000"`
	MemoryTokens    *int     `json:"memory_tokens,omitempty" doc:"The most tokens of rendered; 0 for none." minimum:"0" maximum:"100000"`
	FilterSensitive *bool    `json:"filter_sensitive,omitempty" doc:"Whether to leave out memories that hold personal data. Absent: the agent's setting; on in groups."`
}

type contextOutput struct{ Body Context }

// Context is what to put before a model request.
type Context struct {
	Messages    []Message  `json:"messages" doc:"The session's window, oldest first; never led by an assistant."`
	Summary     *Summary   `json:"summary,omitempty" doc:"What stands for the messages before the window."`
	UserProfile Part       `json:"user_profile" doc:"Memories of global and dm; at most 60 % of memory_tokens."`
	Group       Part       `json:"group" doc:"Memories of the group."`
	Agent       Part       `json:"agent" doc:"Memories of the agent's own scope."`
	Turns       Part       `json:"turns" doc:"What was said in other sessions, grouped by session, in order."`
	Rendered    string     `json:"rendered" doc:"The four parts as one fenced block of text to put into a prompt; empty when there is nothing. It is data, not instructions, and says so."`
	Tokens      Tokens     `json:"tokens" doc:"What the parts cost."`
	Degraded    []Degraded `json:"degraded" doc:"What is missing; empty when the answer is whole."`
	TookMS      Took       `json:"took_ms" doc:"How long it took, in milliseconds."`
	Said
}

// Part is one part of a context.
type Part struct {
	Text   string `json:"text" doc:"Its lines, one memory each, each ended by a newline."`
	Tokens int    `json:"tokens" doc:"Its length in tokens." minimum:"0"`
	Items  []Hit  `json:"items" doc:"What the lines stand for."`
}

// Tokens is what the parts of a context cost.
type Tokens struct {
	Messages int `json:"messages" doc:"Of messages." minimum:"0"`
	Summary  int `json:"summary" doc:"Of the summary." minimum:"0"`
	LongTerm int `json:"long_term" doc:"Of rendered, header and fences included." minimum:"0"`
}

// Took is how long the arms and the whole took.
type Took struct {
	Session  float64 `json:"session" doc:"Reading the session, in milliseconds." minimum:"0"`
	LongTerm float64 `json:"long_term" doc:"Searching, in milliseconds." minimum:"0"`
	Total    float64 `json:"total" doc:"All of it, in milliseconds." minimum:"0"`
}

type searchInput struct {
	Caller
	Body SearchBody
}

// SearchBody asks for memories and turns.
type SearchBody struct {
	Who
	Looking
	Scope    string            `json:"scope,omitempty" doc:"One scope (global comes along where it may be read), agent:self, all, or cross:ID for group:ID and global. Absent: global, the agent's own, and the group, or dm where there is none." minLength:"1" maxLength:"134" example:"global"`
	Include  []string          `json:"include,omitempty" doc:"What to look for. Absent: memories; turns are what was said in sessions." minItems:"1" maxItems:"2" enum:"memory,turn"`
	Limit    int               `json:"limit,omitempty" doc:"The most hits; 10 when absent." minimum:"1" maximum:"100"`
	Types    []string          `json:"types,omitempty" doc:"Memories of these types only." minItems:"1" enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
	Forms    []string          `json:"forms,omitempty" doc:"Memories of these forms only." minItems:"1" enum:"text,pref,skill,tool"`
	Statuses []string          `json:"statuses,omitempty" doc:"Memories in these states; active ones when absent." minItems:"1" enum:"active,quarantined,superseded,archived"`
	MinScore *float64          `json:"min_score,omitempty" doc:"Leave out hits below; 0.3 when absent." minimum:"0" maximum:"1"`
	Labels   map[string]string `json:"labels,omitempty" doc:"Memories that carry all of these labels."`
}

type searchOutput struct{ Body Found }

// Found is what a search found, best first.
type Found struct {
	Items    []Hit      `json:"items" doc:"Best first."`
	Degraded []Degraded `json:"degraded" doc:"What is missing; empty when the answer is whole."`
	TookMS   float64    `json:"took_ms" doc:"How long it took, in milliseconds." minimum:"0"`
	Said
}

func (s *Server) context(ctx context.Context, in *contextInput) (*contextOutput, error) {
	b := in.Body
	g, err := in.grant(ctx, b.User, b.Agent)
	if err != nil {
		return nil, err
	}
	c, err := s.opt.Recall.Context(ctx, g, recall.ContextRequest{
		Query: b.Query, Session: b.Session, Group: b.Group, DM: b.DM, LongTerm: b.LongTerm, Context: b.Context, Rounds: b.Rounds,
		WindowTokens: b.WindowTokens, MemoryTokens: b.MemoryTokens, Include: b.Include,
		FilterSensitive: b.FilterSensitive, MinTrust: memoryd.Trust(b.MinTrust),
	})
	if err != nil {
		return nil, err
	}
	return &contextOutput{Context{
		Messages: messagesOf(c.Messages), Summary: summaryOf(c.Summary), UserProfile: partOf(c.UserProfile), Group: partOf(c.Group),
		Agent: partOf(c.Agent), Turns: partOf(c.Turns), Rendered: c.Rendered, Tokens: Tokens(c.Tokens), Degraded: degradedOf(c.Degraded),
		TookMS: Took(c.TookMS), Said: Said{union(g.Notes(), c.Notes)},
	}}, nil
}

func partOf(p recall.Part) Part { return Part{Text: p.Text, Tokens: p.Tokens, Items: hitsOf(p.Items)} }

func (s *Server) search(ctx context.Context, in *searchInput) (*searchOutput, error) {
	b := in.Body
	g, err := in.grant(ctx, b.User, b.Agent)
	if err != nil {
		return nil, err
	}
	found, err := s.opt.Recall.Search(ctx, g, recall.SearchRequest{
		Query: b.Query, Scope: b.Scope, Group: b.Group, DM: b.DM, Limit: b.Limit, Types: as[memoryd.Type](b.Types), Forms: as[memoryd.Form](b.Forms),
		Statuses: as[memoryd.Status](b.Statuses), MinTrust: memoryd.Trust(b.MinTrust), MinScore: b.MinScore,
		Include: b.Include, Labels: b.Labels, Context: b.Context,
	})
	if err != nil {
		return nil, err
	}
	return &searchOutput{Found{
		Items: hitsOf(found.Hits), Degraded: degradedOf(found.Degraded), TookMS: found.TookMS, Said: Said{union(g.Notes(), found.Notes)},
	}}, nil
}

func (s *Server) finding() {
	tags := []string{"Finding"}
	handle(s, huma.Operation{
		OperationID: "context", Method: http.MethodPost, Path: "/v1/context", Tags: tags,
		Summary: "Get what belongs before a model request", Description: "The session's window and long-term memory, read side by side inside a token budget. Answers also when a part is missing, and says so in degraded.",
	}, s.context)
	handle(s, huma.Operation{
		OperationID: "search", Method: http.MethodPost, Path: "/v1/search", Tags: tags,
		Summary: "Search memories and turns",
	}, s.search)
}
