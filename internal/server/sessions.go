package server

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"memoryd/internal/recall"
	"memoryd/internal/remember"
)

type putSessionInput struct {
	Caller
	ID   string `path:"id" doc:"The session's id, free text without control characters, percent-encoded." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Body *SessionBody
}

// SessionBody is what a session is created with.
type SessionBody struct {
	Who
	Group    string `json:"group,omitempty" doc:"The chat or team that it is held in: letters, digits and . _ @ + -. Its turns are then shared there." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x2a\\x2c\\x2f\\x3a-\\x3f\\x5b-\\x5e\\x60\\x7b-\\x9f]+$" example:"team-a"`
	Metadata Object `json:"metadata,omitempty" doc:"Your own data."`
}

type sessionOutput struct {
	Status int
	Body   OneSession
}

// OneSession is a session as an answer of its own.
type OneSession struct {
	Session
	Said
}

type sessionsInput struct {
	Caller
	Page
	User  string `query:"user" doc:"Whose sessions; \"default\" when absent. Those of groups are the tenant's." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"amy"`
	Agent string `query:"agent" doc:"Only sessions with this agent, of what it may read." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"coder"`
	State string `query:"state" doc:"Only sessions in this state." enum:"open,ending,ended"`
}

type sessionsOutput struct{ Body Sessions }

// Sessions is one page of sessions, newest first.
type Sessions struct {
	Items      []Session `json:"items" doc:"The sessions of this page, newest created first."`
	NextCursor *string   `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

type deletedOutput struct{ Body DeletedSession }

// DeletedSession says what went with a session.
type DeletedSession struct {
	Messages int64 `json:"messages" doc:"How many messages were deleted." minimum:"0"`
	Said
}

type appendInput struct {
	Caller
	Repeatable
	ID   string `path:"id" doc:"The session's id, percent-encoded. agent:ID is a child agent's: its chat goes to session ID, its other messages nowhere." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Body AppendBody
}

// AppendBody is messages for a session.
type AppendBody struct {
	Who
	Group    string       `json:"group,omitempty" doc:"The chat or team that it is held in; counts when the session is created by this." minLength:"1" maxLength:"128"`
	Mode     string       `json:"mode,omitempty" doc:"append (when absent): the messages are new. sync: they are the whole conversation, old and new; those that the session holds are not stored again." enum:"append,sync"`
	Messages []NewMessage `json:"messages" doc:"In their order; all are stored, or none." minItems:"1"`
}

type appendOutput struct {
	Replayed string `header:"Idempotency-Replayed"`
	Body     Appended
}

// Appended is what became of the messages.
type Appended struct {
	Items   []AppendedItem `json:"items" doc:"What became of each, in the order of the request."`
	LastSeq int64          `json:"last_seq" doc:"The session's newest message." minimum:"0"`
	Said
}

// AppendedItem is what became of one message.
type AppendedItem struct {
	ID        string `json:"id,omitempty" doc:"Its id."`
	Seq       *int64 `json:"seq" doc:"Its place in the session; null for one that was dropped."`
	Duplicate bool   `json:"duplicate" doc:"It was there already: under this id, or in mode sync by its role and content."`
	Dropped   bool   `json:"dropped,omitempty" doc:"It is kept nowhere: a child agent's message that is not chat, or in mode sync one that took the place of older ones."`
}

type messagesInput struct {
	ByID
	Page
	BeforeSeq int64 `query:"before_seq" doc:"Only messages before this one." minimum:"1"`
	Window    bool  `query:"window" doc:"true: the window as a context would hold it, with the summary in place of what is older."`
}

type messagesOutput struct{ Body Messages }

// Messages is one page of a session's messages.
type Messages struct {
	Items      []Message `json:"items" doc:"Oldest first."`
	Summary    *Summary  `json:"summary,omitempty" doc:"With window=true: what stands for the older messages."`
	NextCursor *string   `json:"next_cursor" doc:"Leads to older messages; null at the session's start."`
	Said
}

