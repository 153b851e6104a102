package main

import (
	"flag"
	"fmt"
	"maps"
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

// A row stands for a memory and, but in global, a session with a turn. The rights to the two differ, so each has a word
// of its own that only its text holds.
const (
	ofMemory = "m"
	ofTurn   = "t"
)

func (r row) marker(kind string) string {
	return fmt.Sprintf("zq%s%sx%sx%sqz", kind, r.tenant, r.user, strings.NewReplacer(":", "y", "-", "w").Replace(r.scope))
}

// archived says whether the row's memory was deleted, which leaves it for those to see who may and ask for it.
func (r row) archived() bool { return r.user == "u2" }

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
	markerForm  = regexp.MustCompile(`zq\w+?qz`)
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

// marked is what a marker stands for.
type marked struct {
	row
	kind string
}

// world is a server filled with one memory and one session for each tenant, user and scope, and what an operator saw
// of them last.
type world struct {
	op       caller
	marks    map[string]marked
	memories map[row]string // id
	sessions map[row]string // id
	version  map[row]any    // of the memory
	lastSeq  map[row]any
	tries    *int
}

func fill(c caller) world {
	w := world{
		marks: map[string]marked{}, memories: map[row]string{}, sessions: map[row]string{}, version: map[row]any{}, lastSeq: map[row]any{},
		tries: new(int),
	}
	w.op = c.as(c.want(201, "POST", "/v1/keys", obj{"kind": "operator"})["key"].(string))
	w.op.want(201, "POST", "/v1/keys", obj{"kind": "tenant", "tenant": "t2"})
	for _, tn := range tenantNames {
		op := w.op.in(tn)
		op.want(201, "PUT", "/v1/agents/of-"+tn, obj{"read": []string{"global"}})
		op.want(201, "PUT", "/v1/sessions/of-"+tn, obj{"user": "of-" + tn})
		for _, u := range userNames {
			for _, s := range scopeNames {
				x := row{tn, u, s}
				w.marks[x.marker(ofMemory)], w.marks[x.marker(ofTurn)] = marked{x, ofMemory}, marked{x, ofTurn}
				w.memories[x] = op.add(obj{"user": u, "scope": s, "type": "preference", "source": "user_direct", "text": "harbour light " + x.marker(ofMemory)})
				w.version[x] = 1.
				if x.archived() {
					w.version[x] = op.want(200, "DELETE", "/v1/memories/"+w.memories[x], nil)["version"]
				}
				if s == "global" {
					continue // no session is placed there
				}
				id := "s-" + x.marker(ofTurn)
				where := obj{"user": u}
				if g, ok := strings.CutPrefix(s, "group:"); ok {
					where["group"] = g
				}
				if a, ok := strings.CutPrefix(s, "agent:"); ok {
					where["agent"] = a
				}
				w.sessions[x] = id
				w.lastSeq[x] = float64(op.append(id, where, "user", "harbour light "+x.marker(ofTurn)))
			}
		}
	}
	return w
}

func checkRights(t *testing.T, rt *rapid.T) {
	named := drawRights(rt)
	w := fill(startServer(t, configOf(named)))
	for range 2 {
		me := who{kind: rapid.SampledFrom([]string{"tenant", "agent", "agent", "operator"}).Draw(rt, "kind"), tenant: rapid.SampledFrom(tenantNames).Draw(rt, "tenant")}
		if me.kind == "agent" {
			me.agent = rapid.SampledFrom(agentNames).Draw(rt, "key agent")
			me.user = rapid.SampledFrom([]string{"", "u1"}).Draw(rt, "key user")
		}
		body := obj{"kind": me.kind}
		if me.kind != "operator" {
			body["tenant"] = me.tenant
		}
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
			if me.kind == "operator" {
				x.c = x.c.in(me.tenant)
			}
			x.walls()
			x.reads()
			x.byID()
			x.writes()
			x.adds()
			x.appends()
		}
	}
}
