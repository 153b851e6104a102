package transfer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"memoryd"
)

// The rows' own rules: what the store's callers make sure of before they write. A line that breaks them is refused as
// a whole file, before anything is changed.

// faults collects what is wrong with one row.
type faults struct{ list []string }

func (f *faults) add(bad bool, what string) {
	if bad {
		f.list = append(f.list, what)
	}
}

func (f *faults) err(err error) {
	if err != nil {
		what := err.Error()
		if e, ok := err.(*memoryd.Error); ok {
			what = e.Detail
		}
		f.list = append(f.list, what)
	}
}

func (f *faults) ids(optional bool, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if optional && pairs[i+1] == "" {
			continue
		}
		f.err(memoryd.CheckID(pairs[i], pairs[i+1]))
	}
}

func (f *faults) object(path string, raw json.RawMessage) {
	f.add(len(raw) > 0 && raw[0] != '{', path+": want an object")
}

func (f *faults) text() string { return strings.Join(f.list, "; ") }

func (r *tenantRow) check() string {
	var f faults
	f.ids(false, "id", r.ID)
	f.add(r.Created.IsZero(), "created: is missing")
	return f.text()
}

func (r *agentRow) check() string {
	var f faults
	f.ids(false, "tenant", r.Tenant, "id", r.ID)
	f.add(len(r.Settings) == 0, "settings: is missing")
	return f.text()
}

func (r *sessionRow) check() string {
	var f faults
	f.ids(false, "tenant", r.Tenant, "id", r.ID, "user", r.User)
	f.ids(true, "agent", r.Agent)
	if r.Group != "" {
		f.err(memoryd.CheckGroup("group", r.Group))
	}
	f.add(!slices.Contains([]string{"open", "ending", "ended"}, r.State), "state: want open, ending or ended")
	f.add(r.LastSeq < 0, "last_seq: is below 0")
	f.add(r.JudgedSeq < 0 || r.JudgedSeq > r.LastSeq, "judged_seq: want 0 to last_seq")
	f.object("metadata", r.Metadata)
	f.add(r.Created.IsZero(), "created: is missing")
	f.add(r.Updated.IsZero(), "updated: is missing")
	return f.text()
}

var (
	roles  = []memoryd.Role{memoryd.RoleSystem, memoryd.RoleUser, memoryd.RoleAssistant, memoryd.RoleTool}
	kinds  = []string{"chat", "step", "tool"}
	typers = []string{"given", "rule", "default"}
)

func (r *messageRow) check() string {
	var f faults
	f.ids(false, "tenant", r.Tenant, "session", r.Session, "id", r.ID)
	f.ids(true, "user", r.User)
	f.add(r.Seq < 1, "seq: want 1 or more")
	f.add(!slices.Contains(roles, r.Role), "role: want system, user, assistant or tool")
	f.add(!slices.Contains(kinds, r.Kind), "kind: want chat, step or tool")
	f.add(len(r.Content) > 0 && !bytes.ContainsAny(r.Content[:1], `"[n`), "content: want a string, a list of parts, or null")
	f.add(len(r.ToolCalls) > 0 && r.ToolCalls[0] != '[', "tool_calls: want a list")
	f.add(r.Trust.Rank() == 0, "trust: want high, medium or low")
	f.add(r.Tokens < 0, "tokens: is below 0")
	f.object("metadata", r.Metadata)
	f.add(r.Time.IsZero(), "time: is missing")
	f.add(r.Recorded.IsZero(), "recorded: is missing")
	return f.text()
}

