package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"memoryd"
)

// Problem is every failure's body (RFC 9457), as application/problem+json.
type Problem struct {
	Type       string  `json:"type" doc:"address of a page about this kind of failure, relative to the server" example:"/problems/bad-field"`
	Title      string  `json:"title" doc:"the kind of failure in words, the same for all of its kind" example:"A field is not right"`
	Status     int     `json:"status" doc:"HTTP status" minimum:"400" maximum:"599" example:"422"`
	Detail     string  `json:"detail" doc:"what was wrong this time" example:"scope: want \"global\", \"dm\", \"group:ID\" or \"agent:ID\""`
	Code       string  `json:"code" doc:"which of the eight kinds of failure it is" enum:"invalid,unauthenticated,denied,not_found,conflict,exhausted,unavailable,internal" example:"invalid"`
	Fields     []Field `json:"fields" doc:"the fields at fault, empty when it was none"`
	RequestID  string  `json:"request_id" doc:"finds the request in the server's log"`
	RetryAfter int     `json:"retry_after,omitempty" doc:"seconds after which trying again makes sense" minimum:"1" example:"5"`

	cause  error
	header http.Header
}

// Field names one bad part of a request.
type Field struct {
	Path    string `json:"path" doc:"where it stands; ends in the field's own name" example:"items[3].scope"`
	Message string `json:"message" doc:"what it takes" example:"is longer than 128 characters"`
}

func (p *Problem) Error() string { return p.Detail }

// Unwrap is what lay behind it, for the log.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus, GetHeaders and ContentType are what huma asks of an error.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders is what a failure says beside its body.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType marks the body as a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problem words an error for the caller. Only an Error's own words are shown; whatever else went wrong is "internal",
// and its text stays in the log.
func (s *Server) problem(err error, requestID string) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		p.RequestID = requestID
		return p
	}
	e := known(err)
	k, ok := s.kinds[e.Slug]
	if !ok || k.code != e.Code {
		k = kind{code: e.Code, status: statusOf(e.Code)}
		k.title = http.StatusText(k.status)
	}
	p = &Problem{
		Type: "/problems/" + e.Slug, Title: k.title, Status: k.status, Detail: e.Detail, Code: string(e.Code),
		Fields: fieldsOf(e.Fields), RequestID: requestID, cause: err, header: http.Header{},
	}
	if wait := retryAfter(e, k.status); wait > 0 {
		p.RetryAfter = int((wait + time.Second - 1) / time.Second)
		p.header.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if k.status == http.StatusUnauthorized {
		p.header.Set("WWW-Authenticate", challenge(e.Slug))
	}
	return p
}

// known is the Error in err, or the one that stands for it.
func known(err error) *memoryd.Error {
	var e *memoryd.Error
	switch {
	case errors.As(err, &e) && e.Code != memoryd.Internal:
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &memoryd.Error{Code: memoryd.Unavailable, Slug: "timeout", Detail: "the request's time ran out"}
	}
	return &memoryd.Error{Code: memoryd.Internal, Slug: "internal", Detail: "something went wrong inside; the request id finds it in the log"}
}

// retryAfter is when trying again makes sense: what the error says, else a guess for what passes by itself. A stop ends
// with another program at the address, which takes longer than a store's hiccup.
func retryAfter(e *memoryd.Error, status int) time.Duration {
	switch {
	case e.RetryAfter > 0:
		return e.RetryAfter
	case status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout:
		return 0
	case e.Slug == "draining":
		return 5 * time.Second
	}
	return time.Second
}

func challenge(slug string) string {
	if slug == "no-key" {
		return `Bearer realm="memoryd"`
	}
	return `Bearer realm="memoryd", error="invalid_token"`
}

func fieldsOf(list []memoryd.Field) []Field {
	out := make([]Field, len(list))
	for i, f := range list {
		out[i] = Field{Path: f.Path, Message: f.Message}
	}
	return out
}

// refuse answers with err, outside of huma.
func (s *Server) refuse(x *exchange, r *http.Request, err error) {
	p := s.problem(err, x.id)
	x.note(p)
	h := x.Header()
	for name, values := range p.header {
		h[name] = values
	}
	h.Del("ETag")
	h.Set("Content-Type", "application/problem+json")
	x.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		enc := json.NewEncoder(x)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(p) // a client that has gone is the only way for this to fail
	}
}

// page is the text at a problem's type URI.
func (s *Server) page(x *exchange, r *http.Request) {
	slug := r.PathValue("slug")
	k, ok := s.kinds[slug]
	if !ok {
		s.refuse(x, r, memoryd.Errorf(memoryd.NotFound, "not-found", "no kind of failure has this name"))
		return
	}
	var b strings.Builder
	b.WriteString(slug + "\n\n" + k.title + ".\n" + k.about + "\n\n")
	b.WriteString("HTTP status " + strconv.Itoa(k.status) + ", code " + string(k.code) + ".\n")
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.Header().Set("Cache-Control", "no-cache")
	_, _ = x.Write([]byte(b.String()))
}

// faults gathers what is wrong with a request's fields.
type faults struct {
	slug string
	list []memoryd.Field
}

// maxFaults bounds what one answer names.
const maxFaults = 20

func (f *faults) add(slug, path, message string) {
	if f.slug == "" {
		f.slug = slug
	}
	if len(f.list) < maxFaults {
		f.list = append(f.list, memoryd.Field{Path: path, Message: message})
	}
}

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	detail := f.list[0].Path + ": " + f.list[0].Message
	if n := len(f.list) - 1; n > 0 {
		detail += " (and " + strconv.Itoa(n) + " more in fields)"
	}
	return &memoryd.Error{Code: memoryd.Invalid, Slug: f.slug, Detail: detail, Fields: f.list}
}
