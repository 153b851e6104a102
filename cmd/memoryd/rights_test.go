package main

import (
	"flag"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The property: whatever grants there are, no read answers a row that its caller may not see, and no write leaves a
// trace where its caller may not write. The model below says who may, in its own words; it shares no code with access.

type right struct {
	read, write []string
	types       []string // nil: all
	named       bool
}

type row struct{ tenant, user, scope string }

// marker is a word that only this row's text holds.
func (r row) marker() string {
	return fmt.Sprintf("zq%sx%sx%sqz", r.tenant, r.user, strings.NewReplacer(":", "y", "-", "w").Replace(r.scope))
}

type who struct{ kind, tenant, agent, user string }

type asked struct{ user, agent string }

// rightsOf is what the caller's agent, if any, limits it to; nil for no limit.
func rightsOf(w who, a asked, named map[string]right) (agent string, r *right) {
	agent = w.agent
	if agent == "" {
		agent = a.agent
	}
	if n, ok := named[agent]; ok && agent != "" {
		return agent, &n
	}
	if w.kind == "agent" {
		return agent, &right{read: []string{"global"}, write: []string{"none"}, types: []string{}}
	}
	return agent, nil
}

func inList(list []string, agent, scope string, ownAlways bool) bool {
	own := agent != "" && scope == "agent:"+agent
	if own && (ownAlways || !slices.Contains(list, "none")) {
		return true
	}
	for _, p := range list {
		switch {
		case p == scope, p == "agent:self" && own:
			return true
		case strings.HasSuffix(p, ":*") && strings.HasPrefix(scope, strings.TrimSuffix(p, "*")):
			return true
		}
	}
	return false
}

// mayTouch says whether the row is in reach of the caller: byID routes reach every user unless one is named or bound.
func mayTouch(w who, a asked, x row, named map[string]right, write, byID, session bool) bool {
	if x.tenant != w.tenant {
		return false
	}
	user := w.user
	if user == "" {
		user = a.user
	}
	if user == "" && !byID {
		user = "default"
	}
	if !strings.HasPrefix(x.scope, "group:") && user != "" && user != x.user {
		return false
	}
	agent, r := rightsOf(w, a, named)
	if r == nil {
		return true
	}
	list := r.read
	if write {
		list = r.write
	}
	return inList(list, agent, x.scope, session)
}

var (
	tenantNames = []string{"default", "t2"}
	userNames   = []string{"u1", "u2", "default"}
	agentNames  = []string{"a1", "a2", "stray"}
	scopeNames  = []string{"global", "dm", "group:g1", "group:g2", "agent:a1", "agent:a2", "agent:stray"}
	patterns    = []string{"global", "dm", "group:*", "group:g1", "agent:*", "agent:self", "agent:a2", "none"}
	markerForm  = regexp.MustCompile(`zq(\w+?)x(\w+?)x(\w+?)qz`)
)

func TestRightsProperty(t *testing.T) {
	// A check is some 2,000 requests; -rapid.checks=N runs more of them than the tests of every day do.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("12"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(f.DefValue) }()
	}
	rapid.Check(t, func(rt *rapid.T) { checkRights(t, rt) })
}

func drawRights(rt *rapid.T) map[string]right {
	named := map[string]right{}
	for _, a := range []string{"a1", "a2"} {
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(patterns), 0, 4, rapid.ID[string])
		r := right{read: list.Draw(rt, a+" read"), write: list.Draw(rt, a+" write"), named: true}
		if rapid.Bool().Draw(rt, a+" limited") {
			r.types = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fact", "preference"}), 0, 2, rapid.ID[string]).Draw(rt, a+" types")
		}
		named[a] = r
	}
	return named
}

