package transfer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

// The rows' own rules: what a write makes sure of. A row that breaks one is refused, the others are taken.

// maxNumber is the highest that every reader of JSON gets right.
const maxNumber = 1 << 53

// ahead is how far behind another machine's clock may be that took a row's times.
const ahead = 24 * time.Hour

// faults collects what is wrong with one row.
type faults struct {
	now  time.Time
	list []string
}

func (f *faults) add(bad bool, what string) {
	if bad {
		f.list = append(f.list, what)
	}
}

func (f *faults) err(list ...error) {
	for _, err := range list {
		if err == nil {
			continue
		}
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

// metadata is an object or not there; a request's null would be stored as {}.
func (f *faults) metadata(raw json.RawMessage) {
	f.add(string(raw) == "null", "metadata: want an object")
	f.err(remember.CheckMetadata(raw))
}

func (f *faults) number(path string, n, from int64) {
	f.add(n < from || n > maxNumber, fmt.Sprintf("%s: want %d to 2^53", path, from))
}

// time takes nil for none.
func (f *faults) time(path string, s *stamp) {
	if s != nil {
		y := s.UTC().Year()
		f.add(y < 1 || y > 9999, path+": lies outside the years 1 to 9999")
	}
}

// made is a time that was taken from a clock when the row, or a part of it, was written.
func (f *faults) made(path string, s *stamp) {
	f.time(path, s)
	f.add(s != nil && s.After(f.now.Add(ahead)), path+": lies in the future")
}

func (f *faults) text() string { return strings.Join(f.list, "; ") }

// check answers what is wrong with the row, "" when nothing is.
func (r row) check(now time.Time) string {
	f := &faults{now: now}
	r.v.(interface{ check(f *faults) }).check(f)
	return f.text()
}

func (r *tenantRow) check(f *faults) {
	f.err(access.CheckTenant(r.ID, r.Name))
	f.add(r.Created.IsZero(), "created: is missing")
	f.made("created", &r.Created)
}

func (r *agentRow) check(f *faults) {
	f.ids(false, "tenant", r.Tenant, "id", r.ID)
	f.add(len(r.Settings) == 0 || r.Settings[0] != '{', "settings: want an object")
	f.err(access.CheckSettings(r.Settings))
}

func (r *sessionRow) check(f *faults) {
	f.ids(false, "tenant", r.Tenant, "id", r.ID, "user", r.User)
	f.ids(true, "agent", r.Agent)
	if r.Group != "" {
		f.err(memoryd.CheckGroup("group", r.Group))
	}
	f.add(!slices.Contains([]string{"open", "ending", "ended"}, r.State), "state: want open, ending or ended")
	f.number("last_seq", r.LastSeq, 0)
	f.add(r.JudgedSeq < 0 || r.JudgedSeq > r.LastSeq, "judged_seq: want 0 to last_seq")
	f.metadata(orEmpty(r.Metadata))
	f.add(r.Created.IsZero(), "created: is missing")
	f.made("created", &r.Created)
	f.add(r.Updated.IsZero(), "updated: is missing")
	f.made("updated", &r.Updated)
}

var typers = []string{"given", "rule", "default"}

func (r *messageRow) check(f *faults) {
	f.ids(false, "tenant", r.Tenant, "session", r.Session, "id", r.ID)
	f.number("seq", r.Seq, 1)
	f.add(r.Trust.Rank() == 0, "trust: want high, medium or low")
	f.number("tokens", int64(r.Tokens), 0)
	f.metadata(orEmpty(r.Metadata))
	f.err(remember.CheckMessage(r.message())...)
	f.err(remember.CheckNote("writer", r.Writer))
	f.add(r.Time.IsZero(), "time: is missing")
	f.add(r.Recorded.IsZero(), "recorded: is missing")
	f.made("recorded", &r.Recorded)
}

func (r *memoryRow) check(f *faults) {
	f.ids(false, "tenant", r.Tenant, "id", r.ID, "user", r.User)
	f.ids(true, "agent", r.Agent, "superseded_by", r.SupersededBy)
	_, err := memoryd.ParseScope("scope", string(r.Scope))
	f.err(err)
	f.number("version", r.Version, 1)
	f.add(!slices.Contains(memoryd.Types, r.Type), "type: is none of the types")
	f.add(!slices.Contains(memoryd.Forms, r.Form), "form: is none of the forms")
	f.add(!slices.Contains(sources, r.Source), "source: is none of the sources")
	f.add(!slices.Contains(memoryd.Statuses, r.Status), "status: is none of the states")
	f.add(!slices.Contains(typers, r.TypedBy), "typed_by: want given, rule or default")
	f.add(r.Trust.Rank() == 0, "trust: want high, medium or low")
	f.add(r.Importance < 1 || r.Importance > 10, "importance: want 1 to 10")
	f.add(!(r.Strength >= 0 && r.Strength <= 1), "strength: want 0 to 1")
	f.number("uses", r.Uses, 0)
	f.number("tokens", int64(r.Tokens), 0)
	f.metadata(orEmpty(r.Metadata))
	f.err(remember.CheckMemory(r.memory())...)
	r.checkTimes(f)
	r.checkOrigin(f)
	version := r.ReplacedBy != nil && r.ReplacedAt != nil
	f.add((r.Row == rowVersion) != version, "replaced_by, replaced_at: stand in versions, and only there")
}

func (r *memoryRow) checkTimes(f *faults) {
	f.add(r.Recorded.IsZero(), "recorded: is missing")
	f.made("recorded", &r.Recorded)
	f.made("last_confirmed", r.LastConfirmed)
	f.made("last_used", r.LastUsed)
	f.made("replaced_at", r.ReplacedAt)
	f.time("expires", r.Expires)
	if r.Archived != nil {
		f.made("archived.at", &r.Archived.At)
		f.err(remember.CheckNote("archived.reason", r.Archived.Reason))
	}
}

// checkOrigin looks at where the memory says that it comes from. What it names may be gone since.
func (r *memoryRow) checkOrigin(f *faults) {
	p := r.Provenance
	f.ids(true, "provenance.agent", p.Agent, "provenance.session", p.Session)
	for _, id := range p.MessageIDs {
		f.ids(false, "provenance.message_ids", id)
	}
	for _, id := range r.ConsolidatedFrom {
		f.ids(false, "consolidated_from", id)
	}
	f.err(remember.CheckNote("provenance.writer", p.Writer), remember.CheckNote("provenance.model", p.Model), remember.CheckNote("provenance.prompt", p.Prompt))
	if r.ReplacedBy != nil {
		f.err(remember.CheckNote("replaced_by", *r.ReplacedBy))
	}
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
