package remember_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

// dialogue is messages of the words: u… the user says, t… a tool, s… the system, all else the assistant.
func dialogue(words string) (list []remember.NewMessage) {
	roles := map[byte]memoryd.Role{'u': memoryd.RoleUser, 't': memoryd.RoleTool, 's': memoryd.RoleSystem}
	for word := range strings.FieldsSeq(words) {
		role := roles[word[0]]
		if role == "" {
			role = memoryd.RoleAssistant
		}
		list = append(list, said(role, word))
	}
	return list
}

func (w *world) sync(g access.Grant, session string, list ...remember.NewMessage) remember.Appended {
	w.t.Helper()
	out, err := w.Append(w.t.Context(), g, session, remember.AppendRequest{Mode: remember.ModeSync, Messages: list})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// spoken is a session's words in order; their seq must be dense.
func (w *world) spoken(session string) string {
	w.t.Helper()
	var out []string
	for i, m := range w.messages(session) {
		if m.Seq != int64(i+1) {
			w.t.Errorf("%s: seq %d at place %d", session, m.Seq, i+1)
		}
		out = append(out, m.Text)
	}
	return strings.Join(out, " ")
}

// fates says of each message whether it was stored (+), known (=) or dropped (-).
func fates(items []remember.AppendedItem) string {
	var b strings.Builder
	for _, it := range items {
		switch {
		case it.Dropped:
			b.WriteByte('-')
		case it.Duplicate:
			b.WriteByte('=')
		default:
			b.WriteByte('+')
		}
	}
	return b.String()
}

func TestSync(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	for _, step := range []struct{ sent, fates, holds string }{
		{"u1 ok u2 ok", "++++", "u1 ok u2 ok"},
		{"u1 ok u2 ok", "====", "u1 ok u2 ok"},
		{"u1 ok u2 ok ok", "====+", "u1 ok u2 ok ok"},
		{"u1 ok", "==", "u1 ok u2 ok ok"},
		{"u2 ok ok u3 a3", "===++", "u1 ok u2 ok ok u3 a3"},
		{"sum u3 a3 u4", "-==+", "u1 ok u2 ok ok u3 a3 u4"},
		{"u1 ok u2 ok ok u3 b3", "======+", "u1 ok u2 ok ok u3 a3 u4 b3"},
		{"u1 ok u2 ok ok u3 b3 u5", "=======+", "u1 ok u2 ok ok u3 a3 u4 b3 u5"},
	} {
		out := w.sync(g, "s", dialogue(step.sent)...)
		if fates(out.Items) != step.fates || w.spoken("s") != step.holds || int(out.LastSeq) != len(strings.Fields(step.holds)) {
			t.Errorf("%s: %s, want %s; the session holds %s (last_seq %d), want %s", step.sent, fates(out.Items), step.fates, w.spoken("s"), out.LastSeq, step.holds)
		}
		held := w.messages("s")
		for i, it := range out.Items {
			if it.Dropped {
				continue
			}
			if m := held[*it.Seq-1]; m.ID != it.ID || string(m.Content) != string(dialogue(step.sent)[i].Content) {
				t.Errorf("%s: item %d is told to be %s at %d, which is %s %s", step.sent, i, it.ID, *it.Seq, m.ID, m.Content)
			}
		}
	}
	_, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Mode: "merge", Messages: dialogue("u1")})
	refused(t, "mode", err, "invalid bad-field", "mode")
	_, err = w.Append(t.Context(), w.grant("bob", ""), "s", remember.AppendRequest{Mode: remember.ModeSync, Messages: dialogue("u1 ok")})
	refused(t, "another's", err, "not_found not-found", "")
}

