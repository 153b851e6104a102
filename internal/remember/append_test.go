package remember_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/remember"
)

func TestAppendStores(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.FixedZone("", -7*3600))
	parts := `[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://example.invalid/a.png","n":1.50}},{"type":"text","text":"here"}]`
	calls := `[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":\"a \\\"b\\\" 中\u0000\"}"}}]`
	out := w.append(w.grant("amy", "w"), "s",
		remember.NewMessage{Role: "system", Content: json.RawMessage(`"be kind"`)},
		remember.NewMessage{ID: "m1", Role: "user", Name: "Amy", Content: json.RawMessage(parts), Time: &at, Metadata: json.RawMessage(`{"k":[1.0,{"z":null}]}`)},
		remember.NewMessage{Role: "assistant", Content: json.RawMessage(`null`), ToolCalls: json.RawMessage(calls)},
		remember.NewMessage{Role: "tool", Name: "f", ToolCallID: "c1", Content: json.RawMessage(`""`)},
		remember.NewMessage{Role: "assistant", Content: json.RawMessage(`"done"`), Kind: "step"},
		remember.NewMessage{Role: "user", Content: json.RawMessage(`"👍"`), ToolCalls: json.RawMessage(`[]`)},
		remember.NewMessage{Role: "assistant", ToolCalls: json.RawMessage(calls)},
		remember.NewMessage{Role: "tool", Content: json.RawMessage(`"4 degrees"`)},
	)
	if out.LastSeq != 8 || len(out.Notes) > 0 || out.Items[1].ID != "m1" {
		t.Fatalf("%+v", out)
	}
	list := w.messages("s")
	diff(t, "session", []string{w.session("s").User, w.session("s").Agent}, []string{"amy", "w"})
	for i, want := range []struct {
		text, content, calls string
		tokens               int
		trust                memoryd.Trust
		searchable           bool
	}{
		{"be kind", `"be kind"`, "", 7, "medium", false},
		{"look\nhere", parts, "", 1009, "medium", true},
		{"", `null`, calls, len([]rune(calls)), "medium", false},
		{"", `""`, "", 0, "low", false},
		{"done", `"done"`, "", 4, "medium", false},
		{"👍", `"👍"`, "", 1, "medium", false},
		{"", `null`, calls, len([]rune(calls)), "medium", false},
		{"4 degrees", `"4 degrees"`, "", 9, "low", true},
	} {
		m := list[i]
		if m.Text != want.text || string(m.Content) != want.content || string(m.ToolCalls) != want.calls || m.Tokens != want.tokens ||
			m.Trust != want.trust || m.Searchable != want.searchable || m.Seq != int64(i+1) || *out.Items[i].Seq != m.Seq || m.ID == "" || m.ID != out.Items[i].ID {
			t.Errorf("message %d: %+v %s %s, want %+v", i, m, m.Content, m.ToolCalls, want)
		}
		if m.Writer != "cli" || !m.Recorded.Equal(w.now) {
			t.Errorf("message %d: writer %q, recorded %v", i, m.Writer, m.Recorded)
		}
	}
	m := list[1]
	if _, off := m.Time.Zone(); !m.Time.Equal(at) || off != -7*3600 || m.Name != "Amy" || string(m.Metadata) != `{"k":[1.0,{"z":null}]}` {
		t.Errorf("%v %s %s", m.Time, m.Name, m.Metadata)
	}
	if !list[0].Time.Equal(w.now) || list[3].ToolCallID != "c1" || list[4].Kind != "step" || list[0].Kind != "chat" {
		t.Errorf("%+v", list)
	}
	high := w.append(w.grant("", ""), "h", hello())
	if m := w.messages("h")[0]; m.Trust != memoryd.High || m.ID != high.Items[0].ID {
		t.Errorf("%+v", m)
	}
}

