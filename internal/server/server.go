// Package server is memoryd's REST surface on net/http: it reads requests strictly, hands them to access, recall and
// remember, and words their answers. It decides nothing itself; listening, time-outs and stopping are cmd's.
package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/recall"
	"memoryd/internal/remember"
)

// Options is what New needs.
type Options struct {
	Access   *access.Access
	Recall   *recall.Reader
	Remember *remember.Writer
	Store    func(context.Context) error // answers nil while the store can be read
	Log      *slog.Logger
	Now      func() time.Time
	NewID    func() string // of requests that bring none
	Version  string
	MaxBody  int64                       // bytes; 0: 4 MiB
	Rate     Rate                        // of each agent key; other callers have none
	Facts    func(context.Context) Facts // what status tells beside the store's state; nil: nothing
	// AllowedHosts and AllowedOrigins let in names beside the loopback ones, and pages of other sites, while no key is
	// demanded. Hosts with or without a port, origins as browsers send them (https://example.com).
	AllowedHosts   []string
	AllowedOrigins []string
}

// Server answers REST requests. It is safe for concurrent use.
type Server struct {
	opt    Options
	kinds  map[string]kind
	mux    *http.ServeMux
	api    huma.API
	bodies map[string]*huma.Schema // of requests, by operation id
	life   *life
	spec   []byte
	docs   docsPage
}

// life is what a server has in common with the one that With makes of it.
type life struct {
	started  time.Time
	rate     *meter
	draining atomic.Bool
	ready    atomic.Bool // the store has answered once
}

// New builds the routes; it panics when two of them collide, which the tests would show.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	return build(o, &life{started: o.Now(), rate: newMeter(o.Rate, o.Now)})
}

// With is a server for other agents that is as old as this one, counts on for its keys, and drains when either is told
// to. facts may be nil.
func (s *Server) With(a *access.Access, facts func(context.Context) Facts) *Server {
	o := s.opt
	o.Access, o.Facts = a, facts
	return build(o, s.life)
}

func build(o Options, l *life) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 4 << 20
	}
	s := &Server{opt: o, kinds: kinds(), mux: http.NewServeMux(), bodies: map[string]*huma.Schema{}, life: l}
	s.api = humago.New(s.mux, apiConfig(o.Version, s.asProblem))
	s.api.UseMiddleware(s.strict)
	s.sessions()
	s.memories()
	s.finding()
	s.working()
	s.agents()
	s.tenants()
	s.keys()
	s.status()
	s.plain()
	return s
}

// Handler is the whole surface.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Drain turns readiness off and refuses new requests from now on; those that run go on.
func (s *Server) Drain() { s.life.draining.Store(true) }

// plain adds what is not part of the API's description.
func (s *Server) plain() {
	s.spec = s.describe()
	s.docs = newDocsPage()
	s.raw("GET /livez", func(x *exchange, _ *http.Request) { x.json(http.StatusOK, `{"status":"ok"}`) })
	s.raw("GET /readyz", s.readiness)
	s.raw("GET /startupz", s.startup)
	s.raw("GET /v1/openapi.json", func(x *exchange, _ *http.Request) {
		x.Header().Set("Cache-Control", "no-cache")
		x.json(http.StatusOK, string(s.spec))
	})
	s.raw("GET /v1/docs", s.docs.serve)
	s.raw("GET /problems/{slug}", s.page)
}

func (s *Server) raw(pattern string, h func(*exchange, *http.Request)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { h(w.(*exchange), r) })
}

func (s *Server) readiness(x *exchange, r *http.Request) {
	if s.life.draining.Load() {
		s.refuse(x, r, errDraining())
		return
	}
	if err := s.opt.Store(r.Context()); err != nil {
		s.refuse(x, r, storeDown(err))
		return
	}
	s.life.ready.Store(true)
	x.json(http.StatusOK, `{"status":"ok"}`)
}

// startup differs from readiness in that it stays well once the store has answered.
func (s *Server) startup(x *exchange, r *http.Request) {
	if s.life.ready.Load() {
		x.json(http.StatusOK, `{"status":"ok"}`)
		return
	}
	s.readiness(x, r)
}

func storeDown(err error) error {
	return &memoryd.Error{Code: memoryd.Unavailable, Slug: "store-down", Detail: "the store does not answer", Err: err}
}

func errDraining() error {
	return &memoryd.Error{Code: memoryd.Unavailable, Slug: "draining", Detail: "the server is shutting down"}
}

// dispatch finds the route. net/http's mux would answer unknown paths and methods in plain text, and redirect paths
// that are not clean; here all of these are problems.
func (s *Server) dispatch(x *exchange, r *http.Request) {
	health := r.URL.Path == "/livez" || r.URL.Path == "/readyz" || r.URL.Path == "/startupz"
	if s.life.draining.Load() && !health {
		x.Header().Set("Connection", "close")
		s.refuse(x, r, errDraining())
		return
	}
	if !health {
		if done := s.gate(x, r); done {
			return
		}
	}
	if p := r.URL.EscapedPath(); !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		s.refuse(x, r, errNoRoute())
		return
	}
	if _, x.route = s.mux.Handler(r); x.route == "" {
		s.refuse(x, r, s.unrouted(x, r))
		return
	}
	s.mux.ServeHTTP(x, r)
}

func errNoRoute() error {
	return memoryd.Errorf(memoryd.NotFound, "not-found", "there is nothing at this path; /v1/docs lists what there is")
}

// unrouted says why no route took the request: the path or the method.
func (s *Server) unrouted(x *exchange, r *http.Request) error {
	allowed := s.methods(r)
	if len(allowed) == 0 {
		return errNoRoute()
	}
	list := strings.Join(allowed, ", ")
	x.Header().Set("Allow", list)
	return memoryd.Errorf(memoryd.Invalid, "bad-method", "this path takes %s", list)
}

// methods lists those that the path takes.
func (s *Server) methods(r *http.Request) []string {
	var allowed []string
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		try := *r
		try.Method = m
		if _, pattern := s.mux.Handler(&try); pattern != "" {
			allowed = append(allowed, m)
		}
	}
	return allowed
}