func configOf(named map[string]right) string {
	var b strings.Builder
	b.WriteString("auth: {rate: {per_key_per_second: 0}}\nagents:\n  named:\n")
	quoted := func(list []string) string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = `"` + s + `"`
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	for _, a := range slices.Sorted(maps.Keys(named)) {
		fmt.Fprintf(&b, "    %s: {long_term: true, read: %s, write: %s", a, quoted(named[a].read), quoted(named[a].write))
		if named[a].types != nil {
			fmt.Fprintf(&b, ", allowed_types: %s", quoted(named[a].types))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// world is a server filled with one memory and one session for each tenant, user and scope.
type world struct {
	op       caller
	rows     []row
	memories map[row]string // id
	sessions map[row]string // id
}

func fill(c caller) world {
	w := world{memories: map[row]string{}, sessions: map[row]string{}}
	w.op = c.as(c.want(201, "POST", "/v1/keys", obj{"kind": "operator"})["key"].(string))
	w.op.want(201, "POST", "/v1/keys", obj{"kind": "tenant", "tenant": "t2"})
	for _, tn := range tenantNames {
		op := w.op.in(tn)
		op.want(201, "PUT", "/v1/agents/of-"+tn, obj{"read": []string{"global"}})
		op.want(201, "PUT", "/v1/sessions/of-"+tn, obj{"user": "of-" + tn})
		for _, u := range userNames {
			for _, s := range scopeNames {
				x := row{tn, u, s}
				w.rows = append(w.rows, x)
				w.memories[x] = op.add(obj{"user": u, "scope": s, "type": "preference", "source": "user_direct", "text": "harbour light " + x.marker()})
				if s == "global" {
					continue // no session is placed there
				}
				id := "s-" + x.marker()
				where := obj{"user": u}
				if g, ok := strings.CutPrefix(s, "group:"); ok {
					where["group"] = g
				}
				if a, ok := strings.CutPrefix(s, "agent:"); ok {
					where["agent"] = a
				}
				w.sessions[x] = id
				op.append(id, where, "user", "harbour light "+x.marker())
			}
		}
	}
	return w
}

func checkRights(t *testing.T, rt *rapid.T) {
	named := drawRights(rt)
	w := fill(startServer(t, configOf(named)))
	for range 2 {
		me := who{kind: rapid.SampledFrom([]string{"tenant", "agent"}).Draw(rt, "kind"), tenant: rapid.SampledFrom(tenantNames).Draw(rt, "tenant")}
		if me.kind == "agent" {
			me.agent = rapid.SampledFrom(agentNames).Draw(rt, "key agent")
			me.user = rapid.SampledFrom([]string{"", "u1"}).Draw(rt, "key user")
		}
		body := obj{"kind": me.kind, "tenant": me.tenant}
		if me.agent != "" {
			body["agent"] = me.agent
		}
		if me.user != "" {
			body["user"] = me.user
		}
		key := w.op.want(201, "POST", "/v1/keys", body)["key"].(string)
		for range 2 {
			a := asked{rapid.SampledFrom([]string{"", "u1", "u2"}).Draw(rt, "user"), rapid.SampledFrom([]string{"", "a1", "a2", "stray"}).Draw(rt, "agent")}
			x := exam{rt: rt, w: w, c: w.op.as(key), me: me, a: a, named: named}
			x.reads()
			x.writes()
		}
	}
}

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

// only fails when an answer holds a row's marker that the caller may not see.
func (x exam) only(what string, r reply, byID bool) {
	if r.status >= 500 {
		x.rt.Fatalf("%s: %d %s", what, r.status, r.body)
	}
	for _, m := range slices.Compact(slices.Sorted(slices.Values(markerForm.FindAllString(string(r.body), -1)))) {
		i := slices.IndexFunc(x.w.rows, func(y row) bool { return y.marker() == m })
		if i < 0 {
			x.rt.Fatalf("%s: unknown marker %s", what, m)
		}
		if y := x.w.rows[i]; x.refused() || !mayTouch(x.me, x.a, y, x.named, false, byID, true) {
			x.rt.Fatalf("%s as %+v asking %+v (%+v) shows %+v: %s", what, x.me, x.a, x.named, y, r.body)
		}
	}
}

// directory looks at agents, users, keys and tenants: a tenant's key sees its own tenant's, an agent's key itself alone.
func (x exam) directory() {
	own := "of-" + x.me.tenant
	for _, path := range []string{"/v1/agents", "/v1/users", "/v1/keys", "/v1/tenants"} {
		r := x.c.do("GET", path+"?limit=200", nil)
		may := x.me.kind == "tenant" && (path == "/v1/agents" || path == "/v1/users")
		if may != (r.status == 200) {
			x.rt.Fatalf("GET %s as %+v: %d", path, x.me, r.status)
		}
		for _, tn := range tenantNames {
			if shows := strings.Contains(string(r.body), `"of-`+tn+`"`); shows != (may && "of-"+tn == own) {
				x.rt.Fatalf("GET %s as %+v: shows of-%s: %v", path, x.me, tn, shows)
			}
		}
	}
	for _, id := range []string{"of-default", "of-t2", "a1", "a2", "stray"} {
		_, named := x.named[id]
		seen := (named || id == own) && (x.me.kind == "tenant" || x.me.agent == id)
		if r := x.c.do("GET", "/v1/agents/"+id, nil); (r.status == 200) != seen || !seen && r.status != 404 {
			x.rt.Fatalf("GET agent %s as %+v: %d", id, x.me, r.status)
		}
		if named || x.me.kind == "agent" || id != own {
			put, del := x.c.do("PUT", "/v1/agents/a1", obj{}), x.c.do("DELETE", "/v1/agents/"+id, nil)
			if put.status < 400 || del.status < 400 {
				x.rt.Fatalf("PUT a1, DELETE %s as %+v: %d, %d", id, x.me, put.status, del.status)
			}
		}
	}
}

func (x exam) reads() {
	x.directory()
	scopes := append([]string{"", "all", "cross:g1", "agent:self"}, scopeNames...)
	for _, s := range scopes {
		b := obj{"query": "harbour light", "limit": 100, "min_score": 0, "include": []string{"memory", "turn"}}
		if s != "" {
			b["scope"] = s
		}
		x.only("search "+s, x.c.do("POST", "/v1/search", x.body(b)), false)
		x.only("list "+s, x.c.do("GET", x.query("/v1/memories?limit=200&scope="+url.QueryEscape(s)), nil), false)
	}
	x.only("list", x.c.do("GET", x.query("/v1/memories?limit=200"), nil), false)
	x.only("sessions", x.c.do("GET", x.query("/v1/sessions?limit=200"), nil), false)
	for _, g := range []string{"", "g1", "g2"} {
		b := obj{"query": "harbour light", "long_term": true}
		if g != "" {
			b["group"] = g
		}
		x.only("context "+g, x.c.do("POST", "/v1/context", x.body(b)), false)
	}
	for y, id := range x.w.memories {
		can := !x.refused() && mayTouch(x.me, x.a, y, x.named, false, true, false)
		for _, path := range []string{"/v1/memories/" + id, "/v1/memories/" + id + "/history"} {
			r := x.c.do("GET", x.query(path), nil)
			x.only("GET "+path, r, true)
			if can != (r.status == 200) {
				x.rt.Fatalf("GET %s (%+v) as %+v asking %+v (%+v): %d, may read: %v", path, y, x.me, x.a, x.named, r.status, can)
			}
			write := mayTouch(x.me, x.a, y, x.named, true, true, false)
			if !can && !x.refused() && !write && r.status != 404 {
				x.rt.Fatalf("GET %s: %d, want 404", path, r.status)
			}
		}
	}
	for y, id := range x.w.sessions {
		for _, path := range []string{"/v1/sessions/" + id, "/v1/sessions/" + id + "/messages"} {
			r := x.c.do("GET", x.query(path), nil)
			x.only("GET "+path, r, true)
			if !mayTouch(x.me, x.a, y, x.named, false, true, true) && r.status == 200 {
				x.rt.Fatalf("GET %s (%+v) as %+v asking %+v (%+v): 200", path, y, x.me, x.a, x.named)
			}
		}
		r := x.c.do("POST", "/v1/context", x.body(obj{"query": "harbour light", "session": id, "long_term": true}))
		// Without a user, context takes its session's, whoever of the tenant that is.
		x.only("context of "+id, r, true)
	}
}

// writes tries every write on every row and then has the operator look for what changed.
func (x exam) writes() {
	for y, id := range x.w.memories {
		before := x.w.op.in(y.tenant).want(200, "GET", "/v1/memories/"+id, nil)
		r := x.c.do("PATCH", x.query("/v1/memories/"+id), obj{"labels": obj{"by": "exam"}, "metadata": obj{"n": fmt.Sprint(before["version"])}})
		after := x.w.op.in(y.tenant).want(200, "GET", "/v1/memories/"+id, nil)
		may := !x.refused() && mayTouch(x.me, x.a, y, x.named, true, true, false)
		if changed := before["version"] != after["version"]; changed && !may || changed != (r.status == 200) {
			x.rt.Fatalf("PATCH %+v as %+v asking %+v (%+v): %d, changed %v, may write %v", y, x.me, x.a, x.named, r.status, changed, may)
		}
		if !may {
			if r := x.c.do("DELETE", x.query("/v1/memories/"+id), nil); r.status < 400 {
				x.rt.Fatalf("DELETE %+v as %+v: %d", y, x.me, r.status)
			}
			if r := x.c.do("POST", "/v1/memories/"+id+"/restore", x.body(obj{})); r.status < 400 {
				x.rt.Fatalf("restore %+v as %+v: %d", y, x.me, r.status)
			}
		}
	}
	for _, s := range scopeNames {
		r := x.c.do("POST", "/v1/memories", x.body(obj{"text": "written by an exam", "scope": s, "type": "fact"}))
		user := x.me.user
		if user == "" {
			user = x.a.user
		}
		if user == "" {
			user = "default"
		}
		may := !x.refused() && mayTouch(x.me, x.a, row{x.me.tenant, user, s}, x.named, true, false, false)
		if _, rs := rightsOf(x.me, x.a, x.named); rs != nil && rs.types != nil && !slices.Contains(rs.types, "fact") {
			may = false
		}
		if (r.status == 201) != may {
			x.rt.Fatalf("add to %s as %+v asking %+v (%+v): %d, may: %v: %s", s, x.me, x.a, x.named, r.status, may, r.body)
		}
	}
	for y, id := range x.w.sessions {
		before := x.w.op.in(y.tenant).want(200, "GET", "/v1/sessions/"+id, nil)["last_seq"]
		r := x.c.do("POST", "/v1/sessions/"+id+"/messages", x.body(obj{"messages": []obj{{"role": "assistant", "content": "noted by an exam"}}}))
		after := x.w.op.in(y.tenant).want(200, "GET", "/v1/sessions/"+id, nil)["last_seq"]
		// In the caller's own tenant the id of another's session is free: what it made there is its own, and goes.
		if y.tenant != x.me.tenant && before == after {
			x.w.op.in(x.me.tenant).do("DELETE", "/v1/sessions/"+id, nil)
			continue
		}
		may := !x.refused() && mayTouch(x.me, x.a, y, x.named, true, true, true)
		if before != after && !may || (before != after) != (r.status == 201) {
			x.rt.Fatalf("append to %s (%+v) as %+v asking %+v (%+v): %d, %v → %v", id, y, x.me, x.a, x.named, r.status, before, after)
		}
	}
}
