package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"memoryd"
)

func TestMemories(t *testing.T) {
	r := start(t, nil)
	made := r.must(201, "POST", "/v1/memories", `{"user":"amy","agent":"someone","text":"Prefers\u0000 tea \ud800without sugar","scope":"global","type":"preference",
		"labels":{"Area":"kitchen","area":"tea"},"metadata":{"big":12345678901234567890.10,"e":1.50E2,"user":"bob"},"expires":"2999-01-01T00:00:00+09:00",
		"occurred":{"start":"2026-01-02T03:04:05Z"}}`)
	id := made.str("memory", "id")
	if made.str("state") != "stored" || made.str("memory", "text") != "Prefers tea without sugar" || made.str("memory", "user") != "amy" || made.header.Get("ETag") != `"1"` {
		t.Errorf("added: %s %v", made.raw, made.header)
	}
	if notes := made.str("notes"); !strings.Contains(notes, "cleaned") || !strings.Contains(notes, "agent_unknown") {
		t.Errorf("notes: %s", notes)
	}
	if !strings.Contains(string(made.raw), `"metadata":{"big":12345678901234567890.10,"e":1.50E2,"user":"bob"}`) {
		t.Errorf("metadata: %s", made.raw)
	}
	if again := r.must(201, "POST", "/v1/memories", `{"user":"amy","text":"prefers TEA without sugar","scope":"global","type":"preference","expires":"2999-01-01T00:00:00Z"}`); again.str("state") != "duplicate" || again.str("memory", "id") != id {
		t.Errorf("again: %s", again.raw)
	}
	got := r.must(200, "GET", "/v1/memories/"+id, "")
	version := got.header.Get("ETag")
	if got.str("id") != id || version != `"`+got.str("version")+`"` || got.str("occurred", "start") != "2026-01-02T03:04:05Z" {
		t.Errorf("got: %s %v", got.raw, got.header)
	}
	r.must(404, "GET", "/v1/memories/"+id+"?user=bob", "")
	changed := r.must(200, "PATCH", "/v1/memories/"+id, `{"text":"Prefers coffee now"}`, "If-Match", version)
	if changed.str("text") != "Prefers coffee now" || changed.str("expires") == "" {
		t.Errorf("changed: %s", changed.raw)
	}
	r.must(412, "PATCH", "/v1/memories/"+id, `{"text":"Prefers water"}`, "If-Match", strings.Trim(version, `"`))
	if cleared := r.must(200, "PATCH", "/v1/memories/"+id, `{"expires":null,"labels":{}}`); cleared.str("expires") != "" || cleared.str("labels") != "map[]" || cleared.str("text") != "Prefers coffee now" {
		t.Errorf("cleared: %s", cleared.raw)
	}
	if gone := r.must(200, "DELETE", "/v1/memories/"+id+"?user=amy", ""); gone.str("status") != "archived" || gone.str("archived", "reason") != "deleted" {
		t.Errorf("deleted: %s", gone.raw)
	}
	if list := r.must(200, "GET", "/v1/memories?user=amy", ""); len(list.items()) != 0 || list.body["next_cursor"] != nil {
		t.Errorf("list: %s", list.raw)
	}
	if back := r.must(200, "POST", "/v1/memories/"+id+"/restore", `{"user":"amy"}`); back.str("status") != "active" {
		t.Errorf("restored: %s", back.raw)
	}
	r.must(200, "DELETE", "/v1/memories/"+id, "")
	r.must(200, "POST", "/v1/memories/"+id+"/restore", "")
	history := r.must(200, "GET", "/v1/memories/"+id+"/history", "").items()
	if n := len(history); n < 4 || history[0]["text"] != "Prefers tea without sugar" || history[n-1]["replaced_by"] != "" || history[n-1]["replaced_at"] != nil || history[0]["replaced_by"] != "loopback" {
		t.Errorf("history: %v", history)
	}
}

