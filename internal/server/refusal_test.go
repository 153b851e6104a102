package server

import (
	"fmt"
	"strings"
	"testing"
)

// refusal is a request that must be refused, naming the field, and change nothing. MEM stands for a memory's id.
type refusal struct {
	method, target, body string
	status               int
	field                string
	header               []string
}

func TestRefusals(t *testing.T) {
	r := start(t, nil)
	mem := r.must(201, "POST", "/v1/memories", `{"text":"The boiler hums at night","scope":"global","metadata":{"n":1}}`).str("memory", "id")
	r.must(201, "POST", "/v1/sessions/s1/messages", `{"user":"amy","messages":[{"id":"m1","role":"user","content":"hello there"}]}`)
	r.must(201, "PUT", "/v1/sessions/s2", `{"user":"amy","group":"team"}`)
	before := r.dump()
	all := [][]refusal{bodyRefusals(), memoryRefusals(), sessionRefusals(), findingRefusals(), keyRefusals(), directoryRefusals(), pathRefusals()}
	for _, list := range all {
		for _, c := range list {
			target := strings.ReplaceAll(c.target, "MEM", mem)
			name := fmt.Sprintf("%s %s %.120s %q", c.method, c.target, c.body, c.header)
			a := r.call(c.method, target, c.body, c.header...)
			if a.status != c.status {
				t.Errorf("%s: %d, want %d: %s", name, a.status, c.status, a.raw)
				continue
			}
			p := a.problem(t)
			named := c.field == "" && len(p.Fields) == 0
			for _, f := range p.Fields {
				named = named || f.Path == c.field
			}
			if !named {
				t.Errorf("%s: names %v, want %q", name, p.Fields, c.field)
			}
		}
	}
	if after := r.dump(); after != before {
		t.Errorf("a refusal changed something:\n%s\nbefore:\n%s", after, before)
	}
}

// bodyRefusals are what any route with a body refuses.
func bodyRefusals() []refusal {
	var list []refusal
	for _, target := range []string{"/v1/context", "/v1/search", "/v1/memories", "/v1/memories:batch", "/v1/sessions/s1/messages", "/v1/keys"} {
		for _, body := range []string{"{", "nonsense", `{"a":1}x`, "{}{}", "\xff", "{\"user\":\"\xc3\x28\"}", `{"metadata":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`} {
			list = append(list, refusal{method: "POST", target: target, body: body, status: 400})
		}
		list = append(list,
			refusal{method: "POST", target: target, status: 400, header: []string{"Content-Type", "application/json"}},
			refusal{method: "POST", target: target, body: "[]", status: 422, field: "body"},
			refusal{method: "POST", target: target, body: "null", status: 422, field: "body"},
			refusal{method: "POST", target: target, body: `{"no_such":1}`, status: 422, field: "no_such"},
			refusal{method: "POST", target: target, body: `{"User":"bob"}`, status: 422, field: "User"},
			refusal{method: "POST", target: target, body: `{"user":"bob","user":"amy"}`, status: 422, field: "user"},
			refusal{method: "POST", target: target, body: `{"user":"bob","\u0075ser":"amy"}`, status: 422, field: "user"},
			refusal{method: "POST", target: target, body: `{"user":7}`, status: 422, field: "user"},
			refusal{method: "POST", target: target, body: `{"user":null}`, status: 422, field: "user"},
			refusal{method: "POST", target: target, body: `{"user":""}`, status: 422, field: "user"},
			refusal{method: "POST", target: target, body: `{"user":"` + strings.Repeat("u", 129) + `"}`, status: 422, field: "user"},
			refusal{method: "POST", target: target + "?user=bob", body: `{}`, status: 422, field: "user"},
			refusal{method: "POST", target: target + "?nothing=1", body: `{}`, status: 422, field: "nothing"},
		)
	}
	for _, c := range []struct{ method, target, body string }{
		{"POST", "/v1/memories", `{"text":"t","scope":"global",%s}`},
		{"POST", "/v1/memories:batch", `{"items":[{"text":"t","scope":"global"}],%s}`},
		{"POST", "/v1/sessions/s3/messages", `{"messages":[{"role":"user","content":"c"}],%s}`},
		{"PUT", "/v1/sessions/s3", `{%s}`},
		{"POST", "/v1/context", `{"query":"q",%s}`},
		{"POST", "/v1/search", `{"query":"q",%s}`},
		{"POST", "/v1/memories/MEM/restore", `{%s}`},
	} {
		for _, bad := range []string{`a\u0000b`, `\u0000`, `a\nb`, `\ud800`, `a\udc00`, "..", "."} {
			for _, field := range []string{"user", "agent"} {
				list = append(list, refusal{method: c.method, target: c.target, body: fmt.Sprintf(c.body, `"`+field+`":"`+bad+`"`), status: 422, field: field})
			}
		}
	}
	return list
}

