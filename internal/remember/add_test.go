package remember_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

func TestAddStores(t *testing.T) {
	w := newWorld(t)
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.FixedZone("", 8*3600))
	r := remember.AddRequest{
		Text: "Amy lives in Oslo", Scope: "global", Importance: 9, Form: memoryd.FormText,
		Occurred: &memoryd.Span{Start: start, End: ptr(start.Add(time.Hour))}, Expires: ptr(w.now.Add(time.Hour)),
		Labels: map[string]string{"topic": "home"}, Metadata: json.RawMessage(`{"z":1.50,"a":[12345678901234567890]}`),
	}
	out := w.add(w.grant("amy", "w"), r)
	if out.State != remember.Stored || len(out.Notes) > 0 {
		t.Errorf("state %s, notes %v", out.State, out.Notes)
	}
	m := w.get(out.Memory.ID)
	diff(t, "user, agent", []string{m.User, m.Agent, m.Tenant}, []string{"amy", "w", "default"})
	diff(t, "provenance", m.Provenance, memoryd.Provenance{Writer: "cli", Agent: "w"})
	diff(t, "numbers", []any{m.Importance, m.Strength, m.Version, m.Tokens, m.Uses}, []any{9, 1.0, int64(1), len(r.Text), int64(0)})
	diff(t, "type", []any{m.Type, m.TypedBy, m.Status}, []any{memoryd.Fact, "rule", memoryd.Active})
	diff(t, "metadata", string(m.Metadata), string(r.Metadata))
	diff(t, "labels", m.Labels, r.Labels)
	if !m.Recorded.Equal(w.now) || !m.Expires.Equal(*r.Expires) || !m.Occurred.Start.Equal(start) || !m.Occurred.End.Equal(start.Add(time.Hour)) {
		t.Errorf("times %+v", m)
	}
	if _, off := m.Occurred.Start.Zone(); off != 8*3600 {
		t.Errorf("offset %d", off)
	}
	a, _ := json.Marshal(out.Memory)
	b, _ := json.Marshal(m)
	diff(t, "answered and stored", string(a), string(b))
}

