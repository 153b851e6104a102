package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// directoryRefusals are those of agents, tenants and users. The agents w1 and facts stand in the configuration.
func directoryRefusals() []refusal {
	var list []refusal
	for field, values := range map[string][]string{
		"long_term": {`"yes"`, `null`, `1`}, "context_rounds": {`-1`, `1001`, `1.5`, `"3"`}, "window_tokens": {`-1`, `1e99`}, "memory_tokens": {`-1`, `null`},
		"filter_sensitive": {`"on"`, `1`, `null`, `"true"`}, "min_trust": {`"none"`, `""`, `1`}, "max_trust": {`"highest"`}, "read": {`"global"`, `null`, `{}`},
		"read[0]": nil, "allowed_types[0]": nil, "operator": {`true`, `false`}, "managed_by": {`"api"`}, "id": {`"x"`}, "Read": {`[]`}, "user": {`"bob"`}, "provider": {`"mem0"`},
	} {
		for _, v := range values {
			list = append(list, refusal{method: "PUT", target: "/v1/agents/new", body: `{"` + field + `":` + v + `}`, status: 422, field: field})
		}
	}
	for _, right := range []string{"nowhere", "Global", "group:", "group:a b", "all", "cross:x", "agent:..", "*", ""} {
		list = append(list,
			refusal{method: "PUT", target: "/v1/agents/new", body: `{"read":["` + right + `"]}`, status: 422, field: "read[0]"},
			refusal{method: "PUT", target: "/v1/agents/new", body: `{"write":["dm","` + right + `"]}`, status: 422, field: "write[1]"})
	}
	for _, body := range []string{"{", "nonsense", "{}{}", "\xff"} {
		list = append(list, refusal{method: "PUT", target: "/v1/agents/new", body: body, status: 400}, refusal{method: "PUT", target: "/v1/tenants/new", body: body, status: 400})
	}
	for _, c := range []struct{ field, body string }{
		{"name", `{"name":""}`}, {"name", `{"name":7}`}, {"name", `{"name":null}`}, {"name", `{"name":"a\u0000"}`}, {"name", `{"name":"` + strings.Repeat("n", 129) + `"}`},
		{"settings", `{"settings":[]}`}, {"settings.plan", `{"settings":{"plan":"x"}}`}, {"id", `{"id":"x"}`}, {"Name", `{"Name":"x"}`}, {"body", `[]`},
	} {
		list = append(list, refusal{method: "PUT", target: "/v1/tenants/new", body: c.body, status: 422, field: c.field})
	}
	for _, target := range []string{"/v1/agents", "/v1/tenants", "/v1/users"} {
		for query, field := range map[string]string{
			"limit=0": "limit", "limit=201": "limit", "limit=ten": "limit", "cursor=x": "cursor", "cursor=": "cursor", "q=x": "q", "user=x": "user", "limit=5&limit=5": "limit",
		} {
			list = append(list, refusal{method: "GET", target: target + "?" + query, status: 422, field: field})
		}
	}
	return append(list,
		refusal{method: "PUT", target: "/v1/agents/new", body: `{"allowed_types":["fact","facts"]}`, status: 422, field: "allowed_types[1]"},
		refusal{method: "PUT", target: "/v1/agents/w1", body: `{}`, status: 409},
		refusal{method: "DELETE", target: "/v1/agents/w1", status: 409},
		refusal{method: "DELETE", target: "/v1/agents/nobody", status: 404},
		refusal{method: "GET", target: "/v1/agents/nobody", status: 404},
		refusal{method: "GET", target: "/v1/agents/w1?user=x", status: 422, field: "user"},
		refusal{method: "PUT", target: "/v1/agents/new", status: 400, header: []string{"Content-Type", "application/json"}},
		refusal{method: "PUT", target: "/v1/agents/new", body: `{}`, status: 404, header: []string{"X-Memoryd-Tenant", "nowhere"}, field: "X-Memoryd-Tenant"},
		refusal{method: "GET", target: "/v1/users", status: 404, header: []string{"X-Memoryd-Tenant", "nowhere"}, field: "X-Memoryd-Tenant"},
		refusal{method: "GET", target: "/v1/tenants/nobody", status: 404},
		refusal{method: "DELETE", target: "/v1/tenants/nobody", status: 404},
		refusal{method: "DELETE", target: "/v1/tenants/default", status: 409},
	)
}

