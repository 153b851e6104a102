package server

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
	"memoryd/internal/access"
)

// TenantSettings is what may be set of a tenant; there is nothing yet.
type TenantSettings struct{}

// Schema is an object without keys.
func (TenantSettings) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false}
}

// TenantBody is what is said of a tenant.
type TenantBody struct {
	Name     string          `json:"name,omitempty" doc:"Free text to know it by." minLength:"1" maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" example:"Acme Ltd"`
	Settings *TenantSettings `json:"settings,omitempty" doc:"Holds no keys yet."`
}

// Tenant is a wall around users, agents, sessions and memories.
type Tenant struct {
	ID       string         `json:"id" doc:"The tenant's id."`
	Name     string         `json:"name,omitempty" doc:"Free text to know it by."`
	Settings TenantSettings `json:"settings" doc:"Holds no keys yet."`
	Created  *time.Time     `json:"created,omitempty" doc:"When it was created; absent for the default tenant while nothing was."`
}

// TenantByID is what the routes of one tenant take.
type TenantByID struct {
	Caller
	ID string `path:"id" doc:"The tenant's id, percent-encoded." maxLength:"128" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$"`
}

type putTenantInput struct {
	TenantByID
	Body *TenantBody
}

type tenantOutput struct {
	Status int
	Body   OneTenant
}

// OneTenant is a tenant as an answer of its own.
type OneTenant struct {
	Tenant
	Said
}

type tenantsOutput struct{ Body Tenants }

// Tenants is one page of tenants.
type Tenants struct {
	Items      []Tenant `json:"items" doc:"The tenants of this page, by id."`
	NextCursor *string  `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

// User is someone who owns a memory or a session.
type User struct {
	ID        string    `json:"id" doc:"The user's id."`
	Memories  int64     `json:"memories" doc:"Active memories, those in groups among them." minimum:"0"`
	Inactive  int64     `json:"inactive" doc:"Memories that are archived, superseded or quarantined." minimum:"0"`
	Sessions  int64     `json:"sessions" doc:"Sessions, in whatever state." minimum:"0"`
	LastWrite time.Time `json:"last_write" doc:"When a memory was last added or a session last written to."`
}

type usersOutput struct{ Body Users }

// Users is one page of users.
type Users struct {
	Items      []User  `json:"items" doc:"The users of this page, by id."`
	NextCursor *string `json:"next_cursor" doc:"Where the next page begins; null at the end."`
	Said
}

func tenantOf(t memoryd.Tenant) Tenant {
	out := Tenant{ID: t.ID, Name: t.Name}
	if !t.Created.IsZero() {
		out.Created = &t.Created
	}
	return out
}

func (s *Server) putTenant(ctx context.Context, in *putTenantInput) (*tenantOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	name := ""
	if in.Body != nil {
		name = in.Body.Name
	}
	t, created, err := s.opt.Access.PutTenant(ctx, g, in.ID, name)
	if err != nil {
		return nil, err
	}
	out := &tenantOutput{Status: http.StatusOK, Body: OneTenant{tenantOf(t), Said{union(g.Notes(), nil)}}}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *Server) getTenant(ctx context.Context, in *TenantByID) (*tenantOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	t, err := s.opt.Access.Tenant(ctx, g, in.ID)
	if err != nil {
		return nil, err
	}
	return &tenantOutput{Status: http.StatusOK, Body: OneTenant{tenantOf(t), Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) listTenants(ctx context.Context, in *pageInput) (*tenantsOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	page, next, err := s.opt.Access.Tenants(ctx, g, access.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	out := Tenants{Items: make([]Tenant, len(page)), NextCursor: cursor(next), Said: Said{union(g.Notes(), nil)}}
	for i, t := range page {
		out.Items[i] = tenantOf(t)
	}
	return &tenantsOutput{out}, nil
}

func (s *Server) deleteTenant(ctx context.Context, in *TenantByID) (*goneOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	if err := s.opt.Access.DeleteTenant(ctx, g, in.ID); err != nil {
		return nil, err
	}
	return &goneOutput{Gone{in.ID, Said{union(g.Notes(), nil)}}}, nil
}

func (s *Server) listUsers(ctx context.Context, in *pageInput) (*usersOutput, error) {
	g, err := in.grant(ctx, "", "")
	if err != nil {
		return nil, err
	}
	page, err := s.opt.Recall.Users(ctx, g, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	out := Users{Items: make([]User, len(page.Items)), NextCursor: cursor(page.Next), Said: Said{union(g.Notes(), nil)}}
	for i, u := range page.Items {
		out.Items[i] = User{ID: u.User, Memories: u.Active, Inactive: u.Other, Sessions: u.Sessions, LastWrite: u.LastWrite}
	}
	return &usersOutput{out}, nil
}

func (s *Server) tenants() {
	tags := []string{"Tenants"}
	one := s.schemas().Schema(reflect.TypeFor[OneTenant](), true, "OneTenant")
	handle(s, huma.Operation{
		OperationID: "put-tenant", Method: http.MethodPut, Path: "/v1/tenants/{id}", Tags: tags,
		Summary: "Create a tenant, or name it anew", Description: "For operators. The first key of a tenant creates it as well.",
		Responses: map[string]*huma.Response{
			"201": {Description: "Created", Content: map[string]*huma.MediaType{"application/json": {Schema: one}}},
		},
	}, s.putTenant)
	handle(s, huma.Operation{OperationID: "get-tenant", Method: http.MethodGet, Path: "/v1/tenants/{id}", Tags: tags, Summary: "Read a tenant", Description: "For operators."}, s.getTenant)
	handle(s, huma.Operation{
		OperationID: "list-tenants", Method: http.MethodGet, Path: "/v1/tenants", Tags: tags,
		Summary: "List tenants", Description: "For operators. The default tenant is always among them.",
	}, s.listTenants)
	handle(s, huma.Operation{
		OperationID: "delete-tenant", Method: http.MethodDelete, Path: "/v1/tenants/{id}", Tags: tags,
		Summary: "Delete an empty tenant", Description: "For operators. One that holds memories or sessions is answered 409. Its keys are revoked, and its agents' settings go.",
	}, s.deleteTenant)
	handle(s, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/v1/users", Tags: tags,
		Summary: "List users", Description: "Who owns a memory or a session of the tenant. For operators and the tenant's key.",
	}, s.listUsers)
}