func memoryRefusals() []refusal {
	var list []refusal
	add := func(field, body string) {
		list = append(list, refusal{method: "POST", target: "/v1/memories", body: body, status: 422, field: field})
	}
	add("text", `{"scope":"global"}`)
	add("text", `{"text":"","scope":"global"}`)
	add("text", `{"text":" \u0000 ","scope":"global"}`)
	add("text", `{"text":"\ud800","scope":"global"}`)
	add("text", `{"text":["t"],"scope":"global"}`)
	add("text", `{"text":"`+strings.Repeat("x", 16385)+`","scope":"global"}`)
	add("scope", `{"text":"t"}`)
	for _, scope := range []string{"", "Global", "all", "cross:x", "group:", "group:*", "group:a b", "group:..", "agent:self", "agent:*", "user:x", "*", `group:a\u0000`, `dm\u0000`, `\ud800`, "group:" + strings.Repeat("g", 129)} {
		add("scope", `{"text":"t","scope":"`+scope+`"}`)
	}
	for field, values := range map[string][]string{
		"type":        {`"Fact"`, `""`, `1`, `null`, `["fact"]`},
		"form":        {`"text_mem"`, `null`},
		"trust":       {`"highest"`, `3`},
		"source":      {`"nowhere"`, `"User_direct"`, `true`},
		"importance":  {`0`, `11`, `-1`, `5.5`, `"5"`, `1e1`, `null`, `99999999999999999999`},
		"occurred":    {`"2026-01-01T00:00:00Z"`, `null`, `[]`},
		"expires":     {`"2026-01-01"`, `"tomorrow"`, `1788447600`, `null`, `"2026-01-01T00:00:00"`},
		"labels":      {`[]`, `"x"`, `null`},
		"labels.a":    nil,
		"metadata":    {`[]`, `"x"`, `null`, `1`},
		"Metadata":    {`{}`},
		"id":          {`"x"`},
		"status":      {`"active"`},
		"infer":       {`true`},
		"external_id": {`"x"`},
	} {
		for _, v := range values {
			add(field, `{"text":"t","scope":"global","`+field+`":`+v+`}`)
		}
	}
	add("occurred.start", `{"text":"t","scope":"global","occurred":{}}`)
	add("occurred.start", `{"text":"t","scope":"global","occurred":{"start":"2026-01-01"}}`)
	add("occurred.end", `{"text":"t","scope":"global","occurred":{"start":"2026-01-01T00:00:00Z","end":"x"}}`)
	add("occurred.From", `{"text":"t","scope":"global","occurred":{"start":"2026-01-01T00:00:00Z","From":"x"}}`)
	add("labels.a", `{"text":"t","scope":"global","labels":{"a":1}}`)
	add("labels.a", `{"text":"t","scope":"global","labels":{"a":"1","a":"1"}}`)
	add(`labels.a\x00`, `{"text":"t","scope":"global","labels":{"a\u0000":"1"}}`)
	add("metadata.x.k", `{"text":"t","scope":"global","metadata":{"x":{"k":1,"k":2}}}`)
	add(`metadata.x.k\x00`, `{"text":"t","scope":"global","metadata":{"x":{"k\u0000":1}}}`)
	batch := func(field, body string) {
		list = append(list, refusal{method: "POST", target: "/v1/memories:batch", body: body, status: 422, field: field})
	}
	batch("items", `{}`)
	batch("items", `{"items":[]}`)
	batch("items", `{"items":{}}`)
	batch("items", `{"items":[`+strings.Repeat(`{"text":"t","scope":"dm"},`, 500)+`{"text":"t","scope":"dm"}]}`)
	batch("items[1].text", `{"items":[{"text":"ok","scope":"global"},{"scope":"global"}]}`)
	batch("items[1].Scope", `{"items":[{"text":"ok","scope":"global"},{"text":"t","Scope":"global","scope":"global"}]}`)
	batch("items[0].user", `{"items":[{"text":"ok","scope":"global","user":"bob"}]}`)
	for target, field := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=201": "limit", "limit=ten": "limit", "limit=": "limit", "limit=1.5": "limit", "limit=5&limit=5": "limit", "Limit=5": "Limit",
		"cursor=x": "cursor", "cursor=": "cursor", "cursor=%00": "cursor", "scope=nowhere": "scope", "scope=group:*": "scope", "scope=agent:self": "scope", "scope=": "scope", "scope=group:a%00": "scope",
		"type=facts": "type", "type=fact,Fact": "type", "type=fact,": "type", "form=x": "form", "trust=x": "trust", "status=erased": "status", "status=active&status=archived": "status",
		"sort=name": "sort", "since=2026-09-04": "since", "since=2026-09-04T00:00:00": "since", "since=1788447600": "since", "until=now": "until", "since=2026-09-04T00:00:00+09:00": "since",
		"user=": "user", "user=a%00b": "user", "user=a%0Ab": "user", "user=%ff": "user", "user=..": "user", "user=a&user=b": "user", "agent=%01": "agent",
		"q=": "q", "q=%00": "q", "label.=x": "label.", "label.a=": "label.a", "label.a=1&label.a=2": "label.a", "label.a%00=1": `label.a\x00`, "labels=x": "labels", "erase=true": "erase", "%ff=1": "\uFFFD",
		"q=" + strings.Repeat("x", 8193): "q",
	} {
		list = append(list, refusal{method: "GET", target: "/v1/memories?" + target, status: 422, field: field})
	}
	return append(list, changeRefusals()...)
}