func TestAddDefaults(t *testing.T) {
	w := newWorld(t)
	const steps = "1. stop it\n2. start it"
	for i, c := range []struct {
		agent string
		r     remember.AddRequest
		want  string // type by form source trust importance
		notes int
	}{
		{"", remember.AddRequest{Text: "the pot is blue"}, "task_log default text user_direct high 3", 0},
		{"", remember.AddRequest{Text: "Amy likes tea"}, "preference rule pref user_direct high 8", 0},
		{"", remember.AddRequest{Text: "We decided to move"}, "decision rule text user_direct high 7", 0},
		{"", remember.AddRequest{Text: "x", Type: "fact"}, "fact given text user_direct high 8", 0},
		{"", remember.AddRequest{Text: "x1", Type: "procedure"}, "procedure given skill user_direct high 6", 0},
		{"", remember.AddRequest{Text: "x2", Type: "lesson"}, "lesson given text user_direct high 6", 0},
		{"", remember.AddRequest{Text: steps, Type: "lesson"}, "lesson given skill user_direct high 6", 0},
		{"", remember.AddRequest{Text: "x3", Type: "knowledge", Source: "web_scrape"}, "knowledge given tool tool_result low 6", 0},
		{"", remember.AddRequest{Text: "x4", Type: "fact", Source: "tool_output", Trust: "high"}, "fact given tool tool_result high 8", 0},
		{"", remember.AddRequest{Text: "x5", Type: "fact", Source: "agent_inferred"}, "fact given text inferred medium 8", 0},
		{"", remember.AddRequest{Text: "x6", Type: "fact", Source: "migration"}, "fact given text import medium 8", 0},
		{"", remember.AddRequest{Text: "x7", Type: "fact", Source: "user_said", Trust: "low", Form: "tool", Importance: 1}, "fact given tool user_direct low 1", 0},
		{"", remember.AddRequest{Text: "x8", Type: "fact", Source: "user_confirmed"}, "fact given text user_approved high 8", 0},
		{"stranger", remember.AddRequest{Text: "x9", Type: "fact"}, "fact given text agent_output medium 8", 0},
		{"stranger", remember.AddRequest{Text: "y1", Type: "fact", Source: "user_direct"}, "fact given text user_direct high 8", 0},
		{"w", remember.AddRequest{Text: "y2", Type: "fact"}, "fact given text agent_output medium 8", 0},
		{"w", remember.AddRequest{Text: "y3", Type: "fact", Trust: "high"}, "fact given text agent_output medium 8", 1},
		{"w", remember.AddRequest{Text: "y4", Type: "fact", Source: "user_direct"}, "fact given text agent_output medium 8", 1},
		{"w", remember.AddRequest{Text: "y5", Type: "fact", Source: "user_approved", Trust: "low"}, "fact given text agent_output low 8", 1},
		{"w", remember.AddRequest{Text: "y6", Type: "fact", Source: "inferred", Trust: "medium"}, "fact given text inferred medium 8", 0},
		{"low", remember.AddRequest{Text: "y7", Type: "fact"}, "fact given text agent_output low 8", 0},
		{"low", remember.AddRequest{Text: "y8", Type: "fact", Trust: "medium"}, "fact given text agent_output low 8", 1},
		{"", remember.AddRequest{Text: "y\u202e9", Type: "fact", Labels: map[string]string{"a": "b\x00"}}, "fact given text user_direct high 8", 1},
	} {
		c.r.Scope = "global"
		out := w.add(w.grant("", c.agent), c.r)
		m := out.Memory
		got := fmt.Sprintf("%s %s %s %s %s %d", m.Type, m.TypedBy, m.Form, m.Source, m.Trust, m.Importance)
		if got != c.want || len(out.Notes) != c.notes || out.State != remember.Stored {
			t.Errorf("%d %+v: %s, notes %v, %s; want %s", i, c.r, got, out.Notes, out.State, c.want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	w := newWorld(t)
	fine := remember.AddRequest{Text: "the spare key is blue", Scope: "global", Type: "fact"}
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint(i)] = ""
	}
	w.add(w.grant("", ""), remember.AddRequest{Text: "stands", Scope: "global", Type: "fact", Labels: map[string]string{"a": "b"}})
	before := w.all()
	for name, c := range map[string]struct {
		agent string
		with  func(*remember.AddRequest)
		want  string
		path  string
	}{
		"no text":              {"", func(r *remember.AddRequest) { r.Text = "" }, "invalid bad-field", "text"},
		"blank":                {"", func(r *remember.AddRequest) { r.Text = " \n\u3000\t" }, "invalid bad-field", "text"},
		"nothing when cleaned": {"", func(r *remember.AddRequest) { r.Text = "\x00 \u200B\u200d" }, "invalid bad-field", "text"},
		"too long":             {"", func(r *remember.AddRequest) { r.Text = strings.Repeat("字", 16_385) }, "invalid too-long", "text"},
		"no scope":             {"", func(r *remember.AddRequest) { r.Scope = "" }, "invalid bad-scope", "scope"},
		"wildcard":             {"", func(r *remember.AddRequest) { r.Scope = "group:*" }, "invalid bad-scope", "scope"},
		"query word":           {"", func(r *remember.AddRequest) { r.Scope = "all" }, "invalid bad-scope", "scope"},
		"NUL in a scope":       {"", func(r *remember.AddRequest) { r.Scope = "group:a\x00" }, "invalid bad-scope", "scope"},
		"self without agent":   {"", func(r *remember.AddRequest) { r.Scope = "agent:self" }, "invalid bad-scope", "scope"},
		"type":                 {"", func(r *remember.AddRequest) { r.Type = "Fact" }, "invalid bad-field", "type"},
		"form":                 {"", func(r *remember.AddRequest) { r.Form = "x" }, "invalid bad-field", "form"},
		"trust":                {"", func(r *remember.AddRequest) { r.Trust = "HIGH" }, "invalid bad-field", "trust"},
		"source":               {"", func(r *remember.AddRequest) { r.Source = "hearsay" }, "invalid bad-field", "source"},
		"importance 11":        {"", func(r *remember.AddRequest) { r.Importance = 11 }, "invalid bad-field", "importance"},
		"importance -1":        {"", func(r *remember.AddRequest) { r.Importance = -1 }, "invalid bad-field", "importance"},
		"ends before it starts": {"", func(r *remember.AddRequest) {
			r.Occurred = &memoryd.Span{Start: w.now, End: ptr(w.now.Add(-1))}
		}, "invalid bad-field", "occurred.end"},
		"no start": {"", func(r *remember.AddRequest) { r.Occurred = &memoryd.Span{} }, "invalid bad-field", "occurred.start"},
		"expired":  {"", func(r *remember.AddRequest) { r.Expires = ptr(w.now) }, "invalid bad-field", "expires"},
		"expires in year 10000": {"", func(r *remember.AddRequest) {
			r.Expires = ptr(time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -3600)))
		}, "invalid bad-field", "expires"},
		"65 labels":            {"", func(r *remember.AddRequest) { r.Labels = many }, "invalid too-long", "labels"},
		"label without a name": {"", func(r *remember.AddRequest) { r.Labels = map[string]string{"": "x"} }, "invalid bad-field", "labels"},
		"long label name":      {"", func(r *remember.AddRequest) { r.Labels = map[string]string{strings.Repeat("x", 65): ""} }, "invalid bad-field", "labels"},
		"NUL in a label name":  {"", func(r *remember.AddRequest) { r.Labels = map[string]string{"a\x00": ""} }, "invalid bad-field", "labels"},
		"long label":           {"", func(r *remember.AddRequest) { r.Labels = map[string]string{"k": strings.Repeat("x", 257)} }, "invalid too-long", "labels.k"},
		"metadata is a list":   {"", func(r *remember.AddRequest) { r.Metadata = json.RawMessage(`[1]`) }, "invalid bad-field", "metadata"},
		"metadata is no JSON":  {"", func(r *remember.AddRequest) { r.Metadata = json.RawMessage(`{`) }, "invalid bad-field", "metadata"},
		"NUL in a metadata key": {"", func(r *remember.AddRequest) {
			r.Metadata = json.RawMessage(`{"a":{"b\u0000":1}}`)
		}, "invalid bad-field", "metadata"},
		"large metadata": {"", func(r *remember.AddRequest) {
			r.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)
		}, "invalid too-long", "metadata"},
		"labels of the twin make too many": {"", func(r *remember.AddRequest) { r.Text = "stands"; r.Labels = manyOf(64) }, "invalid too-long", "labels"},

		"another's scope":           {"own", func(*remember.AddRequest) {}, "denied scope-denied", ""},
		"another agent's":           {"own", func(r *remember.AddRequest) { r.Scope = "agent:w" }, "denied scope-denied", ""},
		"shape before scope":        {"own", func(r *remember.AddRequest) { r.Importance = 11 }, "invalid bad-field", "importance"},
		"scope syntax before right": {"own", func(r *remember.AddRequest) { r.Scope = "global:" }, "invalid bad-scope", "scope"},
		"right before text":         {"own", func(r *remember.AddRequest) { r.Text = "" }, "denied scope-denied", ""},
		"type right":                {"facts", func(r *remember.AddRequest) { r.Type = "lesson" }, "denied type-denied", ""},
		"typed by rule":             {"facts", func(r *remember.AddRequest) { r.Type, r.Text = "", "I prefer tea" }, "denied type-denied", ""},
		"typed by default":          {"facts", func(r *remember.AddRequest) { r.Type = "" }, "denied type-denied", ""},
		"text before type":          {"facts", func(r *remember.AddRequest) { r.Type, r.Text = "lesson", " " }, "invalid bad-field", "text"},
	} {
		r := fine
		c.with(&r)
		_, err := w.Add(t.Context(), w.grant("", c.agent), r)
		refused(t, name, err, c.want, c.path)
	}
	if after := w.all(); after != before {
		t.Errorf("a refusal changed something:\n%s\n%s", before, after)
	}
}

