package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"
)

// exchange is one request's answer and what the access log says of it. The header goes out with the first byte of the
// body, so that a handler that fails before can still be answered with a problem.
type exchange struct {
	http.ResponseWriter
	id     string
	trace  string
	route  string
	key    string // what access calls the credential, never the key itself
	status int
	sent   bool
	bytes  int64
	cause  error // of a failure that is the server's own
}

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
}

func (x *exchange) Write(b []byte) (int, error) {
	x.send()
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

func (x *exchange) send() {
	if x.sent {
		return
	}
	x.sent = true
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.ResponseWriter.WriteHeader(x.status)
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) json(status int, body string) {
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(status)
	_, _ = x.Write([]byte(body))
}

// note keeps the cause of a failure for the log, where it is the server's own.
func (x *exchange) note(p *Problem) {
	if p.Status >= 500 && p.cause != nil {
		x.cause = p.cause
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	start := s.opt.Now()
	x := &exchange{ResponseWriter: w, id: s.requestID(r), trace: traceOf(r.Header.Get("Traceparent"))}
	h := x.Header()
	h.Set("X-Request-ID", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	defer func() {
		abort := s.recovered(x, r, recover())
		x.send()
		s.log(x, r, start)
		if abort {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
	}()
	s.dispatch(x, r)
}

// recovered turns a panic into a problem, and says whether the answer had begun, so that only the connection can tell.
func (s *Server) recovered(x *exchange, r *http.Request, p any) (abort bool) {
	if p == nil {
		return false
	}
	if p == http.ErrAbortHandler {
		return true
	}
	cause := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if err, ok := p.(error); ok {
		cause = fmt.Errorf("panic: %w\n%s", err, debug.Stack())
		if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
			return true
		}
	}
	x.cause = cause
	if x.sent {
		return true
	}
	x.status = 0
	s.refuse(x, r, cause)
	return false
}

// log says how a request went: never its content, its query string, its user, or a key.
func (s *Server) log(x *exchange, r *http.Request, start time.Time) {
	level := slog.LevelInfo
	switch {
	case x.status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.cause != nil:
		level = slog.LevelWarn
	case x.route == "GET /livez" || x.route == "GET /readyz" || x.route == "GET /startupz":
		level = slog.LevelDebug
	}
	ctx := r.Context()
	if !s.opt.Log.Enabled(ctx, level) {
		return
	}
	took := float64(s.opt.Now().Sub(start).Microseconds()) / 1000
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("method", r.Method), slog.String("route", x.route), slog.Int("status", x.status),
		slog.Float64("ms", took), slog.Int64("bytes", x.bytes), slog.String("request_id", x.id))
	if x.key != "" {
		attrs = append(attrs, slog.String("key", x.key))
	}
	if x.trace != "" {
		attrs = append(attrs, slog.String("trace_id", x.trace))
	}
	if x.cause != nil {
		attrs = append(attrs, slog.String("error", x.cause.Error()))
	}
	s.opt.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID is the client's, when it is short and printable, else a new one.
func (s *Server) requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-ID")
	if id == "" || len(id) > 128 {
		return s.opt.NewID()
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return s.opt.NewID()
		}
	}
	return id
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)

// traceOf is the trace id of a W3C traceparent, "" when it is none.
func traceOf(header string) string {
	m := traceparent.FindStringSubmatch(header)
	if m == nil || m[1] == "00000000000000000000000000000000" || header[:2] == "ff" {
		return ""
	}
	return m[1]
}