func (s *Server) putSession(ctx context.Context, in *putSessionInput) (*sessionOutput, error) {
	var body SessionBody
	if in.Body != nil {
		body = *in.Body
	}
	g, err := in.grant(ctx, body.User, body.Agent)
	if err != nil {
		return nil, err
	}
	session, created, notes, err := s.opt.Remember.PutSession(ctx, g, in.ID, remember.SessionRequest{Group: body.Group, Metadata: []byte(body.Metadata)})
	if err != nil {
		return nil, err
	}
	out := &sessionOutput{Status: http.StatusOK, Body: OneSession{Session: sessionOf(session), Said: Said{union(g.Notes(), notes)}}}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *Server) listSessions(ctx context.Context, in *sessionsInput) (*sessionsOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	page, err := s.opt.Recall.Sessions(ctx, g, recall.SessionsRequest{Agent: in.Agent, State: in.State, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := Sessions{Items: make([]Session, len(page.Items)), NextCursor: cursor(page.Next), Said: Said{union(g.Notes(), nil)}}
	for i, one := range page.Items {
		out.Items[i] = sessionOf(one)
	}
	return &sessionsOutput{out}, nil
}

func (s *Server) getSession(ctx context.Context, in *ByID) (*sessionOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	session, err := s.opt.Recall.Session(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return &sessionOutput{Status: http.StatusOK, Body: OneSession{Session: sessionOf(session), Said: Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) deleteSession(ctx context.Context, in *ByID) (*deletedOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	n, err := s.opt.Remember.DeleteSession(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return &deletedOutput{DeletedSession{Messages: n, Said: Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) appendMessages(ctx context.Context, in *appendInput) (*appendOutput, error) {
	g, err := in.grant(ctx, in.Body.User, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	once := s.opt.Remember.Once(in.req.repeat)
	done, err := once.Append(ctx, g, in.ID, remember.AppendRequest{Group: in.Body.Group, Mode: in.Body.Mode, Messages: newMessagesOf(in.Body.Messages)})
	if err != nil {
		return nil, err
	}
	out := Appended{Items: make([]AppendedItem, len(done.Items)), LastSeq: done.LastSeq, Said: Said{union(g.Notes(), done.Notes)}}
	for i, item := range done.Items {
		out.Items[i] = AppendedItem{ID: item.ID, Seq: item.Seq, Duplicate: item.Duplicate, Dropped: item.Dropped}
	}
	return &appendOutput{replayed(once.Replayed()), out}, nil
}

func (s *Server) listMessages(ctx context.Context, in *messagesInput) (*messagesOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	page, err := s.opt.Recall.Messages(ctx, g, in.ID, recall.MessagesRequest{BeforeSeq: in.BeforeSeq, Limit: in.Limit, Window: in.Window, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	return &messagesOutput{Messages{
		Items: messagesOf(page.Items), Summary: summaryOf(page.Summary), NextCursor: cursor(page.Next), Said: Said{union(g.Notes(), page.Notes)},
	}}, nil
}

func (s *Server) sessions() {
	tags := []string{"Sessions"}
	one := s.schemas().Schema(reflect.TypeFor[OneSession](), true, "OneSession")
	handle(s, huma.Operation{
		OperationID: "put-session", Method: http.MethodPut, Path: "/v1/sessions/{id}", Tags: tags,
		Summary: "Create a session, or set its metadata", Description: "Not needed before messages: the first ones create it.",
		Responses: map[string]*huma.Response{
			"201": {Description: "Created", Content: map[string]*huma.MediaType{"application/json": {Schema: one}}},
		},
	}, s.putSession)
	handle(s, huma.Operation{OperationID: "list-sessions", Method: http.MethodGet, Path: "/v1/sessions", Tags: tags, Summary: "List sessions"}, s.listSessions)
	handle(s, huma.Operation{OperationID: "get-session", Method: http.MethodGet, Path: "/v1/sessions/{id}", Tags: tags, Summary: "Read a session's head"}, s.getSession)
	handle(s, huma.Operation{
		OperationID: "delete-session", Method: http.MethodDelete, Path: "/v1/sessions/{id}", Tags: tags,
		Summary: "Delete a session", Description: "Its messages and turns go with it; its id may be used again.",
	}, s.deleteSession)
	handle(s, huma.Operation{
		OperationID: "append-messages", Method: http.MethodPost, Path: "/v1/sessions/{id}/messages", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Append messages", Description: "Durable when answered. Creates the session where it is missing.",
	}, s.appendMessages)
	handle(s, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/v1/sessions/{id}/messages", Tags: tags,
		Summary: "List messages, or read the window", Description: "The newest page first, each page oldest first.",
	}, s.listMessages)
}