func changeRefusals() []refusal {
	list := []refusal{
		{method: "PATCH", target: "/v1/memories/MEM", body: `{"text":"x"}`, status: 412, header: []string{"If-Match", `"7"`}},
		{method: "PATCH", target: "/v1/memories/MEM", body: `{"text":"x"}`, status: 404, header: nil},
	}
	list[1].target = "/v1/memories/01900000-0000-7000-8000-000000000000"
	for _, h := range []string{"x", "0", "-1", `"1", "2"`, `W/"1"`, "1.0"} {
		list = append(list, refusal{method: "PATCH", target: "/v1/memories/MEM", body: `{"text":"x"}`, status: 422, field: "If-Match", header: []string{"If-Match", h}})
	}
	for field, values := range map[string][]string{
		"text": {`""`, `null`, `1`, `"` + strings.Repeat("x", 16385) + `"`}, "type": {`"Fact"`, `null`}, "expires": {`"2026"`, `7`, `""`}, "labels": {`null`, `[]`}, "metadata": {`null`, `[]`},
		"user": {`"bob"`}, "agent": {`"bob"`}, "scope": {`"dm"`}, "status": {`"archived"`}, "version": {`1`}, "Text": {`"x"`}, "trust": {`"high"`},
	} {
		for _, v := range values {
			list = append(list, refusal{method: "PATCH", target: "/v1/memories/MEM", body: `{"` + field + `":` + v + `}`, status: 422, field: field})
		}
	}
	return append(list,
		refusal{method: "PATCH", target: "/v1/memories/MEM?user=bob", body: `{"text":"x"}`, status: 404},
		refusal{method: "DELETE", target: "/v1/memories/MEM?user=bob", status: 404},
		refusal{method: "DELETE", target: "/v1/memories/MEM?erase=true", status: 422, field: "erase"},
		refusal{method: "DELETE", target: "/v1/memories/MEM", body: `{"user":"bob"}`, status: 422, field: "body"},
		refusal{method: "GET", target: "/v1/memories/MEM/history?limit=1", status: 422, field: "limit"},
		refusal{method: "POST", target: "/v1/memories/MEM/restore", body: `{"version":1}`, status: 422, field: "version"},
		refusal{method: "POST", target: "/v1/memories/MEM/restore", body: `{"user":"bob"}`, status: 404},
	)
}

