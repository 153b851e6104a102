package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/access"
)

// KeyBody says what a key is for.
type KeyBody struct {
	Kind    string `json:"kind" doc:"operator: all tenants and settings. tenant: any user and agent of one. agent: one agent, and one user where that is given." enum:"operator,tenant,agent"`
	Tenant  string `json:"tenant,omitempty" doc:"Of a tenant or agent key; the request's own when absent." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Agent   string `json:"agent,omitempty" doc:"Of an agent key." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	User    string `json:"user,omitempty" doc:"Of an agent key: the only user that it may act for." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
	Name    string `json:"name,omitempty" doc:"Free text to know it by." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"staging backend"`
	Expires Time   `json:"expires,omitzero" doc:"From when on it is refused; never when absent."`
}

type keyInput struct {
	Caller
	Repeatable
	Body KeyBody
}

type keyOutput struct{ Body CreatedKey }

// Key is a credential without its secret.
type Key struct {
	ID      string     `json:"id" doc:"What logs and provenance call it, behind key:." example:"4fB2xQ9a"`
	Kind    string     `json:"kind" doc:"What it may reach." enum:"operator,tenant,agent"`
	Tenant  string     `json:"tenant,omitempty" doc:"The tenant that it is bound to."`
	Agent   string     `json:"agent,omitempty" doc:"The agent that it is bound to."`
	User    string     `json:"user,omitempty" doc:"The user that it is bound to."`
	Name    string     `json:"name,omitempty" doc:"Free text to know it by."`
	Created time.Time  `json:"created" doc:"When it was created."`
	Expires *time.Time `json:"expires,omitempty" doc:"From when on it is refused."`
	Revoked *time.Time `json:"revoked,omitempty" doc:"When it was revoked."`
}

// CreatedKey is a key with its secret, shown this once.
type CreatedKey struct {
	Key
	Secret string `json:"key" doc:"The key itself. It is shown this once and kept nowhere."`
	Said
}

type keysOutput struct{ Body KeyList }

// KeyList is one page of keys.
type KeyList struct {
	Items      []Key   `json:"items" doc:"The keys of this page, by id, revoked ones too."`
	NextCursor *string `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

type revokeInput struct {
	Caller
	ID string `path:"id" doc:"The key's id." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

type revokeOutput struct{ Body RevokedKey }

// RevokedKey names the key that is refused from now on.
type RevokedKey struct {
	ID string `json:"id" doc:"The key's id."`
	Said
}

func keyOf(k memoryd.Key) Key {
	return Key{ID: k.ID, Kind: k.Kind, Tenant: k.Tenant, Agent: k.Agent, User: k.User, Name: k.Name, Created: k.Created, Expires: k.Expires, Revoked: k.Revoked}
}

func (s *Server) createKey(ctx context.Context, in *keyInput) (*keyOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	b := in.Body
	secret, k, err := s.opt.Access.CreateKey(ctx, g, access.NewKey{Kind: b.Kind, Tenant: b.Tenant, Agent: b.Agent, User: b.User, Name: b.Name, Expires: b.Expires.ptr(), Repeat: in.req.repeat})
	if err != nil {
		return nil, err
	}
	return &keyOutput{CreatedKey{Key: keyOf(k), Secret: secret, Said: Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) listKeys(ctx context.Context, in *pageInput) (*keysOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	list, next, err := s.opt.Access.KeyPage(ctx, g, access.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := KeyList{Items: make([]Key, len(list)), NextCursor: cursor(next), Said: Said{union(g.Notes(), nil)}}
	for i, k := range list {
		out.Items[i] = keyOf(k)
	}
	return &keysOutput{out}, nil
}

func (s *Server) revokeKey(ctx context.Context, in *revokeInput) (*revokeOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	if err := s.opt.Access.Revoke(ctx, g, in.ID); err != nil {
		return nil, err
	}
	return &revokeOutput{RevokedKey{ID: in.ID, Said: Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) keys() {
	tags := []string{"Keys"}
	handle(s, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/v1/keys", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Create a key", Description: "For operators. The first key closes a loopback server that was open without one. Repeated under its Idempotency-Key, it is 409 and names the key that was made: the secret cannot be shown again.",
	}, s.createKey)
	handle(s, huma.Operation{OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Tags: tags, Summary: "List keys", Description: "For operators."}, s.listKeys)
	handle(s, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/v1/keys/{id}", Tags: tags,
		Summary: "Revoke a key", Description: "For operators. It is refused at once; repeating it changes nothing.",
	}, s.revokeKey)
}
