package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// exam is one caller with one way of naming itself.
type exam struct {
	rt    *rapid.T
	w     world
	c     caller
	me    who
	a     asked
	named map[string]right
}

// refused says whether the key may not name this user or agent at all.
func (x exam) refused() bool {
	return x.me.kind == "agent" && (x.a.agent != "" && x.a.agent != x.me.agent || x.me.user != "" && x.a.user != "" && x.a.user != x.me.user)
}

func (x exam) may(y row, write bool, kind string) bool {
	return !x.refused() && mayTouch(x.me, x.a, y, x.named, write, true, kind == ofTurn)
}

// allows says whether memories of the type may be written.
func (x exam) allows(kind string) bool {
	_, r := rightsOf(x.me, x.a, x.named)
	return r == nil || r.types == nil || slices.Contains(r.types, kind)
}

func (x exam) fail(what string, r reply, y any) {
	x.rt.Helper()
	x.rt.Fatalf("%s of %+v as %+v asking %+v (%+v): %d %s", what, y, x.me, x.a, x.named, r.status, r.body)
}

func (x exam) body(b obj) obj {
	if x.a.user != "" {
		b["user"] = x.a.user
	}
	if x.a.agent != "" {
		b["agent"] = x.a.agent
	}
	return b
}

func (x exam) query(path string) string {
	v := url.Values{}
	if x.a.user != "" {
		v.Set("user", x.a.user)
	}
	if x.a.agent != "" {
		v.Set("agent", x.a.agent)
	}
	if len(v) == 0 {
		return path
	}
	if strings.Contains(path, "?") {
		return path + "&" + v.Encode()
	}
	return path + "?" + v.Encode()
}

// only fails when an answer holds a marker of what the caller may not see, and answers what it holds.
func (x exam) only(what string, r reply, byID bool) []marked {
	x.rt.Helper()
	if r.status >= 500 {
		x.fail(what, r, nil)
	}
	var seen []marked
	for _, word := range slices.Compact(slices.Sorted(slices.Values(markerForm.FindAllString(string(r.body), -1)))) {
		m, ok := x.w.marks[word]
		if !ok || x.refused() || !mayTouch(x.me, x.a, m.row, x.named, false, byID, m.kind == ofTurn) {
			x.fail(what, r, m)
		}
		seen = append(seen, m)
	}
	return seen
}

// active is only for an answer that holds no archived memories besides.
func (x exam) active(what string, r reply) {
	x.rt.Helper()
	for _, m := range x.only(what, r, false) {
		if m.kind == ofMemory && m.archived() {
			x.fail(what, r, m)
		}
	}
}

// walls looks over the walls that the kind of key stands behind.
func (x exam) walls() {
	if x.me.kind == "operator" {
		x.c.want(200, "GET", "/v1/keys", nil)
		return
	}
	other := x.c.in(tenantNames[1-slices.Index(tenantNames, x.me.tenant)])
	for _, r := range []reply{x.c.do("GET", "/v1/keys", nil), other.do("GET", x.query("/v1/memories"), nil), other.do("GET", x.query("/v1/sessions"), nil)} {
		if r.status != 403 || len(markerForm.Find(r.body)) > 0 {
			x.fail("what is not its own", r, nil)
		}
	}
}

func (x exam) reads() {
	states := []string{"active", "archived", "quarantined", "superseded"}
	find := func(more obj) reply {
		b := obj{"query": "harbour light", "limit": 100, "min_score": 0, "include": []string{"memory", "turn"}}
		for k, v := range more {
			b[k] = v
		}
		return x.c.do("POST", "/v1/search", x.body(b))
	}
	for _, s := range append([]string{"all", "cross:g1", "agent:self"}, scopeNames...) {
		x.only("search "+s, find(obj{"scope": s, "statuses": states}), false)
		x.only("list "+s, x.c.do("GET", x.query("/v1/memories?limit=200&status=active,archived&scope="+url.QueryEscape(s)), nil), false)
	}
	x.active("search", find(nil))
	x.active("search of all", find(obj{"scope": "all"}))
	x.active("search for active ones", find(obj{"scope": "all", "statuses": []string{"active"}}))
	x.active("search in a group", find(obj{"group": "g2"}))
	x.active("search in a group and dm", find(obj{"group": "g1", "dm": true}))
	x.active("list", x.c.do("GET", x.query("/v1/memories?limit=200"), nil))
	x.only("list of archived ones", x.c.do("GET", x.query("/v1/memories?limit=200&status=archived"), nil), false)
	x.only("sessions", x.c.do("GET", x.query("/v1/sessions?limit=200"), nil), false)
	for _, where := range []obj{{}, {"group": "g1"}, {"group": "g2", "dm": true}} {
		where["query"], where["long_term"] = "harbour light", true
		x.active("context", x.c.do("POST", "/v1/context", x.body(where)))
	}
}