func TestMemoryLists(t *testing.T) {
	r := start(t, nil)
	var items []string
	for i := range 7 {
		items = append(items, fmt.Sprintf(`{"text":"number %d of seven","scope":"global","type":"fact","importance":%d,"labels":{"n.x":"%d"}}`, i, i+1, i%2))
	}
	batch := r.must(200, "POST", "/v1/memories:batch", `{"user":"amy","items":[`+strings.Join(items, ",")+`,{"text":"no place","scope":"nowhere"},{"text":"number 0 of seven","scope":"global"}]}`)
	states := ""
	for _, it := range batch.items() {
		states += fmt.Sprint(it["state"])[:1]
	}
	if states != "sssssssrd" || batch.items()[7]["memory"] != nil || !strings.Contains(string(batch.raw), `"path":"items[7].scope"`) {
		t.Errorf("batch: %s %s", states, batch.raw)
	}
	seen := map[string]bool{}
	target := "/v1/memories?user=amy&limit=3&sort=importance"
	for next := ""; ; {
		page := r.must(200, "GET", target+next, "")
		for _, it := range page.items() {
			seen[it["id"].(string)] = true
		}
		if page.body["next_cursor"] == nil {
			break
		}
		next = "&cursor=" + url.QueryEscape(page.str("next_cursor"))
		r.must(422, "GET", "/v1/memories?user=bob&limit=3&sort=importance"+next, "")
	}
	if len(seen) != 7 {
		t.Errorf("pages hold %d", len(seen))
	}
	for query, want := range map[string]int{
		"label.n.x=1": 3, "label.n.x=2": 0, "type=fact,decision": 7, "type=decision": 0, "q=number+3": 1, "q=NUMBER": 0, "q=%25": 0, "scope=global": 7, "scope=dm": 0, "status=archived": 0,
		"since=2001-01-01T00:00:00%2B09:00": 7, "until=2001-01-01T00:00:00Z": 0, "trust=high": 7, "trust=low,medium": 0, "agent=coder": 0, "sort=last_used&limit=2": 2,
	} {
		if got := r.must(200, "GET", "/v1/memories?user=amy&"+query, ""); len(got.items()) != want {
			t.Errorf("%s: %d, want %d", query, len(got.items()), want)
		}
	}
}

func TestSessions(t *testing.T) {
	r := start(t, nil)
	if a := r.call("PUT", "/v1/sessions/empty", ""); a.status != 201 || a.str("id") != "empty" || a.str("last_seq") != "0" {
		t.Errorf("put: %d %s", a.status, a.raw)
	}
	if a := r.call("PUT", "/v1/sessions/empty", `{"metadata":{"a":1}}`); a.status != 200 || a.str("metadata") != "map[a:1]" {
		t.Errorf("put again: %d %s", a.status, a.raw)
	}
	for i, id := range []string{"a/b c", "聊天-1", "x%2Fy", "a+b&c=d?e#f", ";:@$,", "messages", strings.Repeat("長", 128)} {
		at := "/v1/sessions/" + url.PathEscape(id)
		done := r.must(201, "POST", at+"/messages", `{"user":"amy","messages":[{"id":"m","role":"user","content":"words \ud83d"},{"role":"assistant","content":[{"type":"text","text":"a\u0000b"}],"metadata":{"n":1.10}}]}`)
		if done.str("last_seq") != "2" || len(done.items()) != 2 || !strings.Contains(done.str("notes"), "cleaned") {
			t.Errorf("%s: %s", id, done.raw)
		}
		if again := r.must(201, "POST", at+"/messages", `{"user":"amy","messages":[{"id":"m","role":"user","content":"words \ud83d"}]}`); again.items()[0]["duplicate"] != true || again.str("last_seq") != "2" {
			t.Errorf("%s: %s", id, again.raw)
		}
		if head := r.must(200, "GET", at, ""); head.str("id") != id || head.str("user") != "amy" {
			t.Errorf("%s: %s", id, head.raw)
		}
		page := r.must(200, "GET", at+"/messages?limit=1", "")
		if len(page.items()) != 1 || page.items()[0]["seq"] != 2.0 || page.body["next_cursor"] == nil || !strings.Contains(string(page.raw), `"metadata":{"n":1.10}`) {
			t.Errorf("%s: %s", id, page.raw)
		}
		r.must(200, "GET", at+"/messages?window=true", "")
		r.must(200, "GET", at+"/messages?before_seq=2", "")
		if list := r.must(200, "GET", "/v1/sessions?user=amy&state=open&limit=200", ""); len(list.items()) != i+1 {
			t.Errorf("list: %s", list.raw)
		}
	}
	if gone := r.must(200, "DELETE", "/v1/sessions/a%2fb%20c?user=amy", ""); gone.str("messages") != "2" {
		t.Errorf("deleted: %s", gone.raw)
	}
	r.must(404, "GET", "/v1/sessions/a%2Fb%20c", "")
	child := r.must(201, "POST", "/v1/sessions/agent:parent/messages", `{"messages":[{"role":"assistant","content":"done"},{"role":"assistant","content":"thinking","kind":"step"}]}`)
	if items := child.items(); items[0]["seq"] != 1.0 || items[1]["seq"] != nil || items[1]["dropped"] != true {
		t.Errorf("child: %s", child.raw)
	}
	for _, id := range []string{"agent:parent", "agent%3Aparent", "parent"} {
		if head := r.must(200, "GET", "/v1/sessions/"+id, ""); head.str("id") != "parent" {
			t.Errorf("%s: %s", id, head.raw)
		}
	}
}

