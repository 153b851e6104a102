package server

import (
	"context"

	"memoryd"
	"memoryd/internal/remember"
)

type patchInput struct {
	ByID
	IfMatch string `header:"If-Match" doc:"The version that the change is meant for, such as \"3\"; * is any." maxLength:"64" pattern:"^ *([*]|[1-9][0-9]*|\"[1-9][0-9]*\") *$" patternDescription:"a memory's version, such as \"3\""`
	Body    PatchBody
}

// PatchBody is what to change.
type PatchBody struct {
	Text     *string           `json:"text,omitempty" doc:"The new statement." minLength:"1" maxLength:"16384"`
	Type     *string           `json:"type,omitempty" doc:"The new type." enum:"preference,fact,procedure,lesson,decision,task_log,knowledge"`
	Expires  Time              `json:"expires,omitzero" doc:"From when on it is no longer found; null: never." nullable:"true"`
	Labels   map[string]string `json:"labels,omitempty" doc:"The new labels, all of them; {} for none."`
	Metadata Object            `json:"metadata,omitempty" doc:"The new metadata, all of it; {} for none."`
}

type restoreInput struct {
	Caller
	Repeatable
	ID   string `path:"id" doc:"The memory's id." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Body *Who
}

type restoreOutput struct {
	ETag     string `header:"ETag"`
	Replayed string `header:"Idempotency-Replayed"`
	Body     OneMemory
}

func (s *Server) patchMemory(ctx context.Context, in *patchInput) (*memoryOutput, error) {
	p := remember.Patch{
		Text: in.Body.Text, Expires: in.Body.Expires.ptr(), NoExpiry: in.Body.Expires.Null, Labels: in.Body.Labels, Metadata: []byte(in.Body.Metadata),
	}
	if t := in.Body.Type; t != nil {
		p.Type = (*memoryd.Type)(t)
	}
	var err error
	if p.IfVersion, err = version(in.IfMatch); err != nil {
		return nil, err
	}
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	m, notes, err := s.opt.Remember.Update(ctx, g, in.ID, p)
	if err != nil {
		return nil, err
	}
	return oneMemory(m, union(g.Notes(), notes)), nil
}

func (s *Server) deleteMemory(ctx context.Context, in *ByID) (*memoryOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	m, err := s.opt.Remember.Delete(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return oneMemory(m, g.Notes()), nil
}

func (s *Server) restoreMemory(ctx context.Context, in *restoreInput) (*restoreOutput, error) {
	var who Who
	if in.Body != nil {
		who = *in.Body
	}
	g, err := in.grant(ctx, who.User, who.Agent)
	if err != nil {
		return nil, err
	}
	once := s.opt.Remember.Once(in.req.repeat)
	m, err := once.Restore(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	out := oneMemory(m, g.Notes())
	return &restoreOutput{out.ETag, replayed(once.Replayed()), out.Body}, nil
}

func (s *Server) history(ctx context.Context, in *ByID) (*versionsOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	list, err := s.opt.Recall.History(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	out := Versions{Items: make([]Version, len(list)), Said: Said{union(g.Notes(), nil)}}
	for i, v := range list {
		out.Items[i] = versionOf(v)
	}
	return &versionsOutput{out}, nil
}
