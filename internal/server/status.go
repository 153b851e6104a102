package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

type statusInput struct{ Caller }

type statusOutput struct{ Body Status }

// Status is how the server is.
type Status struct {
	Version  string      `json:"version" doc:"The program's version."`
	Started  time.Time   `json:"started" doc:"When it was started."`
	UptimeS  float64     `json:"uptime_s" doc:"How long it has been running, in seconds." minimum:"0"`
	Store    StoreStatus `json:"store" doc:"The store that everything is kept in."`
	Degraded []Degraded  `json:"degraded" doc:"What does not work; empty when all does."`
	Said
}

// StoreStatus is how the store is.
type StoreStatus struct {
	State string `json:"state" doc:"Whether it answers." enum:"ok,down"`
}

func (s *Server) getStatus(ctx context.Context, in *statusInput) (*statusOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	up := max(s.opt.Now().Sub(s.life.started), 0)
	out := Status{Version: s.opt.Version, Started: s.life.started, UptimeS: up.Seconds(), Store: StoreStatus{"ok"}, Degraded: []Degraded{}, Said: Said{union(g.Notes(), nil)}}
	if err := s.opt.Store(ctx); err != nil {
		out.Store.State = "down"
		out.Degraded = append(out.Degraded, Degraded{Part: "store", Reason: "error"})
	}
	return &statusOutput{out}, nil
}

func (s *Server) status() {
	handle(s, huma.Operation{
		OperationID: "status", Method: http.MethodGet, Path: "/v1/status", Tags: []string{"Server"},
		Summary: "Read how the server is", Description: "/livez, /readyz and /startupz answer the same in short, without a key.",
	}, s.getStatus)
}