func sessionRefusals() []refusal {
	var list []refusal
	add := func(field, message string) {
		list = append(list, refusal{method: "POST", target: "/v1/sessions/s4/messages", body: `{"messages":[{"role":"user","content":"ok"},` + message + `]}`, status: 422, field: "messages[1]." + field})
	}
	add("role", `{"content":"c"}`)
	add("role", `{"role":"User","content":"c"}`)
	add("role", `{"role":"bot","content":"c"}`)
	add("content", `{"role":"user"}`)
	add("content", `{"role":"user","content":null}`)
	add("content", `{"role":"user","content":7}`)
	add("content", `{"role":"user","content":{"text":"x"}}`)
	add("content[0]", `{"role":"user","content":["x"]}`)
	add("id", `{"id":"","role":"user","content":"c"}`)
	add("id", `{"id":"a\u0000","role":"user","content":"c"}`)
	add("id", `{"id":"a\udc00","role":"user","content":"c"}`)
	add("id", `{"id":"`+strings.Repeat("x", 129)+`","role":"user","content":"c"}`)
	add("id", `{"id":7,"role":"user","content":"c"}`)
	add("name", `{"role":"user","content":"c","name":"a\u0000b"}`)
	add("name", `{"role":"user","content":"c","name":"\ud800"}`)
	add("user", `{"role":"user","content":"c","user":"a\u0000b"}`)
	add("kind", `{"role":"user","content":"c","kind":"Chat"}`)
	add("time", `{"role":"user","content":"c","time":"2026-01-01"}`)
	add("time", `{"role":"user","content":"c","time":1}`)
	add("time", `{"role":"user","content":"c","time":null}`)
	add("tool_calls", `{"role":"assistant","content":"c","tool_calls":{}}`)
	add("tool_calls[0]", `{"role":"assistant","content":"c","tool_calls":["x"]}`)
	add("tool_calls[0].a", `{"role":"assistant","content":"c","tool_calls":[{"a":1,"a":1}]}`)
	add("tool_call_id", `{"role":"tool","content":"c","tool_call_id":1}`)
	add("metadata", `{"role":"user","content":"c","metadata":[]}`)
	add("timestamp", `{"role":"user","content":"c","timestamp":1}`)
	add("Content", `{"role":"user","Content":"c"}`)
	for _, c := range []struct{ body, field string }{
		{`{}`, "messages"}, {`{"messages":[]}`, "messages"}, {`{"messages":"hi"}`, "messages"}, {`{"messages":[7]}`, "messages[0]"}, {`{"messages":[null]}`, "messages[0]"},
		{`{"messages":[{"role":"user","content":"c"}],"group":"a b"}`, "group"}, {`{"messages":[{"role":"user","content":"c"}],"group":"a\u0000"}`, "group"},
		{`{"messages":[{"role":"user","content":"c"}],"mode":"merge"}`, "mode"}, {`{"messages":[{"role":"user","content":"c"}],"end":true}`, "end"},
	} {
		list = append(list, refusal{method: "POST", target: "/v1/sessions/s4/messages", body: c.body, status: 422, field: c.field})
	}
	for _, c := range []struct{ body, field string }{
		{`{"group":""}`, "group"}, {`{"group":".."}`, "group"}, {`{"group":"a/b"}`, "group"}, {`{"metadata":null}`, "metadata"}, {`{"state":"ended"}`, "state"}, {`{"id":"x"}`, "id"}, {`{"Group":"a"}`, "Group"},
	} {
		list = append(list, refusal{method: "PUT", target: "/v1/sessions/s4", body: c.body, status: 422, field: c.field})
	}
	for target, field := range map[string]string{
		"/v1/sessions?limit=0": "limit", "/v1/sessions?limit=201": "limit", "/v1/sessions?limit=ten": "limit", "/v1/sessions?cursor=x": "cursor", "/v1/sessions?state=Open": "state", "/v1/sessions?state=": "state",
		"/v1/sessions?user=%00": "user", "/v1/sessions?q=x": "q", "/v1/sessions/s1?limit=1": "limit", "/v1/sessions/s1/messages?limit=0": "limit", "/v1/sessions/s1/messages?limit=500": "limit",
		"/v1/sessions/s1/messages?before_seq=0": "before_seq", "/v1/sessions/s1/messages?before_seq=x": "before_seq", "/v1/sessions/s1/messages?window=1": "window", "/v1/sessions/s1/messages?window=": "window",
		"/v1/sessions/s1/messages?cursor=nonsense": "cursor", "/v1/sessions/s1/messages?window=true&window=false": "window",
	} {
		list = append(list, refusal{method: "GET", target: target, status: 422, field: field})
	}
	return append(list,
		refusal{method: "DELETE", target: "/v1/sessions/s1?erase=true", status: 422, field: "erase"},
		refusal{method: "DELETE", target: "/v1/sessions/s1?user=bob", status: 404},
		refusal{method: "POST", target: "/v1/sessions/s1/messages", body: `{"user":"bob","messages":[{"role":"user","content":"c"}]}`, status: 404},
		refusal{method: "POST", target: "/v1/sessions/s1/messages", body: `{"user":"amy","messages":[{"id":"m1","role":"user","content":"other words"}]}`, status: 409, field: "messages[0].id"},
		refusal{method: "GET", target: "/v1/sessions/nothing", status: 404},
		refusal{method: "GET", target: "/v1/sessions/nothing/messages", status: 404},
	)
}