func manyOf(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprint("k", i)] = ""
	}
	return out
}

func TestAddAtTheLimits(t *testing.T) {
	w := newWorld(t)
	w.add(w.grant("", "w"), remember.AddRequest{
		Text: strings.Repeat("字", 16_384), Scope: "agent:self", Labels: manyOf(64), Importance: 10, Metadata: json.RawMessage(` null `),
	})
	if m := w.memories("default")[0]; m.Scope != "agent:w" || string(m.Metadata) != "{}" {
		t.Errorf("%s %s", m.Scope, m.Metadata)
	}
}

func TestDuplicate(t *testing.T) {
	w := newWorld(t)
	g, agent := w.grant("", ""), w.grant("", "w")
	first := w.add(agent, remember.AddRequest{Text: "Tea at four", Scope: "global", Type: "fact", Labels: map[string]string{"a": "1", "b": "1"}})

	w.now = w.now.Add(time.Hour)
	again := w.add(agent, remember.AddRequest{Text: " tea AT four\n", Scope: "global", Type: "preference"})
	if again.State != remember.Duplicate || again.Memory.ID != first.Memory.ID || again.Memory.Text != "Tea at four" || again.Memory.Type != "fact" {
		t.Fatalf("%+v", again)
	}
	if c := again.Memory.LastConfirmed; c == nil || !c.Equal(w.now) {
		t.Errorf("last confirmed %v", c)
	}
	if v := w.versions(first.Memory.ID); len(v) != 0 {
		t.Errorf("a repetition alone left %d versions", len(v))
	}

	w.now = w.now.Add(time.Hour)
	raised := w.add(g, remember.AddRequest{Text: "tea at four", Scope: "global", Labels: map[string]string{"b": "2", "c": "3"}}).Memory
	diff(t, "trust", raised.Trust, memoryd.High)
	diff(t, "labels", raised.Labels, map[string]string{"a": "1", "b": "2", "c": "3"})
	v := w.versions(first.Memory.ID)
	if len(v) != 1 || v[0].Trust != memoryd.Medium || v[0].Labels["b"] != "1" || v[0].ReplacedBy != "cli" || !v[0].ReplacedAt.Equal(w.now) {
		t.Errorf("versions %+v", v)
	}
	diff(t, "stored", fmt.Sprint(w.get(raised.ID)), fmt.Sprint(raised))

	w.now = w.now.Add(time.Hour)
	low := w.add(w.grant("", "low"), remember.AddRequest{Text: "tea at four", Scope: "global", Trust: "high"})
	if low.Memory.Trust != memoryd.High || low.Notes[0] != remember.TrustLowered {
		t.Errorf("%+v", low)
	}
	if n := len(w.memories("default")); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestDuplicateCannotRaiseTrustBeyondTheCap(t *testing.T) {
	w := newWorld(t)
	w.add(w.grant("", "low"), remember.AddRequest{Text: "tea", Scope: "global"})
	out := w.add(w.grant("", "w"), remember.AddRequest{Text: "tea", Scope: "global", Trust: "high", Source: "user_direct"})
	if out.Memory.Trust != memoryd.Medium || out.Memory.Source != memoryd.AgentOutput {
		t.Errorf("%+v", out.Memory)
	}
}

func TestDuplicateTakesTheTimeOfTheStatement(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "dm"}).Memory
	old := w.now.AddDate(-1, 0, 0)
	w.now = w.now.Add(time.Hour)
	late := w.add(g, remember.AddRequest{Text: "tea", Scope: "dm", Occurred: &memoryd.Span{Start: old}}).Memory
	if late.LastConfirmed != nil || late.Version != m.Version {
		t.Errorf("an old statement: %+v", late)
	}
	w.now = w.now.Add(time.Hour)
	planned := w.add(g, remember.AddRequest{Text: "tea", Scope: "dm", Occurred: &memoryd.Span{Start: w.now.AddDate(1, 0, 0)}}).Memory
	if !planned.LastConfirmed.Equal(w.now) {
		t.Errorf("a statement about next year: %v", planned.LastConfirmed)
	}
}