func TestFinding(t *testing.T) {
	r := start(t, nil)
	for _, text := range []string{"The boiler is serviced every October", "Prefers tea <without> sugar & milk"} {
		r.must(201, "POST", "/v1/memories", `{"text":"`+text+`","scope":"global"}`)
	}
	r.must(201, "POST", "/v1/sessions/s/messages", `{"messages":[{"id":"m1","role":"user","name":"Amy","content":"When is the boiler serviced?"}]}`)
	found := r.must(200, "POST", "/v1/search", `{"query":"boiler serviced","min_score":0,"include":["memory","turn"]}`)
	kinds := map[string]bool{}
	for _, hit := range found.items() {
		kinds[hit["kind"].(string)] = true
		if hit["kind"] == "turn" && fmt.Sprintf("%v %v %v", hit["source_message_ids"], hit["session"], hit["seq"]) != "[m1] s 1" {
			t.Errorf("turn: %v", hit)
		}
		if hit["kind"] == "memory" && (hit["text"] != "The boiler is serviced every October" || hit["source_message_ids"] == nil) {
			t.Errorf("memory: %v", hit)
		}
	}
	if !kinds["memory"] || !kinds["turn"] || found.body["degraded"] == nil || found.body["took_ms"] == nil {
		t.Errorf("found: %s", found.raw)
	}
	none := r.must(200, "POST", "/v1/search", `{"user":"nobody","query":"boiler","types":["fact"],"labels":{"a":"b"},"include":["memory"],"mode":"keyword","limit":1,"dm":false}`)
	if !strings.Contains(string(none.raw), `"items":[]`) || !strings.Contains(string(none.raw), `"degraded":[]`) {
		t.Errorf("none: %s", none.raw)
	}
	c := r.must(200, "POST", "/v1/context", `{"query":"boiler serviced","session":"s","rounds":2}`)
	if msgs := c.body["messages"].([]any); len(msgs) != 1 || !strings.Contains(c.str("rendered"), "serviced every October") {
		t.Errorf("context: %s", c.raw)
	}
	if c.body["user_profile"].(map[string]any)["items"].([]any)[0].(map[string]any)["kind"] != "memory" {
		t.Errorf("context: %s", c.raw)
	}
	empty := r.must(200, "POST", "/v1/context", `{"user":"nobody","query":"x","memory_tokens":0,"rounds":0,"window_tokens":100,"long_term":true,"filter_sensitive":true,"min_trust":"high"}`)
	if strings.Contains(string(empty.raw), "null") {
		t.Errorf("empty: %s", empty.raw)
	}
	// < and & stand in texts as they are, not as escapes.
	if got := r.must(200, "POST", "/v1/search", `{"query":"tea sugar","min_score":0,"include":["memory"]}`); !strings.Contains(string(got.raw), "tea <without> sugar & milk") {
		t.Errorf("escaped: %s", got.raw)
	}
}