func findingRefusals() []refusal {
	var list []refusal
	for _, target := range []string{"/v1/context", "/v1/search"} {
		add := func(field, body string) {
			list = append(list, refusal{method: "POST", target: target, body: body, status: 422, field: field})
		}
		add("query", `{}`)
		add("query", `{"query":""}`)
		add("query", `{"query":["q"]}`)
		add("query", `{"query":"`+strings.Repeat("x", 8193)+`"}`)
		for field, values := range map[string][]string{
			"group": {`""`, `"a b"`, `"a\u0000"`, `"*"`, `7`}, "dm": {`"true"`, `1`, `null`}, "context": {`7`, `"` + strings.Repeat("x", 8193) + `"`}, "mode": {`"vector"`, `"Keyword"`, `null`},
			"include": {`[]`, `"memory"`, `{}`}, "include[0]": nil, "min_trust": {`"none"`, `1`}, "as_of": {`"2026-01-01T00:00:00Z"`}, "explain": {`true`}, "top_k": {`3`}, "Query": {`"q"`},
		} {
			for _, v := range values {
				add(field, `{"query":"q","`+field+`":`+v+`}`)
			}
		}
		add("include[0]", `{"query":"q","include":["memories"]}`)
	}
	for field, values := range map[string][]string{
		"session": {`""`, `"a\u0000b"`, `"\ud800"`, `7`, `".."`, `"` + strings.Repeat("s", 129) + `"`}, "long_term": {`"false"`, `null`}, "rounds": {`-1`, `1001`, `1.5`, `"1"`}, "window_tokens": {`0`, `-1`, `"x"`},
		"memory_tokens": {`-1`, `1e3`}, "filter_sensitive": {`"auto"`}, "scope": {`"global"`}, "limit": {`5`},
	} {
		for _, v := range values {
			list = append(list, refusal{method: "POST", target: "/v1/context", body: `{"query":"q","` + field + `":` + v + `}`, status: 422, field: field})
		}
	}
	for field, values := range map[string][]string{
		"scope": {`"nowhere"`, `"agent:self"`, `"group:*"`, `"cross:"`, `"cross:*"`, `"group:a\u0000"`, `""`, `7`}, "limit": {`0`, `-1`, `101`, `"ten"`, `1.5`}, "types": {`[]`, `"fact"`}, "forms": {`[]`}, "statuses": {`[]`},
		"min_score": {`-0.1`, `1.1`, `"0.3"`, `1e999`}, "labels": {`[]`}, "session": {`"s"`}, "filter": {`{}`},
	} {
		for _, v := range values {
			list = append(list, refusal{method: "POST", target: "/v1/search", body: `{"query":"q","` + field + `":` + v + `}`, status: 422, field: field})
		}
	}
	return append(list,
		refusal{method: "POST", target: "/v1/search", body: `{"query":"q","types":["fact","facts"]}`, status: 422, field: "types[1]"},
		refusal{method: "POST", target: "/v1/search", body: `{"query":"q","labels":{"a":true}}`, status: 422, field: "labels.a"},
	)
}