func TestDuplicateOutlivesTheFirstOnesExpiry(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	soon, later := w.now.Add(time.Hour), w.now.Add(2*time.Hour)
	add := func(e *time.Time) *time.Time {
		return w.add(g, remember.AddRequest{Text: "tea", Scope: "dm", Expires: e}).Memory.Expires
	}
	add(&soon)
	if got := add(&later); !got.Equal(later) {
		t.Errorf("a later end: %v", got)
	}
	if got := add(&soon); !got.Equal(later) {
		t.Errorf("an earlier end: %v", got)
	}
	w.now = later.Add(time.Hour)
	if got := add(nil); got != nil {
		t.Errorf("said again after the end: %v", got)
	}
	if got := add(ptr(w.now.Add(1 * time.Hour))); got != nil {
		t.Errorf("an end for what has none: %v", got)
	}
}

func TestDuplicatesAreOfOneScopeAndOwner(t *testing.T) {
	w := newWorld(t)
	r := func(scope string) remember.AddRequest { return remember.AddRequest{Text: "tea", Scope: scope} }
	for i, c := range []struct {
		g     access.Grant
		scope string
		want  string
	}{
		{w.grant("amy", ""), "global", "stored"},
		{w.grant("amy", ""), "dm", "stored"},
		{w.grant("bob", ""), "global", "stored"},
		{w.tenant("other"), "global", "stored"},
		{w.grant("amy", "w"), "agent:w", "stored"},
		{w.grant("bob", "w"), "agent:w", "stored"},
		{w.grant("amy", ""), "group:a", "stored"},
		{w.grant("bob", ""), "group:a", "duplicate"},
		{w.grant("amy", ""), "group:A", "stored"},
		{w.tenant("other"), "group:a", "stored"},
		{w.grant("amy", "w"), "global", "duplicate"},
	} {
		if got := w.add(c.g, r(c.scope)).State; got != c.want {
			t.Errorf("%d, %s: %s, want %s", i, c.scope, got, c.want)
		}
	}
	m := w.add(w.grant("eve", ""), r("dm")).Memory
	if _, err := w.Delete(t.Context(), w.grant("eve", ""), m.ID); err != nil {
		t.Fatal(err)
	}
	if again := w.add(w.grant("eve", ""), r("dm")); again.State != remember.Stored || again.Memory.ID == m.ID {
		t.Errorf("after a deletion: %+v", again)
	}
}