func TestTenantsAndAgents(t *testing.T) {
	r := start(t, nil)
	operator := r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	r.key = operator
	tenant := r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"acme"}`).str("key")
	w1 := r.must(201, "POST", "/v1/keys", `{"kind":"agent","agent":"w1"}`).str("key")
	made := r.must(201, "POST", "/v1/memories", `{"text":"Acme ships on Friday","scope":"global"}`, "X-Memoryd-Tenant", "acme")
	id := made.str("memory", "id")
	r.must(404, "GET", "/v1/memories/"+id, "")
	r.must(200, "GET", "/v1/memories/"+id, "", "X-Memoryd-Tenant", "acme")
	r.must(200, "GET", "/v1/memories/"+id, "", "Authorization", "Bearer "+tenant)
	if a := r.call("GET", "/v1/memories/"+id, "", "Authorization", "Bearer "+tenant, "X-Memoryd-Tenant", "default"); a.status < 400 {
		t.Errorf("a tenant key left its tenant: %s", a.raw)
	}
	a := r.must(404, "GET", "/v1/status", "", "X-Memoryd-Tenant", "nowhere")
	if p := a.problem(t); p.Type != "/problems/not-found" || !strings.Contains(p.Detail, `X-Memoryd-Tenant: there is no tenant "nowhere"`) {
		t.Errorf("a tenant that is not there: %s", a.raw)
	}
	own := r.must(201, "POST", "/v1/memories", `{"agent":"w2","text":"w2 keeps the ledger","scope":"agent:self"}`).str("memory", "id")
	r.key = w1
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/v1/memories/" + own, ""}, {"PATCH", "/v1/memories/" + own, `{"text":"x"}`}, {"DELETE", "/v1/memories/" + own, ""}, {"GET", "/v1/memories/" + own + "/history", ""},
		{"POST", "/v1/memories/" + own + "/restore", ""}, {"DELETE", "/v1/memories/01900000-0000-7000-8000-000000000000", ""},
	} {
		a := r.must(404, c.method, c.target, c.body)
		if p := a.problem(t); p.Type != "/problems/not-found" || len(p.Fields) != 0 || p.Detail != memoryd.ErrNotFound.Detail {
			t.Errorf("%s %s: %s", c.method, c.target, a.raw)
		}
	}
	r.must(403, "POST", "/v1/memories", `{"text":"t","scope":"global"}`)
	r.must(403, "POST", "/v1/search", `{"query":"q","scope":"group:x"}`)
	r.must(403, "POST", "/v1/keys", `{"kind":"operator"}`)
	r.must(403, "GET", "/v1/memories?scope=agent:w2", "")
	if a := r.call("GET", "/v1/memories?agent=w2", ""); a.status < 400 {
		t.Errorf("an agent key took another's name: %s", a.raw)
	}
	r.key = operator
	if a := r.must(403, "POST", "/v1/memories", `{"agent":"facts","text":"Do this, then that","scope":"global","type":"procedure"}`); a.problem(t).Type != "/problems/type-denied" {
		t.Errorf("type: %s", a.raw)
	}
	if got := r.must(200, "GET", "/v1/memories/"+own, ""); got.str("version") != "1" || got.str("uses") != "0" {
		t.Errorf("unchanged: %s", got.raw)
	}
	var keys struct{ Items []map[string]any }
	if err := json.Unmarshal(r.must(200, "GET", "/v1/keys", "").raw, &keys); err != nil || len(keys.Items) != 3 {
		t.Errorf("keys: %v %v", keys, err)
	}
}