func keyRefusals() []refusal {
	var list []refusal
	for _, c := range []struct{ field, body string }{
		{"kind", `{}`}, {"kind", `{"kind":"root"}`}, {"kind", `{"kind":null}`}, {"tenant", `{"kind":"tenant","tenant":""}`}, {"tenant", `{"kind":"tenant","tenant":"a\u0000"}`},
		{"tenant", `{"kind":"operator","tenant":"t"}`}, {"agent", `{"kind":"agent"}`}, {"agent", `{"kind":"agent","agent":"a\u0001"}`}, {"agent", `{"kind":"operator","agent":"a"}`}, {"user", `{"kind":"tenant","tenant":"t","user":"u"}`},
		{"name", `{"kind":"operator","name":"a\u0000b"}`}, {"name", `{"kind":"operator","name":"` + strings.Repeat("n", 129) + `"}`}, {"expires", `{"kind":"operator","expires":"2026"}`},
		{"expires", `{"kind":"operator","expires":"2001-01-01T00:00:00Z"}`}, {"expires", `{"kind":"operator","expires":null}`}, {"key", `{"kind":"operator","key":"mrd_x"}`},
	} {
		list = append(list, refusal{method: "POST", target: "/v1/keys", body: c.body, status: 422, field: c.field})
	}
	return append(list,
		refusal{method: "GET", target: "/v1/keys?cursor=x", status: 422, field: "cursor"},
		refusal{method: "GET", target: "/v1/keys?limit=0", status: 422, field: "limit"},
		refusal{method: "GET", target: "/v1/keys?user=x", status: 422, field: "user"},
		refusal{method: "GET", target: "/v1/status?verbose=1", status: 422, field: "verbose"},
		refusal{method: "GET", target: "/v1/status", status: 422, field: "X-Memoryd-Tenant", header: []string{"X-Memoryd-Tenant", ".."}},
	)
}

// pathRefusals are ids in the path that no id can be.
func pathRefusals() []refusal {
	var list []refusal
	for _, id := range []string{"%00", "a%00b", "a%0Ab", "%7F", "%C2%85", "%2E%2E", "%2E", "%FF", "%ED%A0%80", strings.Repeat("x", 129), strings.Repeat("%E4%B8%AD", 129)} {
		for _, c := range []struct{ method, target, body string }{
			{"GET", "/v1/memories/ID", ""}, {"PATCH", "/v1/memories/ID", `{"text":"x"}`}, {"DELETE", "/v1/memories/ID", ""}, {"GET", "/v1/memories/ID/history", ""}, {"POST", "/v1/memories/ID/restore", ""},
			{"PUT", "/v1/sessions/ID", "{}"}, {"GET", "/v1/sessions/ID", ""}, {"DELETE", "/v1/sessions/ID", ""}, {"POST", "/v1/sessions/ID/messages", `{"messages":[{"role":"user","content":"c"}]}`},
			{"GET", "/v1/sessions/ID/messages", ""}, {"DELETE", "/v1/keys/ID", ""},
			{"PUT", "/v1/agents/ID", "{}"}, {"GET", "/v1/agents/ID", ""}, {"DELETE", "/v1/agents/ID", ""}, {"PUT", "/v1/tenants/ID", "{}"}, {"GET", "/v1/tenants/ID", ""}, {"DELETE", "/v1/tenants/ID", ""},
		} {
			list = append(list, refusal{method: c.method, target: strings.ReplaceAll(c.target, "ID", id), body: c.body, status: 422, field: "id"})
		}
	}
	return list
}
