package server

import (
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// What the description says of headers and names is what the server does with them.
func TestDescribedPatterns(t *testing.T) {
	r := start(t, nil)
	header := func(op *huma.Operation, name string) *huma.Schema {
		for _, p := range op.Parameters {
			if p.In == "header" && p.Name == name {
				return p.Schema
			}
		}
		t.Fatalf("%s takes no %s", op.OperationID, name)
		return nil
	}
	field := func(schema, name string) *huma.Schema {
		return r.spec.Components.Schemas.Map()[schema].Properties[name]
	}
	add, change := r.spec.Paths["/v1/memories"].Post, r.spec.Paths["/v1/memories/{id}"].Patch
	for what, c := range map[string]struct {
		schema    *huma.Schema
		good, bad []string
	}{
		"idempotency key": {header(add, "Idempotency-Key"), []string{"a", "~ k"}, []string{"", "ä", "a\tb"}},
		"version":         {header(change, "If-Match"), []string{`"3"`, "3", "*", ` "12" `}, []string{`"3`, "0", "x", `W/"3"`}},
		"tenant":          {header(add, "X-Memoryd-Tenant"), []string{"acme", "ä b"}, []string{"a\x01b", "a\u0085b"}},
		"group":           {field("SessionBody", "group"), []string{"Team-1", "队", "a.b_c@d+e"}, []string{"a b", "a:b", "*", "a/b", "a\u0085"}},
		"speaker":         {field("NewMessage", "name"), []string{"Amy B."}, []string{"a\x00"}},
		"call":            {field("NewMessage", "tool_call_id"), []string{"call_1"}, []string{"a\nb"}},
	} {
		if c.schema == nil || c.schema.Pattern == "" {
			t.Errorf("%s: no pattern", what)
			continue
		}
		p := regexp.MustCompile(c.schema.Pattern)
		for _, text := range c.good {
			if !p.MatchString(text) {
				t.Errorf("%s: %q does not match", what, text)
			}
		}
		for _, text := range c.bad {
			if p.MatchString(text) {
				t.Errorf("%s: %q matches", what, text)
			}
		}
	}
	id := r.must(201, "POST", "/v1/memories", `{"text":"t","scope":"global"}`).str("memory", "id")
	for _, v := range []string{"1", `"1"`, "*", ` "1" `} {
		r.must(200, "PATCH", "/v1/memories/"+id, `{"labels":{}}`, "If-Match", v)
	}
	for _, v := range []string{`"1`, "0", "x"} {
		a := r.must(422, "PATCH", "/v1/memories/"+id, `{"labels":{}}`, "If-Match", v)
		if p := a.problem(t); len(p.Fields) != 1 || p.Fields[0].Path != "If-Match" {
			t.Errorf("%s: %+v", v, p)
		}
	}
}