func (x exam) byID() {
	for y, id := range x.w.memories {
		can := x.may(y, false, ofMemory)
		for _, path := range []string{"/v1/memories/" + id, "/v1/memories/" + id + "/history"} {
			r := x.c.do("GET", x.query(path), nil)
			x.only("GET "+path, r, true)
			if can != (r.status == 200) || !can && !x.refused() && !x.may(y, true, ofMemory) && r.status != 404 {
				x.fail("GET "+path, r, y)
			}
		}
	}
	for y, id := range x.w.sessions {
		for _, path := range []string{"/v1/sessions/" + id, "/v1/sessions/" + id + "/messages" + []string{"", "?window=true"}[len(y.scope)%2]} {
			r := x.c.do("GET", x.query(path), nil)
			x.only("GET "+path, r, true)
			if r.status == 200 && !x.may(y, false, ofTurn) {
				x.fail("GET "+path, r, y)
			}
		}
		// Without a user, context takes its session's, whoever of the tenant that is.
		as := x
		if as.a.user == "" && as.me.user == "" && y.tenant == x.me.tenant {
			as.a.user = y.user
		}
		as.only("context of "+id, x.c.do("POST", "/v1/context", x.body(obj{"query": "harbour light", "session": id, "long_term": true})), false)
	}
}

// writes tries what changes a memory, on each, and then has the operator look for what changed.
func (x exam) writes() {
	for y, id := range x.w.memories {
		at, op, may := "/v1/memories/"+id, x.w.op.in(y.tenant), x.may(y, true, ofMemory)
		if !may {
			if r := x.c.do("DELETE", x.query(at), nil); r.status < 400 {
				x.fail("DELETE", r, y)
			}
		}
		*x.w.tries++
		what, r := "PATCH", reply{}
		if y.archived() {
			what, r = "restore", x.c.do("POST", at+"/restore", x.body(obj{}))
		} else {
			r = x.c.do("PATCH", x.query(at), obj{"metadata": obj{"n": *x.w.tries}})
		}
		x.only(what, r, true)
		after := op.want(200, "GET", at, nil)
		changed := after["version"] != x.w.version[y]
		if changed != (may && x.allows("preference")) || changed != (r.status == 200) {
			x.fail(what, r, y)
		}
		x.w.version[y] = after["version"]
		if y.archived() && changed {
			x.w.version[y] = op.want(200, "DELETE", at, nil)["version"]
		}
	}
}

// adds tries to keep a memory in every scope, one by one and together.
func (x exam) adds() {
	user := x.me.user
	if user == "" {
		user = x.a.user
	}
	if user == "" {
		user = "default"
	}
	var may []bool
	var items []obj
	for _, s := range scopeNames {
		ok := x.may(row{x.me.tenant, user, s}, true, ofMemory) && x.allows("fact")
		may = append(may, ok)
		items = append(items, obj{"text": "kept by an exam", "scope": s, "type": "fact"})
		r := x.c.do("POST", "/v1/memories", x.body(obj{"text": "written by an exam", "scope": s, "type": "fact"}))
		if (r.status == 201) != ok {
			x.fail("add", r, s)
		}
	}
	if x.refused() {
		if r := x.c.do("POST", "/v1/memories:batch", x.body(obj{"items": items})); r.status < 400 {
			x.fail("batch", r, nil)
		}
		return
	}
	for i, it := range x.c.want(200, "POST", "/v1/memories:batch", x.body(obj{"items": items}))["items"].([]any) {
		if stored := it.(obj)["state"] != "refused"; stored != may[i] {
			x.rt.Fatalf("batch to %s as %+v asking %+v (%+v): %v, may: %v", scopeNames[i], x.me, x.a, x.named, it, may[i])
		}
	}
}

// appends tries what changes a session, on each, and then has the operator look for what changed.
func (x exam) appends() {
	for y, id := range x.w.sessions {
		at, may := "/v1/sessions/"+id, x.may(y, true, ofTurn)
		if !may {
			if r := x.c.do("DELETE", x.query(at), nil); r.status < 400 {
				x.fail("DELETE", r, y)
			}
		}
		*x.w.tries++
		put := x.c.do("PUT", at, x.body(obj{"metadata": obj{"n": *x.w.tries}}))
		message := obj{"role": "user", "content": "noted by an exam"}
		quoted := strings.HasPrefix(y.scope, "group:") && y.user == "default"
		if quoted {
			message["user"] = "u2"
		}
		r := x.c.do("POST", at+"/messages", x.body(obj{"messages": []obj{message}}))
		after := x.w.op.in(y.tenant).want(200, "GET", at, nil)
		moved, replaced := after["last_seq"] != x.w.lastSeq[y], fmt.Sprint(after["metadata"].(obj)["n"]) == fmt.Sprint(*x.w.tries)
		x.w.lastSeq[y] = after["last_seq"]
		// In the caller's own tenant the id of another's session is free: what it made there is its own, and goes.
		if y.tenant != x.me.tenant && !moved && !replaced {
			x.w.op.in(x.me.tenant).do("DELETE", at, nil)
			continue
		}
		// Whoever is no agent belongs to every session; an agent only to its own, and to groups.
		sure := may && x.me.agent == "" && x.a.agent == ""
		if replaced && !may || replaced != (put.status == 200) || sure && !replaced {
			x.fail("PUT", put, y)
		}
		if quoted && may && x.me.user != "" {
			if moved || r.status != 422 {
				x.fail("another's words", r, y)
			}
			continue
		}
		if moved && !may || moved != (r.status == 201) || sure && !moved {
			x.fail("append", r, y)
		}
	}
}
