package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/remember"
)

// Value is any JSON, kept as it was written.
type Value json.RawMessage

// Schema takes anything.
func (Value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// MarshalJSON writes the bytes.
func (v Value) MarshalJSON() ([]byte, error) { return orElse(v, "null"), nil }

// UnmarshalJSON keeps the bytes.
func (v *Value) UnmarshalJSON(b []byte) error { *v = bytes.Clone(b); return nil }

// RunPath names a run; it is the caller's own, as user and agent.
type RunPath struct {
	Run string `path:"run" doc:"The run's id, yours to choose, percent-encoded. Under another user or agent it is another run." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

// WorkingPath names a value of a run.
type WorkingPath struct {
	RunPath
	Key string `path:"key" doc:"The value's key, free text without control characters, percent-encoded." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

type setWorkingInput struct {
	Caller
	WorkingPath
	Body WorkingBody
}

// WorkingBody is a value to set.
type WorkingBody struct {
	Who
	Value Value `json:"value" doc:"Any JSON, null too; at most 64 KiB (sessions.working.max_value)." example:"{\"step\":3}"`
	TTLS  int   `json:"ttl_s,omitempty" doc:"Seconds that it lives from now on; an hour when absent (sessions.working.ttl)." minimum:"1" maximum:"86400"`
}

type workingInput struct {
	Caller
	WhoQuery
	WorkingPath
}

type runInput struct {
	Caller
	WhoQuery
	RunPath
}

type workingOutput struct{ Body OneWorkingValue }

// WorkingValue is one value of a run's working memory.
type WorkingValue struct {
	Key     string    `json:"key" doc:"Its key."`
	Value   Value     `json:"value" doc:"The value, as it was set."`
	Updated time.Time `json:"updated" doc:"When it was set."`
	Expires time.Time `json:"expires" doc:"From when on it is gone, unless it is set again."`
}

// OneWorkingValue is a value as an answer of its own.
type OneWorkingValue struct {
	WorkingValue
	Said
}

type workingListOutput struct{ Body WorkingList }

// WorkingList is all that a run keeps.
type WorkingList struct {
	Items      []WorkingValue `json:"items" doc:"All values, by key; none where the run keeps nothing, or is another's."`
	NextCursor *string        `json:"next_cursor" doc:"Always null: all values are here."`
	Said
}

type droppedOutput struct{ Body DroppedWorking }

// DroppedWorking says how much went.
type DroppedWorking struct {
	Deleted int `json:"deleted" doc:"How many values were deleted." minimum:"0"`
	Said
}

func workingOf(e memoryd.Entry) WorkingValue {
	return WorkingValue{Key: e.Key, Value: Value(e.Value), Updated: e.Updated, Expires: e.Expires}
}

func (s *Server) setWorking(ctx context.Context, in *setWorkingInput) (*workingOutput, error) {
	g, err := in.grant(ctx, in.Body.User, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	e, notes, err := s.opt.Remember.SetWorking(ctx, g, in.Run, in.Key, remember.WorkingRequest{
		Value: json.RawMessage(in.Body.Value), TTL: time.Duration(in.Body.TTLS) * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &workingOutput{OneWorkingValue{workingOf(e), Said{union(g.Notes(), notes)}}}, nil
}

func (s *Server) getWorking(ctx context.Context, in *workingInput) (*workingOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	e, err := s.opt.Recall.WorkingValue(ctx, g, in.Run, in.Key)
	if err != nil {
		return nil, err
	}
	return &workingOutput{OneWorkingValue{workingOf(e), Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) deleteWorking(ctx context.Context, in *workingInput) (*droppedOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	if err := s.opt.Remember.DropWorking(ctx, g, in.Run, in.Key); err != nil {
		return nil, err
	}
	return &droppedOutput{DroppedWorking{1, Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) listWorking(ctx context.Context, in *runInput) (*workingListOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	list, err := s.opt.Recall.Working(ctx, g, in.Run)
	if err != nil {
		return nil, err
	}
	out := WorkingList{Items: make([]WorkingValue, len(list)), Said: Said{union(g.Notes(), nil)}}
	for i, e := range list {
		out.Items[i] = workingOf(e)
	}
	return &workingListOutput{out}, nil
}

func (s *Server) endRun(ctx context.Context, in *runInput) (*droppedOutput, error) {
	g, err := in.grant(ctx, in.User, in.Agent)
	if err != nil {
		return nil, err
	}
	n, err := s.opt.Remember.EndRun(ctx, g, in.Run)
	if err != nil {
		return nil, err
	}
	return &droppedOutput{DroppedWorking{n, Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) working() {
	const all, one = "/v1/runs/{run}/working", "/v1/runs/{run}/working/{key}"
	tags := []string{"Working memory"}
	handle(s, huma.Operation{
		OperationID: "set-working", Method: http.MethodPut, Path: one, Tags: tags, Summary: "Set a value",
		Description: "Kept for this run of this user and agent alone, never searched, judged or exported. Setting it again renews its life.",
	}, s.setWorking)
	handle(s, huma.Operation{OperationID: "get-working", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Read a value"}, s.getWorking)
	handle(s, huma.Operation{OperationID: "delete-working", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Delete a value"}, s.deleteWorking)
	handle(s, huma.Operation{OperationID: "list-working", Method: http.MethodGet, Path: all, Tags: tags, Summary: "Read all values of a run"}, s.listWorking)
	handle(s, huma.Operation{
		OperationID: "end-run", Method: http.MethodDelete, Path: all, Tags: tags,
		Summary: "End a run", Description: "Deletes all its values. Ending a run that keeps nothing changes nothing.",
	}, s.endRun)
}
