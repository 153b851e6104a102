package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
	"memoryd/internal/index"
	"memoryd/internal/provider/builtin"
	"memoryd/internal/recall"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

// rig is a whole server over a store of its own, and a client that checks every answer against the description.
type rig struct {
	t      testing.TB
	server *Server
	http   *httptest.Server
	store  *sqlstore.Store
	access *access.Access
	log    *lines
	spec   *huma.OpenAPI
	key    string
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func words(text string) int { return len(strings.Fields(text)) + 1 }

func start(t testing.TB, change func(*access.Options, *Options)) *rig {
	t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, sqlstore.Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	ao := access.Options{Store: store, Now: time.Now, Mode: access.Auto, Loopback: true, Named: map[string]access.AgentConfig{
		"w1": {Read: []string{}, Write: []string{}}, "w2": {Read: []string{}, Write: []string{}},
		"facts": {Read: []string{"global"}, Write: []string{"global"}, AllowedTypes: []memoryd.Type{memoryd.Fact}},
	}}
	log := &lines{}
	o := Options{
		Store: store.Ping, Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: time.Now, NewID: newID, Version: "test", MaxBody: 64 << 10,
		Remember: remember.New(remember.Options{Store: store, Guard: guard.Cleaner{}, Count: words, Fold: index.Fold, Now: time.Now, NewID: newID}),
	}
	reader := recall.New(recall.Options{
		Store: store, Provider: builtin.New(builtin.Options{Store: store, Bytes: 64 << 20, Zone: time.UTC}),
		Count: words, Now: time.Now, NewID: newID, Log: slog.New(slog.DiscardHandler), Zone: time.UTC,
		MessagesPerRound: 3, WindowTokens: 16000, SummaryTokens: 2000, Alternation: "merge", Workers: 8,
		SessionTimeout: 10 * time.Second, LongTermTimeout: 10 * time.Second, MemoryTokens: 4000, ProfileShare: 0.6, ItemsPerScope: 10,
		TurnItems: 100, Preferences: 6, ItemChars: 1000, QueryContext: 200, Include: []string{"memory", "turn"}, Floor: 0.3, TopK: 10,
	})
	o.Recall = reader
	if change != nil {
		change(&ao, &o)
	}
	if o.Access, err = access.New(ao); err != nil {
		t.Fatal(err)
	}
	s := New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		reader.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{t: t, server: s, http: web, store: store, access: o.Access, log: log, spec: s.api.OpenAPI()}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// problem is the answer's problem.
func (a answer) problem(t testing.TB) Problem {
	t.Helper()
	var p Problem
	if err := json.Unmarshal(a.raw, &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("no problem: %d %s %s", a.status, a.header.Get("Content-Type"), a.raw)
	}
	return p
}

// str is a field of the answer, by path.
func (a answer) str(path ...string) string {
	var v any = a.body
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (a answer) items() []map[string]any {
	list, _ := a.body["items"].([]any)
	out := make([]map[string]any, len(list))
	for i, x := range list {
		out[i], _ = x.(map[string]any)
	}
	return out
}

// call sends a request; header holds names and values in turn.
func (r *rig) call(method, target, body string, header ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.http.URL+target, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			req.Host = header[i+1]
		case header[i+1] == "":
			req.Header.Del(header[i])
		default:
			req.Header.Set(header[i], header[i+1])
		}
	}
	res, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: raw}
	if strings.Contains(res.Header.Get("Content-Type"), "json") && len(raw) > 0 {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, target, err, raw)
		}
		r.conforms(method, target, a)
	}
	return a
}

// must is call with the status that is wanted.
func (r *rig) must(status int, method, target, body string, header ...string) answer {
	r.t.Helper()
	a := r.call(method, target, body, header...)
	if a.status != status {
		r.t.Fatalf("%s %s %s: %d, want %d: %s", method, target, body, a.status, status, a.raw)
	}
	return a
}

// conforms checks an answer against the description that clients are given.
func (r *rig) conforms(method, target string, a answer) {
	r.t.Helper()
	if h := a.header; h.Get("X-Request-ID") == "" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") == "" {
		r.t.Errorf("%s %s: headers %v", method, target, h)
	}
	schemas := r.spec.Components.Schemas
	schema := schemas.Map()["Problem"]
	if a.status < 400 {
		op := r.operation(method, target)
		if op == nil {
			return
		}
		res := op.Responses[fmt.Sprint(a.status)]
		if res == nil || res.Content["application/json"] == nil {
			r.t.Errorf("%s %s: status %d is not described", method, target, a.status)
			return
		}
		schema = res.Content["application/json"].Schema
		if notes, ok := a.body["notes"].([]any); !ok || notes == nil {
			r.t.Errorf("%s %s: no notes in %s", method, target, a.raw)
		}
	}
	// huma checks bounds and enums; our scan is stricter about null, unknown fields and times.
	var result huma.ValidateResult
	huma.Validate(schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, any(a.body), &result)
	for _, err := range result.Errors {
		r.t.Errorf("%s %s: %v", method, target, err)
	}
	if err := checkJSON(schemas, withHits(schemas, schema), bytes.Clone(a.raw)); err != nil {
		r.t.Errorf("%s %s: %v in %s", method, target, err, a.raw)
	}
}

// withHits is the schema; scan tells alternatives apart by their JSON kind alone, so lists of hits are left to huma.
func withHits(schemas huma.Registry, schema *huma.Schema) *huma.Schema {
	if s := resolve(schemas, schema); s.Properties["items"] != nil && s.Properties["took_ms"] != nil || s.Properties["user_profile"] != nil {
		return nil
	}
	return schema
}

func (r *rig) operation(method, target string) *huma.Operation {
	req := httptest.NewRequest(method, target, nil)
	_, pattern := r.server.mux.Handler(req)
	_, route, _ := strings.Cut(pattern, " ")
	item := r.spec.Paths[route]
	if item == nil {
		return nil
	}
	return map[string]*huma.Operation{"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete}[method]
}

// dump is everything that the store holds, for "a refusal changed nothing".
func (r *rig) dump() string {
	r.t.Helper()
	var b strings.Builder
	show := func(v any, err error) {
		if err != nil {
			r.t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			r.t.Fatal(err)
		}
		b.Write(append(raw, '\n'))
	}
	err := r.store.Read(context.Background(), func(tx memoryd.Tx) error {
		show(tx.Tenants.List())
		show(tx.Keys.List(""))
		show(tx.Agents.List("default"))
		all, owner := memoryd.AllScopes(), memoryd.Owner{Tenant: "default"}
		memories, err := tx.Memories.List(owner, all, memoryd.MemoryFilter{Statuses: memoryd.Statuses, Limit: 10_000})
		show(memories, err)
		for _, m := range memories {
			show(tx.Versions.List(m.Tenant, m.ID))
		}
		sessions, err := tx.Sessions.List(owner, all, memoryd.SessionFilter{Limit: 10_000})
		show(sessions, err)
		for _, s := range sessions {
			show(tx.Messages.Newest(s, 0, 10_000))
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}