func TestAgentsOverTheAPI(t *testing.T) {
	r := start(t, nil)
	r.key = r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	tenant := []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"acme"}`).str("key")}
	agent := []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"agent","tenant":"acme","agent":"bot"}`).str("key")}
	add := func(status int, scope string) {
		t.Helper()
		r.must(status, "POST", "/v1/memories", `{"text":"The `+scope+` gate is open","scope":"`+scope+`"}`, agent...)
	}
	// An agent that is named nowhere writes nothing, and knows nothing of itself.
	add(403, "global")
	r.must(404, "GET", "/v1/agents/bot", "", agent...)

	full := `{"long_term":true,"context_rounds":0,"window_tokens":0,"memory_tokens":5,"filter_sensitive":false,"min_trust":"medium","max_trust":"high","read":["global","group:*"],"write":["global"],"allowed_types":["fact","preference"]}`
	made := r.must(201, "PUT", "/v1/agents/bot", full, tenant...)
	got := r.must(200, "GET", "/v1/agents/bot", "", agent...)
	for name, a := range map[string]answer{"put": made, "get": got} {
		if want := `{"id":"bot","managed_by":"api",` + full[1:len(full)-1] + `,"notes":[]}`; strings.TrimSpace(string(a.raw)) != want {
			t.Errorf("%s: %s\nwant %s", name, a.raw, want)
		}
	}
	// What it may do has changed with the next request.
	r.must(201, "POST", "/v1/memories", `{"text":"The east gate is open","scope":"global","type":"fact"}`, agent...)
	r.must(403, "POST", "/v1/memories", `{"text":"The gate is opened with a key","scope":"global","type":"procedure"}`, agent...)
	add(403, "dm")
	r.must(200, "PUT", "/v1/agents/bot", `{"read":[],"write":["none"],"filter_sensitive":"auto"}`, tenant...)
	if a := r.must(200, "GET", "/v1/agents/bot", "", tenant...); strings.TrimSpace(string(a.raw)) != `{"id":"bot","managed_by":"api","filter_sensitive":"auto","read":[],"write":["none"],"notes":[]}` {
		t.Errorf("replaced: %s", a.raw)
	}
	r.must(403, "POST", "/v1/memories", `{"text":"The west gate is open","scope":"global","type":"fact"}`, agent...)
	if a := r.must(200, "GET", "/v1/memories", "", agent...); len(a.items()) != 0 {
		t.Errorf("it may read nothing but its own: %s", a.raw)
	}

	// An agent sees itself alone and changes nothing; another tenant does not see it at all.
	for _, c := range []struct {
		status       int
		method, path string
		header       []string
	}{
		{404, "GET", "/v1/agents/w1", agent}, {403, "GET", "/v1/agents", agent}, {403, "PUT", "/v1/agents/bot", agent}, {403, "DELETE", "/v1/agents/bot", agent},
		{403, "PUT", "/v1/agents/other", agent}, {403, "GET", "/v1/users", agent}, {403, "GET", "/v1/tenants", agent}, {403, "PUT", "/v1/tenants/x", tenant}, {403, "GET", "/v1/tenants/acme", tenant},
		{403, "GET", "/v1/tenants", tenant}, {403, "DELETE", "/v1/tenants/acme", tenant}, {404, "GET", "/v1/agents/bot", nil}, {404, "DELETE", "/v1/agents/bot", nil},
	} {
		body := ""
		if c.method == "PUT" {
			body = "{}"
		}
		r.must(c.status, c.method, c.path, body, c.header...)
	}
	if a := r.must(200, "GET", "/v1/agents/bot", "", "X-Memoryd-Tenant", "acme"); a.str("managed_by") != "api" {
		t.Errorf("an operator in the tenant: %s", a.raw)
	}
	ids := func(header ...string) string {
		var out []string
		for _, it := range r.must(200, "GET", "/v1/agents", "", header...).items() {
			out = append(out, fmt.Sprint(it["id"], " ", it["managed_by"]))
		}
		return strings.Join(out, ", ")
	}
	if got := ids(tenant...); got != "bot api, facts config, w1 config, w2 config" {
		t.Errorf("the tenant's list: %s", got)
	}
	if got := ids(); got != "facts config, w1 config, w2 config" {
		t.Errorf("the default tenant's list: %s", got)
	}
	r.must(200, "DELETE", "/v1/agents/bot", "", tenant...)
	r.must(404, "GET", "/v1/agents/bot", "", agent...)
	r.must(404, "DELETE", "/v1/agents/bot", "", tenant...)
}

