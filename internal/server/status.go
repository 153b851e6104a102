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
	Schema   int64       `json:"schema" doc:"The version of the store's schema." minimum:"0"`
	Started  time.Time   `json:"started" doc:"When it was started."`
	UptimeS  float64     `json:"uptime_s" doc:"How long it has been running, in seconds." minimum:"0"`
	Store    StoreStatus `json:"store" doc:"The store that everything is kept in."`
	Index    IndexStatus `json:"index" doc:"What is kept in RAM to search by."`
	Config   string      `json:"config_version" doc:"Changes with the configuration that is in force, agents and policies included."`
	Degraded []Degraded  `json:"degraded" doc:"What does not work; empty when all does."`
	Said
}

// Facts is what the program knows of itself beyond this package.
type Facts struct {
	Schema     int64
	Driver     string
	StoreBytes int64
	Index      IndexStatus
	Config     string
}

// IndexStatus is how large the index is.
type IndexStatus struct {
	Bytes      int64 `json:"bytes" doc:"What its partitions take now." minimum:"0"`
	Limit      int64 `json:"limit" doc:"From where on the partition used longest ago goes (index.memory)." minimum:"0"`
	Partitions int   `json:"partitions" doc:"How many partitions are in RAM; the others are read when they are searched." minimum:"0"`
}

// StoreStatus is how the store is.
type StoreStatus struct {
	State  string `json:"state" doc:"Whether it answers." enum:"ok,down"`
	Driver string `json:"driver,omitempty" doc:"What it is kept in." example:"sqlite"`
	Bytes  int64  `json:"bytes" doc:"What it takes on disk." minimum:"0"`
}

func (s *Server) getStatus(ctx context.Context, in *statusInput) (*statusOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	up := max(s.opt.Now().Sub(s.life.started), 0)
	var f Facts
	if s.opt.Facts != nil {
		f = s.opt.Facts(ctx)
	}
	out := Status{
		Version: s.opt.Version, Schema: f.Schema, Started: s.life.started, UptimeS: up.Seconds(), Store: StoreStatus{"ok", f.Driver, f.StoreBytes},
		Index: f.Index, Config: f.Config, Degraded: []Degraded{}, Said: Said{union(g.Notes(), nil)},
	}
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
