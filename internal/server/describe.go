package server

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

const about = `The memory of a fleet of AI agents: sessions (what was said), memories (what is worth keeping), and the context of a request.

Every answer carries notes[], slugs of what was done differently from what was asked: agent_unknown, trust_lowered, cleaned, narrowed, long_term_off, system_cut, newest_too_long, led_by_assistant, gap:N. Answers that could be partial carry degraded[], empty when they are whole.

Times are RFC 3339 with an offset. Ids are compared byte for byte. Unknown, doubled and differently-cased names are refused, and so is null, save where a field says that it takes it. Errors are application/problem+json on every path.`

// apiConfig leaves out what huma would serve itself: its page loads scripts from elsewhere.
func apiConfig(version string, problems huma.Transformer) huma.Config {
	if version == "" {
		version = "dev"
	}
	format := huma.Format{Marshal: marshal, Unmarshal: json.Unmarshal}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "memoryd", Version: version, Description: about, License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "Authorization: Bearer mrd_… (Token is understood as well)"},
					"header": {Type: "apiKey", In: "header", Name: "X-API-Key"},
				},
			},
			// The empty one stands for a loopback server without keys.
			Security: []map[string][]string{{"bearer": {}}, {"header": {}}, {}},
			Tags: []*huma.Tag{
				{Name: "Finding", Description: "What belongs before a model request, and search."},
				{Name: "Sessions", Description: "Conversations and their messages, in order."},
				{Name: "Working memory", Description: "Values that one run of an agent keeps for itself, for a while."},
				{Name: "Memories", Description: "Single statements worth keeping, each with one scope."},
				{Name: "Agents", Description: "What each agent may do and how it is served."},
				{Name: "Tenants", Description: "Tenants, and the users of one."},
				{Name: "Keys", Description: "Credentials; for operators."},
				{Name: "Server", Description: "How the server is."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "application/problem+json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{problems},
	}
}

// marshal panics rather than answer an error, which huma would write behind a status of success.
func marshal(w io.Writer, v any) error {
	body, err := encode(v)
	if err != nil {
		panic(fmt.Errorf("server: encode: %w", err))
	}
	_, err = w.Write(body)
	return err
}

// responses are those that every operation has beside its success.
func (s *Server) responses(op huma.Operation) map[string]*huma.Response {
	out := op.Responses
	if out == nil {
		out = map[string]*huma.Response{}
	}
	out["default"] = &huma.Response{
		Description: "A failure. 400 the body is not JSON, 401 a key is needed, 403 denied, 404 not there or another's, 405 wrong method, 409 and 412 conflict, " +
			"413 too large, 415 not JSON, 422 a field is not right, 429 too many, 500, 503 and 504 the server's own, 507 disk full.",
		Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: s.schemas().Schema(reflect.TypeFor[Problem](), true, "Problem")},
		},
	}
	return out
}

func (s *Server) schemas() huma.Registry { return s.api.OpenAPI().Components.Schemas }

// describe is the OpenAPI document, once all routes are there. huma takes every list for one that may be null; ours
// never are, in answers and in requests.
func (s *Server) describe() []byte {
	api := s.api.OpenAPI()
	all := s.schemas().Map()
	delete(all, "ErrorModel")
	delete(all, "ErrorDetail")
	for _, schema := range all {
		noNullLists(schema)
	}
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				noNullLists(p.Schema)
			}
		}
	}
	spec, err := json.Marshal(api)
	if err != nil {
		panic(fmt.Errorf("server: openapi: %w", err))
	}
	return spec
}

func noNullLists(schema *huma.Schema) {
	if schema == nil {
		return
	}
	if schema.Type == huma.TypeArray {
		schema.Nullable = false
	}
	noNullLists(schema.Items)
	for _, sub := range schema.Properties {
		noNullLists(sub)
	}
	for _, sub := range schema.OneOf {
		noNullLists(sub)
	}
	if rest, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		noNullLists(rest)
	}
}