// pages reads a list to its end, n items at a time.
func (r *rig) pages(target string, n int) []string {
	r.t.Helper()
	var out []string
	next := ""
	for range 100 {
		url := fmt.Sprintf("%s?limit=%d", target, n)
		if next != "" {
			url += "&cursor=" + next
		}
		a := r.must(200, "GET", url, "")
		if len(a.items()) > n {
			r.t.Fatalf("%s: %d items", url, len(a.items()))
		}
		for _, it := range a.items() {
			out = append(out, it["id"].(string))
		}
		if next = a.str("next_cursor"); next == "" {
			return out
		}
	}
	r.t.Fatalf("%s has no end", target)
	return nil
}

func TestListsArePaged(t *testing.T) {
	r := start(t, nil)
	var keys int
	for i := range 5 {
		r.must(201, "PUT", fmt.Sprintf("/v1/tenants/t%d", i), `{"name":"n"}`)
		r.must(201, "PUT", fmt.Sprintf("/v1/agents/a%d", i), `{}`)
		r.must(201, "POST", "/v1/memories", fmt.Sprintf(`{"text":"Fact number %d","scope":"global","user":"u%d"}`, i, i))
	}
	r.key = r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	for keys = 1; keys < 5; keys++ {
		r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`)
	}
	for target, want := range map[string]string{
		"/v1/tenants": "default t0 t1 t2 t3 t4", "/v1/agents": "a0 a1 a2 a3 a4 facts w1 w2", "/v1/users": "u0 u1 u2 u3 u4",
	} {
		for _, n := range []int{1, 2, 5, 200} {
			if got := strings.Join(r.pages(target, n), " "); got != want {
				t.Errorf("%s by %d: %s", target, n, got)
			}
		}
	}
	if got := r.pages("/v1/keys", 2); len(got) != keys {
		t.Errorf("keys: %v", got)
	}
	// A cursor leads nowhere but in its own list.
	other := r.must(200, "GET", "/v1/tenants?limit=1", "").str("next_cursor")
	for _, target := range []string{"/v1/agents", "/v1/keys", "/v1/users"} {
		r.must(422, "GET", target+"?cursor="+other, "")
	}
	users := r.must(200, "GET", "/v1/users?limit=1", "").str("next_cursor")
	r.must(422, "GET", "/v1/users?cursor="+users, "", "X-Memoryd-Tenant", "t1")
}

func TestTenantsOverTheAPI(t *testing.T) {
	r := start(t, nil)
	if a := r.must(200, "GET", "/v1/tenants/default", ""); a.str("id") != "default" {
		t.Errorf("the default tenant: %s", a.raw)
	}
	r.must(201, "PUT", "/v1/tenants/acme", `{"name":"Acme Ltd","settings":{}}`)
	r.must(200, "PUT", "/v1/tenants/acme", `{"name":"Acme"}`)
	if a := r.must(200, "GET", "/v1/tenants/acme", ""); a.str("name") != "Acme" || a.str("created") == "" {
		t.Errorf("acme: %s", a.raw)
	}
	r.key = r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	tenant := []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"acme"}`).str("key")}
	r.must(201, "PUT", "/v1/agents/bot", `{"write":["global"]}`, tenant...)
	mem := r.must(201, "POST", "/v1/memories", `{"text":"The boiler hums","scope":"global","user":"amy"}`, tenant...).str("memory", "id")
	r.must(201, "POST", "/v1/sessions/s1/messages", `{"user":"bob","messages":[{"role":"user","content":"hello"}]}`, tenant...)
	r.must(200, "DELETE", "/v1/memories/"+mem, "", tenant...)
	users := r.must(200, "GET", "/v1/users", "", tenant...).items()
	if len(users) != 2 || users[0]["id"] != "amy" || users[0]["memories"] != 0.0 || users[0]["inactive"] != 1.0 || users[1]["sessions"] != 1.0 {
		t.Errorf("users: %v", users)
	}
	refused := r.must(409, "DELETE", "/v1/tenants/acme", "")
	if d := refused.problem(t).Detail; !strings.Contains(d, "1 memories (0 of them active) and 1 sessions") {
		t.Errorf("it does not say what it holds: %s", d)
	}
	r.must(200, "GET", "/v1/status", "", tenant...)

	r.must(201, "PUT", "/v1/tenants/empty", `{}`)
	key := []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"empty"}`).str("key")}
	r.must(201, "PUT", "/v1/agents/bot", `{}`, key...)
	r.must(200, "DELETE", "/v1/tenants/empty", "")
	r.must(401, "GET", "/v1/status", "", key...)
	r.must(404, "GET", "/v1/tenants/empty", "")
	r.must(404, "GET", "/v1/memories", "", "X-Memoryd-Tenant", "empty")
	// Made again, it is a new one: the old key stays dead and the old agent is unknown.
	r.must(201, "PUT", "/v1/tenants/empty", `{}`)
	r.must(401, "GET", "/v1/status", "", key...)
	r.must(404, "GET", "/v1/agents/bot", "", "X-Memoryd-Tenant", "empty")
}

func TestRateOfAgentKeys(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	r := start(t, func(_ *access.Options, o *Options) {
		o.Now, o.Rate = func() time.Time { return now }, Rate{PerSecond: 2, Burst: 3}
	})
	for range 10 {
		r.must(200, "GET", "/v1/status", "") // the open loopback
	}
	r.key = r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	secrets := map[string][]string{}
	for _, name := range []string{"w1", "w2"} {
		secrets[name] = []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"agent","agent":"`+name+`"}`).str("key")}
	}
	secrets["tenant"] = []string{"Authorization", "Bearer " + r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"t"}`).str("key")}
	take := func(name string, passed int) {
		t.Helper()
		for range passed {
			r.must(200, "GET", "/v1/status", "", secrets[name]...)
		}
		a := r.must(429, "GET", "/v1/status", "", secrets[name]...)
		if p := a.problem(t); p.Type != "/problems/rate" || p.Code != "exhausted" || a.header.Get("Retry-After") != "1" || p.RetryAfter != 1 {
			t.Errorf("%s: %s %v", name, a.raw, a.header)
		}
	}
	take("w1", 3)
	take("w2", 3) // each key has its own
	for range 10 {
		r.must(200, "GET", "/v1/status", "", secrets["tenant"]...)
		r.must(200, "GET", "/v1/status", "")
	}
	now = now.Add(time.Second)
	take("w1", 2)
	now = now.Add(time.Hour)
	take("w1", 3)
	r.must(401, "GET", "/v1/status", "", "Authorization", "Bearer mrd_nonsense")
}

func TestMeter(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	passes := func(m *meter, key string) int {
		for n := range 1000 {
			if m.take(key) != nil {
				return n
			}
		}
		return 1000
	}
	m := newMeter(Rate{PerSecond: 100, Burst: 200}, clock)
	if n := passes(m, "a"); n != 200 {
		t.Errorf("at once: %d", n)
	}
	now = now.Add(10 * time.Millisecond)
	if n := passes(m, "a"); n != 1 {
		t.Errorf("after a hundredth of a second: %d", n)
	}
	// A clock that is set back by an hour costs a refill at most.
	now = now.Add(-time.Hour)
	passes(m, "a")
	now = now.Add(2 * time.Second)
	if n := passes(m, "a"); n != 200 {
		t.Errorf("after the clock was set back: %d", n)
	}
	for i := range 10_000 {
		_ = m.take(fmt.Sprint(i))
	}
	now = now.Add(2 * time.Second)
	if _ = m.take("b"); len(m.full) != 1 {
		t.Errorf("%d buckets are kept", len(m.full))
	}
	slow := newMeter(Rate{PerSecond: 0.1, Burst: 1}, clock)
	if n := passes(slow, "a"); n != 1 {
		t.Errorf("slow: %d", n)
	}
	err := slow.take("a").(*memoryd.Error)
	if err.RetryAfter != 10*time.Second {
		t.Errorf("wait %s", err.RetryAfter)
	}
	if n := passes(newMeter(Rate{}, clock), "a"); n != 1000 {
		t.Errorf("without a limit: %d", n)
	}
}

func TestStatusTellsFacts(t *testing.T) {
	r := start(t, func(_ *access.Options, o *Options) { o.Facts = nil })
	if a := r.must(http.StatusOK, "GET", "/v1/status", ""); a.str("index", "bytes") != "0" {
		t.Errorf("status: %s", a.raw)
	}
}