func TestAppendCleans(t *testing.T) {
	w := newWorld(t)
	out := w.append(w.grant("", ""), "s", remember.NewMessage{
		Role: "user", Content: json.RawMessage(`[{"type":"text","text":"a\u202eb\ud800"}]`), Metadata: json.RawMessage(`{"k":"\u0001v","n":1.10}`),
	})
	m := w.messages("s")[0]
	diff(t, "cleaned", []string{m.Text, string(m.Content), string(m.Metadata)}, []string{"ab", `[{"type":"text","text":"ab"}]`, `{"k":"v","n":1.10}`})
	diff(t, "notes", out.Notes, []string{"cleaned"})
}

func TestAppendRefuses(t *testing.T) {
	w := newWorld(t)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	w.append(w.grant("", ""), "s", remember.NewMessage{ID: "m1", Role: "user", Content: raw(`"hello"`)})
	before := w.all()
	type M = remember.NewMessage
	for name, c := range map[string]struct {
		m    M
		want string
		path string
	}{
		"no role":                  {M{Content: raw(`"x"`)}, "invalid bad-field", "role"},
		"role":                     {M{Role: "User", Content: raw(`"x"`)}, "invalid bad-field", "role"},
		"kind":                     {M{Role: "user", Kind: "x", Content: raw(`"x"`)}, "invalid bad-field", "kind"},
		"no content":               {M{Role: "user"}, "invalid bad-field", "content"},
		"null content":             {M{Role: "assistant", Content: raw(`null`)}, "invalid bad-field", "content"},
		"null beside no calls":     {M{Role: "assistant", Content: raw(`null`), ToolCalls: raw(`[]`)}, "invalid bad-field", "content"},
		"calls of a user":          {M{Role: "user", Content: raw(`"x"`), ToolCalls: raw(`[{"id":"c"}]`)}, "invalid bad-field", "tool_calls"},
		"a number":                 {M{Role: "user", Content: raw(`1`)}, "invalid bad-field", "content"},
		"an object":                {M{Role: "user", Content: raw(`{"type":"text","text":"x"}`)}, "invalid bad-field", "content"},
		"no JSON":                  {M{Role: "user", Content: raw(`"x`)}, "invalid bad-field", "content"},
		"a list of strings":        {M{Role: "user", Content: raw(`["x"]`)}, "invalid bad-field", "content"},
		"a null part":              {M{Role: "user", Content: raw(`[null]`)}, "invalid bad-field", "content[0].type"},
		"a part without a type":    {M{Role: "user", Content: raw(`[{"type":"text","text":"a"},{"text":"b"}]`)}, "invalid bad-field", "content[1].type"},
		"a part with a null type":  {M{Role: "user", Content: raw(`[{"type":null}]`)}, "invalid bad-field", "content[0].type"},
		"a text part without text": {M{Role: "user", Content: raw(`[{"type":"text"}]`)}, "invalid bad-field", "content[0].text"},
		"a text part of a number":  {M{Role: "user", Content: raw(`[{"type":"text","text":1}]`)}, "invalid bad-field", "content[0].text"},
		"NUL in a part's key":      {M{Role: "user", Content: raw(`[{"type":"x","a\u0000":1}]`)}, "invalid bad-field", "content"},
		"calls are an object":      {M{Role: "assistant", Content: raw(`"x"`), ToolCalls: raw(`{}`)}, "invalid bad-field", "tool_calls"},
		"calls are strings":        {M{Role: "assistant", Content: raw(`"x"`), ToolCalls: raw(`["x"]`)}, "invalid bad-field", "tool_calls"},
		"a null call":              {M{Role: "assistant", Content: raw(`"x"`), ToolCalls: raw(`[null]`)}, "invalid bad-field", "tool_calls[0]"},
		"calls are no JSON":        {M{Role: "assistant", Content: raw(`"x"`), ToolCalls: raw(`[{]`)}, "invalid bad-field", "tool_calls"},
		"NUL in an id":             {M{ID: "a\x00", Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "id"},
		"long id":                  {M{ID: strings.Repeat("x", 129), Role: "user", Content: raw(`"x"`)}, "invalid too-long", "id"},
		"NUL in a name":            {M{Name: "a\x00", Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "name"},
		"long name":                {M{Name: strings.Repeat("名", 129), Role: "user", Content: raw(`"x"`)}, "invalid too-long", "name"},
		"NUL in a user":            {M{User: "a\x00", Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "user"},
		"another user, no group":   {M{User: "bob", Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "user"},
		"NUL in a call id":         {M{ToolCallID: "a\x00", Role: "tool", Content: raw(`"x"`)}, "invalid bad-field", "tool_call_id"},
		"year 10000":               {M{Time: ptr(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)), Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "time"},
		"metadata":                 {M{Metadata: raw(`[]`), Role: "user", Content: raw(`"x"`)}, "invalid bad-field", "metadata"},
		"64 KiB and a byte":        {M{Role: "user", Content: raw(`"` + strings.Repeat("x", 64<<10+1) + `"`)}, "invalid too-long", "content"},
		"64 KiB with the calls":    {M{Role: "assistant", Content: raw(`"` + strings.Repeat("x", 64<<10-10) + `"`), ToolCalls: raw(`[{"id":"c1"}]`)}, "invalid too-long", "content"},
		"a known id, other words":  {M{ID: "m1", Role: "user", Content: raw(`"good bye"`)}, "conflict conflict", "id"},
		"a known id, another role": {M{ID: "m1", Role: "assistant", Content: raw(`"hello"`)}, "conflict conflict", "id"},
		"an id of this request":    {M{ID: "m0", Role: "user", Content: raw(`"x"`)}, "conflict conflict", "id"},
	} {
		_, err := w.Append(t.Context(), w.grant("", ""), "s", remember.AppendRequest{Messages: []M{
			{ID: "m0", Role: "user", Content: raw(`"before"`)}, c.m, hello(),
		}})
		refused(t, name, err, c.want, "messages[1]."+c.path)
		_, err = w.Append(t.Context(), w.grant("", ""), "new", remember.AppendRequest{Messages: []M{{ID: "m1", Role: "user", Content: raw(`"hello"`)}, {ID: "m0", Role: "user", Content: raw(`"before"`)}, c.m}})
		if err == nil {
			t.Errorf("%s: stored in a new session", name)
		}
	}
	for name, n := range map[string]int{"none": 0, "1001": 1001} {
		list := make([]M, n)
		for i := range list {
			list[i] = hello()
		}
		_, err := w.Append(t.Context(), w.grant("", ""), "s", remember.AppendRequest{Messages: list})
		if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), "messages:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.Append(t.Context(), w.grant("", ""), "s", remember.AppendRequest{Group: "a b", Messages: []M{hello()}})
	refused(t, "group", err, "invalid bad-field", "group")
	if after := w.all(); after != before {
		t.Errorf("a refusal changed something:\n%s\n%s", before, after)
	}
}

func TestSizeIsWhatTheTextSays(t *testing.T) {
	w := newWorld(t)
	// 20,000 Han characters are 60,000 bytes, however a client escapes them.
	escaped := json.RawMessage(`"` + strings.Repeat(`\u5b57`, 20_000) + `"`)
	w.append(w.grant("", ""), "s", remember.NewMessage{Role: "user", Content: escaped})
	w.append(w.grant("", ""), "s", said("user", strings.Repeat("x", 64<<10)))
}

func TestClientIDs(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := func(id, content string) remember.NewMessage {
		return remember.NewMessage{ID: id, Role: "user", Content: json.RawMessage(content)}
	}
	w.append(g, "s", m("a", `"中"`), m("b", `[{"type":"text","text":"x","n":1}]`))
	out := w.append(g, "s", m("c", `"new"`), m("a", `"\u4e2d"`), m("b", `[ {"n":1, "text":"x", "type":"text"} ]`), m("c", `"new"`), hello(), hello())
	got := ""
	for _, it := range out.Items {
		got += fmt.Sprintf("%d %v, ", *it.Seq, it.Duplicate)
	}
	diff(t, "items", got, "3 false, 1 true, 2 true, 3 true, 4 false, 5 false, ")
	if out.LastSeq != 5 || len(w.messages("s")) != 5 {
		t.Errorf("last %d, %d messages", out.LastSeq, len(w.messages("s")))
	}
	again := w.append(g, "s", m("a", `"中"`))
	if again.LastSeq != 5 || !again.Items[0].Duplicate {
		t.Errorf("only duplicates: %+v", again)
	}
	// The same words are another message unless the id says otherwise; ids are those of one session.
	if other := w.append(g, "s2", m("a", `"elsewhere"`)); other.Items[0].Duplicate {
		t.Error("an id of another session")
	}
	calls := remember.NewMessage{ID: "k", Role: "assistant", ToolCalls: json.RawMessage(`[{"id":"c1"}]`)}
	w.append(g, "s", calls)
	if out := w.append(g, "s", calls); !out.Items[0].Duplicate {
		t.Error("equal calls")
	}
	calls.ToolCalls = json.RawMessage(`[{"id":"c2"}]`)
	_, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Messages: []remember.NewMessage{calls}})
	refused(t, "other calls", err, "conflict conflict", "messages[0].id")
}

func TestChildSession(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	step := remember.NewMessage{ID: "st", Role: "assistant", Kind: "step", Content: json.RawMessage(`"think\u0000ing"`)}
	tool := remember.NewMessage{Role: "tool", Kind: "tool", Content: json.RawMessage(`"out"`)}
	out := w.append(g, "agent:p", step, hello(), tool, hello())
	raw, _ := json.Marshal(out.Items)
	want := `[{"id":"st","seq":null,"duplicate":false,"dropped":true},{"id":"id-000001","seq":1,"duplicate":false},` +
		`{"seq":null,"duplicate":false,"dropped":true},{"id":"id-000003","seq":2,"duplicate":false}]`
	diff(t, "items", string(raw), want)
	diff(t, "notes", len(out.Notes), 0)
	if len(w.messages("p")) != 2 || out.LastSeq != 2 {
		t.Errorf("%+v", out)
	}
	only := w.append(g, "agent:q", step)
	if only.LastSeq != 0 || w.session("q").LastSeq != 0 {
		t.Errorf("%+v", only)
	}
	w.append(g, "agent:agent:p", hello())
	if s := w.session("agent:p"); s.LastSeq != 1 {
		t.Errorf("the prefix is cut once: %+v", s)
	}
	// To the parent itself steps belong.
	if out := w.append(g, "p", step); *out.Items[0].Seq != 3 {
		t.Errorf("%+v", out)
	}
}

func TestUsersOfAGroup(t *testing.T) {
	w := newWorld(t)
	m := func(role memoryd.Role, user string) remember.NewMessage {
		return remember.NewMessage{Role: role, User: user, Content: json.RawMessage(`"x"`)}
	}
	_, err := w.Append(t.Context(), w.grant("amy", ""), "g", remember.AppendRequest{Group: "team", Messages: []remember.NewMessage{
		m("user", ""), m("user", "bob"), m("assistant", ""), m("assistant", "eve"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.append(w.grant("", ""), "g", m("user", ""))
	got := ""
	for _, x := range w.messages("g") {
		got += x.User + ","
	}
	diff(t, "users", got, "amy,bob,,eve,,")
	w.append(w.grant("amy", ""), "dm", m("user", "amy"))
	if u := w.messages("dm")[0].User; u != "" {
		t.Errorf("user %q", u)
	}
}

func TestOwnBlockIsNotSearched(t *testing.T) {
	w := newWorld(t)
	block := memoryd.FenceHeading + "<memory 0123456789abcdef>\n- [high] tea\n</memory 0123456789abcdef>\n"
	w.append(w.grant("", ""), "s", said("user", block), said("user", block+"what do I drink?"), said("system", "x"))
	list := w.messages("s")
	if list[0].Searchable || !list[1].Searchable || list[0].Text != block {
		t.Errorf("%+v", list)
	}
}