// What is the same is the same however it was spelled, and only role, content and calls count.
func TestSyncCompares(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	raw := func(role memoryd.Role, content, calls string) remember.NewMessage {
		return remember.NewMessage{Role: role, Content: json.RawMessage(content), ToolCalls: json.RawMessage(calls)}
	}
	history := []remember.NewMessage{
		raw("user", `"a\u0000 caf\u00e9"`, ""), raw("assistant", `null`, `[{"id":"1","n":1}]`), raw("assistant", `null`, `[{"id":"2","n":1}]`),
		raw("user", `[{"type":"text","text":"x"}]`, ""),
	}
	w.sync(g, "s", history...)
	again := []remember.NewMessage{
		raw("user", `"a café"`, ""), raw("assistant", ``, `[ {"n":1, "id":"1"} ]`), raw("assistant", `null`, `[{"id":"2","n":1}]`),
		raw("user", `[ {"text":"x", "type":"text"} ]`, ""),
	}
	again[0].Name, again[0].Metadata = "Amy", json.RawMessage(`{"a":1}`)
	if out := w.sync(g, "s", again...); fates(out.Items) != "====" {
		t.Errorf("%s", fates(out.Items))
	}
	other := []remember.NewMessage{raw("user", `"a café"`, ""), raw("assistant", `null`, `[{"id":"9","n":1}]`)}
	if out := w.sync(g, "s", other...); fates(out.Items) != "=+" {
		t.Errorf("%s", fates(out.Items))
	}
}

// Ids decide where there are any, whatever the words are.
func TestSyncByID(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	with := func(id, text string) remember.NewMessage {
		m := said("user", text)
		m.ID = id
		return m
	}
	w.sync(g, "s", with("1", "ok"), with("2", "ok"))
	if out := w.sync(g, "s", with("1", "ok"), with("2", "ok"), with("3", "ok"), with("3", "ok")); fates(out.Items) != "==+=" || w.spoken("s") != "ok ok ok" {
		t.Errorf("%s %s", fates(out.Items), w.spoken("s"))
	}
	// A new one in the middle is new.
	if out := w.sync(g, "s", with("1", "ok"), with("1b", "ok"), with("3", "ok")); fates(out.Items) != "=+=" {
		t.Errorf("%s", fates(out.Items))
	}
	before := w.all()
	_, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Mode: remember.ModeSync, Messages: []remember.NewMessage{with("4", "new"), with("1", "other")}})
	refused(t, "another content", err, "conflict conflict", "messages[1].id")
	if w.all() != before {
		t.Error("a refusal stored something")
	}
	// Mixed with messages without: those are known by their words, between the others.
	mixed := []remember.NewMessage{with("a", "one"), said("assistant", "ok"), with("b", "two"), said("assistant", "ok")}
	w.sync(g, "m", mixed...)
	if out := w.sync(g, "m", append(mixed, said("assistant", "ok"), with("c", "three"))...); fates(out.Items) != "====++" || w.spoken("m") != "one ok two ok ok three" {
		t.Errorf("%s %s", fates(out.Items), w.spoken("m"))
	}
}

func TestSyncOfChild(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	step := said("assistant", "thinking")
	step.Kind = "step"
	list := []remember.NewMessage{said("user", "u1"), step, said("assistant", "a1")}
	for range 2 {
		out := w.sync(g, "agent:s", list...)
		if w.spoken("s") != "u1 a1" || !out.Items[1].Dropped || out.LastSeq != 2 {
			t.Errorf("%+v %s", out, w.spoken("s"))
		}
	}
}

// A long session, and clients that send only its end, its beginning, or all of what they may send.
func TestSyncLong(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	var all []string
	for i := range 1500 {
		all = append(all, fmt.Sprintf("u%d", i), "ok")
		if len(all)%1000 == 0 {
			w.append(g, "s", dialogue(strings.Join(all[len(all)-1000:], " "))...)
		}
	}
	for i, sent := range [][]string{all[2990:], all[2000:], all[:1000], all[1200:1300]} {
		grown := append(sent[:len(sent):len(sent)], fmt.Sprintf("u-new-%d", i))[max(0, len(sent)+1-1000):]
		out := w.sync(g, "s", dialogue(strings.Join(grown, " "))...)
		if want := strings.Repeat("=", len(grown)-1) + "+"; fates(out.Items) != want || out.LastSeq != int64(3001+i) {
			t.Errorf("%d: %s, last_seq %d", i, fates(out.Items), out.LastSeq)
		}
	}
}

// Clients of one session that all send what they hold: whatever the order, nothing is doubled.
func TestSyncAtOnce(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	const words = "u1 ok u2 ok u3 ok u4 ok"
	list := dialogue(words)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := i%4 + 1; n <= len(list); n++ {
				if _, err := w.Append(t.Context(), g, "s", remember.AppendRequest{Mode: remember.ModeSync, Messages: list[:n]}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := w.spoken("s"); got != words {
		t.Errorf("%s", got)
	}
}
