package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"memoryd"
	"memoryd/internal/access"
)

// humaContext keeps the embedded field's name apart from the method Context.
type humaContext huma.Context

// request is a huma.Context whose query and body have been checked already.
type request struct {
	humaContext
	x        *exchange
	identity access.Identity
	query    map[string]string
	labels   map[string]string // of the query's label.NAME parameters
	body     io.Reader
	repeat   memoryd.Repeat
}

// Unwrap is the context below, as huma's adapter asks for it.
func (r *request) Unwrap() huma.Context { return r.humaContext }

// Query answers from what has been checked.
func (r *request) Query(name string) string { return r.query[name] }

// BodyReader is the checked body.
func (r *request) BodyReader() io.Reader { return r.body }

// SetReadDeadline does nothing: the body is here already, and the deadline is the listener's affair.
func (r *request) SetReadDeadline(time.Time) error { return nil }

// Header hides what would make huma read or write anything but JSON.
func (r *request) Header(name string) string {
	switch name {
	case "Accept":
		return ""
	case "Content-Type":
		return "application/json"
	}
	return r.humaContext.Header(name)
}

// strict runs before every handler: who is asking, then whether the path, the query and the body are well formed and
// hold nothing unknown.
func (s *Server) strict(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	x := w.(*exchange)
	req, err := s.admit(x, r, ctx)
	if err != nil {
		s.refuse(x, r, err)
		return
	}
	next(req)
}

func (s *Server) admit(x *exchange, r *http.Request, ctx huma.Context) (*request, error) {
	credential, err := credentialOf(r.Header)
	if err != nil {
		return nil, err
	}
	identity, err := s.opt.Access.Authenticate(r.Context(), credential)
	if err != nil {
		return nil, err
	}
	x.key = identity.Writer()
	if identity.Kind() == "agent" {
		if err := s.life.rate.take(identity.Writer()); err != nil {
			return nil, err
		}
	}
	req := &request{humaContext: ctx, x: x, identity: identity, body: http.NoBody}
	op := ctx.Operation()
	for _, p := range op.Parameters {
		if p.In != "path" {
			continue
		}
		if err := memoryd.CheckID(p.Name, r.PathValue(p.Name)); err != nil {
			return nil, err
		}
	}
	if err := req.readQuery(op, r.URL.RawQuery); err != nil {
		return nil, err
	}
	body, err := s.readBody(x, r, op)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.body = body
	}
	return req, req.readRepeat(r, op)
}

// credentialOf reads the key from the headers, never from the address, which ends up in logs and histories.
func credentialOf(h http.Header) (string, error) {
	var found []string
	for _, v := range h.Values("Authorization") {
		scheme, rest, _ := strings.Cut(v, " ")
		// Other schemes belong to a proxy in front, say Basic.
		if strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token") {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	found = append(found, h.Values("X-API-Key")...)
	key := ""
	for _, k := range found {
		if k == "" {
			continue // a header without a key is none
		}
		if key != "" && k != key {
			return "", memoryd.Errorf(memoryd.Unauthenticated, "bad-key", "the request carries two different keys")
		}
		key = k
	}
	return key, nil
}

// Caller stands in every input: who asks, and for which tenant.
type Caller struct {
	Tenant string `header:"X-Memoryd-Tenant" doc:"The tenant to work in; for operator keys only, others are bound to theirs." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`

	req *request
	s   *Server
}

// Resolve takes over what strict has found out.
func (c *Caller) Resolve(ctx huma.Context) []error {
	c.req, _ = ctx.(*request)
	return nil
}

func (c *Caller) caller() *Caller { return c }

// grant asks access what the caller may do as that user and agent.
func (c *Caller) grant(ctx context.Context, user, agent string) (access.Grant, error) {
	if c.Tenant != "" {
		if err := memoryd.CheckID("X-Memoryd-Tenant", c.Tenant); err != nil {
			return access.Grant{}, err
		}
	}
	g, err := c.s.opt.Access.Grant(ctx, c.req.identity, access.Ask{Tenant: c.Tenant, User: user, Agent: agent})
	if errors.Is(err, memoryd.ErrNotFound) && c.Tenant != "" {
		// Only operators get as far as this, and to them a tenant that is missing is no secret.
		f := memoryd.Field{Path: "X-Memoryd-Tenant", Message: fmt.Sprintf("there is no tenant %q", c.Tenant)}
		err = &memoryd.Error{Code: memoryd.NotFound, Slug: "not-found", Detail: f.Path + ": " + f.Message, Fields: []memoryd.Field{f}}
	}
	return g, err
}

// input is a pointer to a struct with a Caller in it.
type input[I any] interface {
	*I
	caller() *Caller
}

// handle registers a route. Errors become problems here, once.
func handle[I, O any, P input[I]](s *Server, op huma.Operation, h func(context.Context, *I) (*O, error)) {
	op.MaxBodyBytes = -1 // readBody has seen to it
	op.SkipValidateBody = true
	op.Responses = s.responses(op)
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		c := P(in).caller()
		c.s = s
		out, err := h(ctx, in)
		if err != nil {
			p := s.problem(err, c.req.x.id)
			c.req.x.note(p)
			return nil, p
		}
		return out, nil
	})
}

// asProblem words the few failures that huma finds itself, in parameters.
func (s *Server) asProblem(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var f faults
	for _, d := range e.Errors {
		_, place, _ := strings.Cut(d.Location, ".") // behind body, query, header or path
		f.add("bad-field", place, d.Message)
	}
	err := f.err()
	if err == nil {
		err = fmt.Errorf("server: huma: %s", e.Detail)
	}
	id := ""
	if req, ok := ctx.(*request); ok {
		id = req.x.id
	}
	p := s.problem(err, id)
	p.Status = e.Status // it is on its way already
	return p, nil
}

// union is both lists, each note once, never nil.
func union(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	seen := map[string]bool{}
	for _, list := range [][]string{a, b} {
		for _, n := range list {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// whole is the list, or an empty one: answers hold no null for a list.
func whole[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// cursor is a page's next_cursor: null at the end.
func cursor(next string) *string {
	if next == "" {
		return nil
	}
	return &next
}