func (r *memoryRow) check() string {
	var f faults
	f.ids(false, "tenant", r.Tenant, "id", r.ID, "user", r.User)
	f.ids(true, "agent", r.Agent, "superseded_by", r.SupersededBy)
	_, err := memoryd.ParseScope("scope", string(r.Scope))
	f.err(err)
	f.add(r.Text == "", "text: is missing")
	f.add(r.Version < 1, "version: want 1 or more")
	f.add(!slices.Contains(memoryd.Types, r.Type), "type: is none of the types")
	f.add(!slices.Contains(memoryd.Forms, r.Form), "form: is none of the forms")
	f.add(!slices.Contains(sources, r.Source), "source: is none of the sources")
	f.add(!slices.Contains(memoryd.Statuses, r.Status), "status: is none of the states")
	f.add(!slices.Contains(typers, r.TypedBy), "typed_by: want given, rule or default")
	f.add(r.Trust.Rank() == 0, "trust: want high, medium or low")
	f.add(r.Importance < 1 || r.Importance > 10, "importance: want 1 to 10")
	f.add(!(r.Strength >= 0 && r.Strength <= 1), "strength: want 0 to 1")
	f.add(r.Uses < 0, "uses: is below 0")
	f.add(r.Tokens < 0, "tokens: is below 0")
	f.object("metadata", r.Metadata)
	f.add(r.Recorded.IsZero(), "recorded: is missing")
	version := r.ReplacedBy != nil && r.ReplacedAt != nil
	f.add((r.Row == rowVersion) != version, "replaced_by, replaced_at: stand in versions, and only there")
	return f.text()
}

var sources = []memoryd.Source{
	memoryd.UserDirect, memoryd.UserApproved, memoryd.AgentOutput, memoryd.ToolResult, memoryd.Inferred, memoryd.Imported, memoryd.Consolidation,
}

// order holds the file to the order in which an export writes its rows, which is what makes ids single and every
// message and version follow what it belongs to.
type order struct {
	tenant  string
	stage   int
	id      string
	session *sessionRow // the one whose messages may come
	seq     int64
	ids     map[string]bool // of its messages
	memory  *memoryRow
	version int64
}

// stages is where the kinds stand within a tenant.
var stages = map[string]int{rowTenant: 1, rowAgent: 2, rowSession: 3, rowMemory: 4}

// follows answers what is wrong with the row's place, "" when it is right.
func (o *order) follows(v any) string {
	switch r := v.(type) {
	case *tenantRow:
		return o.head(rowTenant, r.ID, r.ID)
	case *agentRow:
		return o.head(rowAgent, r.Tenant, r.ID)
	case *sessionRow:
		fault := o.head(rowSession, r.Tenant, r.ID)
		o.session, o.seq, o.ids = r, 0, map[string]bool{}
		return fault
	case *messageRow:
		return o.message(r)
	case *memoryRow:
		if r.Row == rowVersion {
			return o.versionOf(r)
		}
		fault := o.head(rowMemory, r.Tenant, r.ID)
		o.memory, o.version = r, 0
		return fault
	}
	return "is no row"
}

func (o *order) head(kind, tenant, id string) string {
	o.session, o.memory = nil, nil
	stage := stages[kind]
	switch {
	case tenant < o.tenant:
		return "stands behind a later tenant"
	case tenant > o.tenant:
		o.tenant, o.stage, o.id = tenant, 0, ""
	}
	switch {
	case stage < o.stage:
		return "a " + kind + " stands behind what comes after them"
	case stage == o.stage && id <= o.id:
		return "its id stands there already, or out of order"
	}
	o.stage, o.id = stage, id
	return ""
}

func (o *order) message(r *messageRow) string {
	s := o.session
	switch {
	case s == nil || s.Tenant != r.Tenant || s.ID != r.Session:
		return "the message does not follow its session"
	case r.Seq <= o.seq || r.Seq > s.LastSeq:
		return "its seq stands there already, out of order, or behind the session's last_seq"
	case o.ids[r.ID]:
		return "its id stands in the session already"
	}
	o.seq, o.ids[r.ID] = r.Seq, true
	return ""
}

func (o *order) versionOf(r *memoryRow) string {
	m := o.memory
	switch {
	case m == nil || m.Tenant != r.Tenant || m.ID != r.ID:
		return "the version does not follow its memory"
	case r.Version <= o.version || r.Version >= m.Version:
		return "its version stands there already, out of order, or not before the memory's"
	}
	o.version = r.Version
	return ""
}
