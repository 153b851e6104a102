package recall

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"memoryd"
)

// drawTalk draws a session in any disorder: roles in any order, calls and results that do not match, lists of parts.
// The text of each message holds its seq as #seq# and stands in no other.
func drawTalk(t *rapid.T) []memoryd.Message {
	n := rapid.IntRange(0, 40).Draw(t, "n")
	firstSeq := rapid.SampledFrom([]int64{1, 1, 50}).Draw(t, "first")
	var out []memoryd.Message
	ids := rapid.SampledFrom([]string{"", "c1", "c2", "c3"})
	for i := range n {
		m := memoryd.Message{Seq: firstSeq + int64(i), Kind: "chat", Trust: memoryd.Medium}
		m.ID = fmt.Sprint("m", m.Seq)
		m.Role = rapid.SampledFrom([]memoryd.Role{memoryd.RoleUser, memoryd.RoleUser, memoryd.RoleAssistant,
			memoryd.RoleAssistant, memoryd.RoleTool, memoryd.RoleTool, memoryd.RoleSystem}).Draw(t, "role")
		m.Name = rapid.SampledFrom([]string{"", "", "amy", "bob"}).Draw(t, "name")
		m.User = rapid.SampledFrom([]string{"", "", "u1", "u2"}).Draw(t, "user")
		m.Text = fmt.Sprintf("#%d#%s", m.Seq, strings.ReplaceAll(rapid.StringN(0, 12, -1).Draw(t, "text"), "#", ""))
		m.Content = encode(m.Text)
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			m.Content = json.RawMessage("[" + string(textPart(m.Text)) + `,{"type":"image_url"}]`)
		case 1:
			if m.Role == memoryd.RoleAssistant {
				m.Text, m.Content = "", json.RawMessage("null")
			}
		}
		switch m.Role {
		case memoryd.RoleAssistant:
			var calls []json.RawMessage
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				calls = append(calls, json.RawMessage(fmt.Sprintf(`{"id":%q}`, ids.Draw(t, "id"))))
			}
			m.ToolCalls = list(calls)
		case memoryd.RoleTool:
			m.ToolCallID = ids.Draw(t, "of")
		case memoryd.RoleSystem:
			if rapid.Bool().Draw(t, "same") {
				m.Text, m.Content, m.Name = "prompt", encode("prompt"), ""
			}
		}
		m.Tokens = chars(m.Text) + chars(string(m.ToolCalls))
		out = append(out, m)
	}
	return out
}

func TestWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTalk(t)
		f := small(rapid.IntRange(1, 900).Draw(t, "tokens"))
		f.summary = rapid.IntRange(0, f.tokens/2).Draw(t, "share")
		f.trim = rapid.Bool().Draw(t, "trim")
		var sum *memoryd.Summary
		if len(in) > 0 && rapid.Bool().Draw(t, "summary") {
			sum = &memoryd.Summary{Text: "earlier", Tokens: 7, ThroughSeq: rapid.Int64Range(0, in[len(in)-1].Seq).Draw(t, "through")}
		}
		w := f.cut(in, sum)

		checkBudget(t, f, w)
		chat := checkFront(t, w.messages)
		checkTurns(t, chat)
		checkCalls(t, chat)
		checkNoHole(t, f, in, w, chat)
		if again := f.cut(w.messages, nil); !reflect.DeepEqual(again.messages, w.messages) && len(w.messages) > 0 {
			t.Fatalf("not idempotent:\n%s\nthen\n%s", told(w.messages), told(again.messages))
		}
	})
}

func checkBudget(t rapid.TB, f frame, w window) {
	sum := 0
	for _, m := range w.messages {
		sum += m.Tokens
		if m.Role == memoryd.RoleUser && m.Tokens < chars(m.Text) {
			t.Fatalf("message %s costs %d and is said to cost %d", m.ID, chars(m.Text), m.Tokens)
		}
	}
	if sum != w.tokens {
		t.Fatalf("tokens %d, the messages have %d", w.tokens, sum)
	}
	if w.summary != nil {
		sum += w.summary.Tokens
	}
	if sum > f.tokens {
		t.Fatalf("%d tokens in a window of %d", sum, f.tokens)
	}
}

// checkFront checks the system messages and answers the rest.
func checkFront(t rapid.TB, list []memoryd.Message) []memoryd.Message {
	n := 0
	seen := map[string]bool{}
	for n < len(list) && list[n].Role == memoryd.RoleSystem {
		key := list[n].Name + ":" + string(list[n].Content)
		if seen[key] {
			t.Fatalf("system message %q stands twice", list[n].Text)
		}
		seen[key] = true
		n++
	}
	return list[n:]
}

func checkTurns(t rapid.TB, chat []memoryd.Message) {
	last := memoryd.RoleSystem
	for i, m := range chat {
		switch {
		case m.Role == memoryd.RoleSystem:
			t.Fatal("a system message in the chat")
		case i == 0 && m.Role != memoryd.RoleUser:
			t.Fatalf("begins with %s", m.Role)
		case m.Role == last && m.Role != memoryd.RoleTool:
			t.Fatalf("two %s messages side by side", m.Role)
		case m.Role == memoryd.RoleTool && last == memoryd.RoleUser:
			t.Fatal("a tool message behind a user's")
		case i > 0 && m.Seq <= chat[i-1].Seq:
			t.Fatal("out of order")
		}
		var whole any
		if err := json.Unmarshal(m.Content, &whole); err != nil {
			t.Fatalf("content %s: %v", m.Content, err)
		}
		last = m.Role
	}
}

// checkCalls checks that calls and the results directly behind them are the same multiset.
func checkCalls(t rapid.TB, chat []memoryd.Message) {
	for i := 0; i < len(chat); i++ {
		if chat[i].Role != memoryd.RoleAssistant {
			continue
		}
		var calls, results []string
		for _, c := range callsOf(chat[i]) {
			calls = append(calls, callID(c))
		}
		for i+1 < len(chat) && chat[i+1].Role == memoryd.RoleTool {
			i++
			results = append(results, chat[i].ToolCallID)
		}
		slices.Sort(calls)
		slices.Sort(results)
		if !slices.Equal(calls, results) {
			t.Fatalf("calls %q, results %q", calls, results)
		}
	}
}

var mark = regexp.MustCompile(`#(\d+)#`)

// checkNoHole checks that what stands in the window is the newest part of the chat, in order and without a hole.
func checkNoHole(t rapid.TB, f frame, in []memoryd.Message, w window, chat []memoryd.Message) {
	var got []string
	for _, m := range chat {
		got = append(got, mark.FindAllString(m.Text, -1)...)
	}
	var want []string
	for _, m := range in {
		inside := m.Seq >= w.first
		switch {
		case m.Role == memoryd.RoleSystem:
		case inside && !f.trim && (m.Role == memoryd.RoleUser || m.Role == memoryd.RoleAssistant && m.Text != ""):
			want = append(want, fmt.Sprintf("#%d#", m.Seq))
		case inside && slices.Contains(got, fmt.Sprintf("#%d#", m.Seq)): // a result, or what trim kept
			want = append(want, fmt.Sprintf("#%d#", m.Seq))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("holds %q, want %q", got, want)
	}
}
