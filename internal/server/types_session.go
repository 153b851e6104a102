package server

import (
	"time"

	"memoryd"
	"memoryd/internal/remember"
)

// Session is the head of one conversation.
type Session struct {
	ID        string    `json:"id" doc:"Unique in the tenant." example:"chat-1"`
	User      string    `json:"user" doc:"Whose session it is."`
	Agent     string    `json:"agent,omitempty" doc:"The agent that it was held with."`
	Group     string    `json:"group,omitempty" doc:"The chat or team that it was held in; its turns are then shared there."`
	State     string    `json:"state" doc:"Where it stands in its life." enum:"open,ending,ended"`
	LastSeq   int64     `json:"last_seq" doc:"The newest message's seq; 0 in an empty session." minimum:"0"`
	JudgedSeq int64     `json:"judged_seq" doc:"The newest message that was judged for what is worth keeping." minimum:"0"`
	Summary   *Summary  `json:"summary,omitempty" doc:"What stands for the older messages."`
	Metadata  Object    `json:"metadata" doc:"The creator's own data."`
	Created   time.Time `json:"created" doc:"When it was created."`
	Updated   time.Time `json:"updated" doc:"When a message last came, or its head last changed."`
}

// Summary stands for the messages up to ThroughSeq.
type Summary struct {
	Text       string `json:"text" doc:"The summary."`
	ThroughSeq int64  `json:"through_seq" doc:"The newest message that it covers." minimum:"0"`
	Tokens     int    `json:"tokens" doc:"Its length in tokens." minimum:"0"`
	Extractive bool   `json:"extractive" doc:"Whether it is made of sentences picked out, for want of a model."`
}

// Message is one message of a session.
type Message struct {
	ID         string    `json:"id" doc:"The client's id, or a UUIDv7."`
	Seq        int64     `json:"seq" doc:"Its place in the session, from 1, without gaps." minimum:"0"`
	Role       string    `json:"role" doc:"Who speaks." enum:"system,user,assistant,tool"`
	Content    Content   `json:"content" doc:"A string, a list of parts, or null beside tool calls."`
	Name       string    `json:"name,omitempty" doc:"The speaker's name."`
	User       string    `json:"user,omitempty" doc:"Whose words these are, in a group."`
	ToolCalls  Calls     `json:"tool_calls,omitempty" doc:"The calls that an assistant makes, as the client sent them."`
	ToolCallID string    `json:"tool_call_id,omitempty" doc:"The call that a tool's message answers."`
	Kind       string    `json:"kind" doc:"chat is talk; step and tool are an agent's own doings." enum:"chat,step,tool"`
	Time       time.Time `json:"time" doc:"When it was said."`
	Metadata   Object    `json:"metadata" doc:"The writer's own data."`
}

func sessionOf(s memoryd.Session) Session {
	return Session{
		ID: s.ID, User: s.User, Agent: s.Agent, Group: s.Group, State: s.State, LastSeq: s.LastSeq, JudgedSeq: s.JudgedSeq,
		Summary: summaryOf(s.Summary), Metadata: Object(s.Metadata), Created: s.Created, Updated: s.Updated,
	}
}

func summaryOf(s *memoryd.Summary) *Summary {
	if s == nil {
		return nil
	}
	return &Summary{Text: s.Text, ThroughSeq: s.ThroughSeq, Tokens: s.Tokens, Extractive: s.Extractive}
}

func messagesOf(list []memoryd.Message) []Message {
	out := make([]Message, len(list))
	for i, m := range list {
		out[i] = Message{
			ID: m.ID, Seq: m.Seq, Role: string(m.Role), Content: Content(m.Content), Name: m.Name, User: m.User,
			ToolCalls: Calls(m.ToolCalls), ToolCallID: m.ToolCallID, Kind: m.Kind, Time: m.Time, Metadata: Object(m.Metadata),
		}
	}
	return out
}

// NewMessage is a message as a client sends it.
type NewMessage struct {
	ID         string  `json:"id,omitempty" doc:"The client's own id. Sent again with the same role and content it is a duplicate, with another content a conflict." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"m-17"`
	Role       string  `json:"role" doc:"Who speaks." enum:"system,user,assistant,tool"`
	Content    Content `json:"content,omitempty" doc:"A string, a list of parts ({type:\"text\",text:…}), or null beside tool_calls; at most 64 KiB." example:"\"I moved to Oslo\""`
	Name       string  `json:"name,omitempty" doc:"The speaker's name, free text." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"Amy"`
	User       string  `json:"user,omitempty" doc:"In a group: whose words these are; else the request's user." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	ToolCalls  Calls   `json:"tool_calls,omitempty" doc:"The calls that an assistant makes."`
	ToolCallID string  `json:"tool_call_id,omitempty" doc:"The call that a tool's message answers." minLength:"1" maxLength:"512" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Kind       string  `json:"kind,omitempty" doc:"chat (when absent) is talk; step and tool are an agent's own doings. Of a child agent's session (agent:ID) only chat is kept." enum:"chat,step,tool"`
	Time       Time    `json:"time,omitzero" doc:"When it was said; now when absent. May lie in the past."`
	Metadata   Object  `json:"metadata,omitempty" doc:"Your own data."`
}

func newMessagesOf(list []NewMessage) []remember.NewMessage {
	out := make([]remember.NewMessage, len(list))
	for i, m := range list {
		out[i] = remember.NewMessage{
			ID: m.ID, Role: memoryd.Role(m.Role), Content: orElse(m.Content, "null"), Name: m.Name, User: m.User,
			ToolCalls: []byte(m.ToolCalls), ToolCallID: m.ToolCallID, Kind: m.Kind, Time: m.Time.ptr(), Metadata: []byte(m.Metadata),
		}
	}
	return out
}
