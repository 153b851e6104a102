package server

import (
	"strings"
	"testing"
)

func TestWorkingMemory(t *testing.T) {
	r := start(t, nil)
	at := "/v1/runs/run%2F1/working"
	set := r.must(200, "PUT", at+"/a%2Fb%20c", `{"user":"amy","agent":"w1","value":{"n":1.50,"z":null,"list":[]}}`)
	if set.str("key") != "a/b c" || !strings.Contains(string(set.raw), `"value":{"n":1.50,"z":null,"list":[]}`) || set.str("expires") <= set.str("updated") {
		t.Errorf("%s", set.raw)
	}
	for _, value := range []string{`null`, `"text"`, `1.0e30`, `[]`, `false`, `"<&>"`} {
		r.must(200, "PUT", at+"/v", `{"user":"amy","agent":"w1","ttl_s":1,"value":`+value+`}`)
		if got := r.must(200, "GET", at+"/v?user=amy&agent=w1", ""); !strings.Contains(string(got.raw), `"value":`+value+`,`) {
			t.Errorf("%s: %s", value, got.raw)
		}
	}
	all := r.must(200, "GET", at+"?user=amy&agent=w1", "")
	if len(all.items()) != 2 || all.items()[0]["key"] != "a/b c" {
		t.Errorf("%s", all.raw)
	}
	for _, other := range []string{"", "?user=amy", "?user=bob&agent=w1", "?user=amy&agent=w2"} {
		r.must(404, "GET", at+"/v"+other, "")
		r.must(404, "DELETE", at+"/v"+other, "")
		if list := r.must(200, "GET", at+other, ""); len(list.items()) != 0 {
			t.Errorf("%s: %s", other, list.raw)
		}
		if gone := r.must(200, "DELETE", at+other, ""); gone.str("deleted") != "0" {
			t.Errorf("%s: %s", other, gone.raw)
		}
	}
	if gone := r.must(200, "DELETE", at+"/v?user=amy&agent=w1", ""); gone.str("deleted") != "1" {
		t.Errorf("%s", gone.raw)
	}
	if gone := r.must(200, "DELETE", at+"?user=amy&agent=w1", ""); gone.str("deleted") != "1" {
		t.Errorf("%s", gone.raw)
	}
	// Nothing of it is anywhere else.
	r.must(200, "PUT", at+"/k", `{"value":"zanzibar"}`)
	if found := r.must(200, "POST", "/v1/search", `{"query":"zanzibar","scope":"all","min_score":0,"include":["memory","turn"]}`); len(found.items()) != 0 {
		t.Errorf("%s", found.raw)
	}
	for _, c := range []refusal{
		{method: "PUT", target: at + "/k", body: `{}`, status: 422, field: "value"},
		{method: "PUT", target: at + "/k", body: ``, status: 400},
		{method: "PUT", target: at + "/k", body: `{"value":1,"ttl":5}`, status: 422, field: "ttl"},
		{method: "PUT", target: at + "/k", body: `{"value":{"a":1,"a":2}}`, status: 422, field: "value.a"},
		{method: "PUT", target: at + "/k", body: `{"value":1,"ttl_s":0}`, status: 422, field: "ttl_s"},
		{method: "PUT", target: at + "/k", body: `{"value":1,"ttl_s":86401}`, status: 422, field: "ttl_s"},
		{method: "PUT", target: at + "/k", body: `{"value":1,"ttl_s":1.5}`, status: 422, field: "ttl_s"},
		{method: "PUT", target: at + "/k", body: `{"value":1,"user":"."}`, status: 422, field: "user"},
		{method: "PUT", target: at + "/a%00", body: `{"value":1}`, status: 422, field: "key"},
		{method: "PUT", target: "/v1/runs/" + strings.Repeat("r", 129) + "/working/k", body: `{"value":1}`, status: 422, field: "run"},
		{method: "GET", target: at + "?limit=5", status: 422, field: "limit"},
	} {
		a := r.must(c.status, c.method, c.target, c.body)
		if p := a.problem(t); c.field != "" && (len(p.Fields) != 1 || p.Fields[0].Path != c.field) {
			t.Errorf("%s %s: %s", c.target, c.body, a.raw)
		}
	}
	// An agent's key reaches the runs of its own agent, whatever else it may.
	r.key = r.must(201, "POST", "/v1/keys", `{"kind":"operator"}`).str("key")
	key := r.must(201, "POST", "/v1/keys", `{"kind":"agent","agent":"stranger","user":"amy"}`).str("key")
	r.key = key
	r.must(200, "PUT", "/v1/runs/r/working/k", `{"value":1}`)
	r.must(403, "GET", "/v1/runs/r/working?agent=w1", "")
	r.must(200, "GET", "/v1/runs/r/working/k?user=amy", "")
}