func TestAWriterThatMayNotReadLearnsNothing(t *testing.T) {
	w := newWorld(t)
	secret := w.add(w.grant("", ""), remember.AddRequest{
		Text: "TEA at four", Scope: "global", Labels: map[string]string{"hint": "x"}, Metadata: json.RawMessage(`{"pin":1}`),
	}).Memory
	drop := w.grant("", "drop")
	out := w.add(drop, remember.AddRequest{Text: "tea at four", Scope: "global"})
	deleted, err := w.Delete(t.Context(), drop, secret.ID)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := w.Restore(t.Context(), drop, secret.ID)
	if err != nil {
		t.Fatal(err)
	}
	patched, _, err := w.Update(t.Context(), drop, secret.ID, remember.Patch{Labels: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []memoryd.Memory{out.Memory, deleted, restored, patched} {
		raw, _ := json.Marshal(m)
		if m.ID != secret.ID || strings.Contains(string(raw), "TEA") || strings.Contains(string(raw), "hint") || strings.Contains(string(raw), "pin") {
			t.Errorf("%s", raw)
		}
	}
	if w.get(secret.ID).Text != "TEA at four" {
		t.Error("the row lost its text")
	}
}

func TestTwentyAddsOfOneText(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	var wg sync.WaitGroup
	states := make(chan string, 20)
	for range 20 {
		wg.Go(func() {
			out, err := w.Add(t.Context(), g, remember.AddRequest{Text: "v1 ships on 9 May", Scope: "global"})
			if err != nil {
				t.Error(err)
			}
			states <- out.State
		})
	}
	wg.Wait()
	close(states)
	stored := 0
	for s := range states {
		if s == remember.Stored {
			stored++
		}
	}
	if n := len(w.memories("default")); n != 1 || stored != 1 {
		t.Errorf("%d rows, %d stored", n, stored)
	}
}

func TestAddBatch(t *testing.T) {
	w := newWorld(t)
	w.add(w.grant("", ""), remember.AddRequest{Text: "old", Scope: "global", Type: "fact"})
	out, err := w.AddBatch(t.Context(), w.grant("", "facts"), []remember.AddRequest{
		{Text: "one", Scope: "global", Type: "fact"},
		{Text: "two", Scope: "globe", Type: "fact"},
		{Text: "ONE", Scope: "global", Type: "fact", Trust: "high"},
		{Text: "three", Scope: "global", Type: "lesson"},
		{Text: "old", Scope: "global", Type: "fact"},
		{Text: "fo\x00ur", Scope: "agent:self", Type: "fact"},
		{Text: "one", Scope: "dm", Type: "fact"},
		{Text: "old", Scope: "global", Type: "fact", Labels: manyOf(64), Occurred: &memoryd.Span{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	states := ""
	for _, it := range out {
		if it.Err != nil {
			states += "! "
		} else {
			states += it.State + " "
		}
	}
	diff(t, "states", states, "stored ! duplicate ! duplicate stored stored ! ")
	refused(t, "items[1]", out[1].Err, "invalid bad-scope", "items[1].scope")
	refused(t, "items[3]", out[3].Err, "denied type-denied", "")
	refused(t, "items[7]", out[7].Err, "invalid bad-field", "items[7].occurred.start")
	diff(t, "notes", fmt.Sprint(out[2].Notes, out[5].Notes), "[trust_lowered] [cleaned]")
	if out[0].Memory.ID != out[2].Memory.ID {
		t.Error("two equal items are two memories")
	}
	if n := len(w.memories("default")); n != 4 {
		t.Errorf("%d rows", n)
	}
	for name, list := range map[string][]remember.AddRequest{"empty": nil, "501 items": make([]remember.AddRequest, 501)} {
		_, err := w.AddBatch(t.Context(), w.grant("", ""), list)
		if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), "items:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := w.AddBatch(t.Context(), w.grant("", "own"), []remember.AddRequest{{Text: "x", Scope: "global"}})
	if err != nil || all[0].Err == nil {
		t.Errorf("a batch of nothing good: %v", err)
	}
}

func TestBatchOf500(t *testing.T) {
	w := newWorld(t)
	list := make([]remember.AddRequest, 500)
	for i := range list {
		list[i] = remember.AddRequest{Text: fmt.Sprintf("23633%02d is at gate %d", i, i%3), Scope: "global"}
	}
	out, err := w.AddBatch(t.Context(), w.grant("", ""), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range out {
		if it.State != remember.Stored || it.Memory.Text != list[i].Text {
			t.Fatalf("item %d: %+v", i, it)
		}
	}
}
