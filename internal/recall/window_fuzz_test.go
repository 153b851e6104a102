package recall

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"memoryd"
)

// spelled reads a session from bytes: for each message a byte of role, name and form, one of calls or of the call that
// is answered, one of length, and the words.
func spelled(data []byte, firstSeq int64) []memoryd.Message {
	take := func(n int) []byte {
		n = min(n, len(data))
		out := data[:n]
		data = data[n:]
		return out
	}
	roles := []memoryd.Role{memoryd.RoleUser, memoryd.RoleAssistant, memoryd.RoleTool, memoryd.RoleSystem}
	var out []memoryd.Message
	for len(data) > 0 && len(out) < 60 {
		head := append(take(3), 0, 0)
		what, ids := head[0], head[1]
		m := memoryd.Message{Seq: firstSeq + int64(len(out)), Kind: "chat", Trust: memoryd.High, Role: roles[what&3]}
		m.ID = fmt.Sprint("m", m.Seq)
		m.Name = []string{"", "", "amy", "bob"}[what>>2&3]
		m.User = []string{"", "u1"}[what>>4&1]
		// Its seq stands in each text as #seq#, and in no other.
		m.Text = fmt.Sprintf("#%d#%s", m.Seq, strings.ReplaceAll(strings.ToValidUTF8(string(take(int(head[2]&31))), "?"), "#", ""))
		m.Content = encode(m.Text)
		switch form := what >> 5; {
		case form == 1:
			m.Content = json.RawMessage("[" + string(textPart(m.Text)) + `,{"type":"image_url"}]`)
		case form == 2 && m.Role == memoryd.RoleAssistant:
			m.Text, m.Content = "", json.RawMessage("null")
		case form == 3 && m.Role == memoryd.RoleSystem:
			m.Text, m.Content, m.Name = "prompt", encode("prompt"), ""
		}
		id := func(bits byte) string { return []string{"", "c1", "c2", "c\"3"}[bits&3] }
		switch m.Role {
		case memoryd.RoleAssistant:
			var calls []json.RawMessage
			for i := range ids >> 6 {
				calls = append(calls, json.RawMessage(fmt.Sprintf(`{"id":%q}`, id(ids>>(2*i)))))
			}
			m.ToolCalls = list(calls)
		case memoryd.RoleTool:
			m.ToolCallID = id(ids)
		}
		m.Tokens = chars(m.Text) + chars(string(m.ToolCalls))
		out = append(out, m)
	}
	return out
}

// FuzzWindow: whatever a session holds, its window keeps within its tokens, begins with the user, has each call with
// its result and nothing else of either, and is the newest part without a hole.
func FuzzWindow(f *testing.F) {
	const user, assistant, tool, system = "\x00", "\x01", "\x02", "\x03"
	plainTalk := user + "\x00\x02hi" + assistant + "\x00\x02ho" + user + "\x00\x05again" + assistant + "\x00\x03yes"
	called := user + "\x00\x03ask" + assistant + "\x41\x00" + tool + "\x01\x014" + assistant + "\x00\x02so"
	f.Add([]byte(plainTalk), uint16(500), uint16(100), byte(0), int64(0))
	f.Add([]byte(plainTalk), uint16(12), uint16(6), byte(1), int64(2))
	f.Add([]byte(called), uint16(30), uint16(0), byte(0), int64(0))
	f.Add([]byte(called+called), uint16(40), uint16(8), byte(2), int64(3))
	f.Add([]byte(assistant+"\x81\x00"+tool+"\x01\x00"+tool+"\x01\x00"+user+"\x00\x00"), uint16(90), uint16(0), byte(1), int64(0))                       // a result too many
	f.Add([]byte(user+"\x00\x01x"+assistant+"\xc6\x00"+assistant+"\x41\x00"+tool+"\x02\x00"+tool+"\x01\x00"), uint16(90), uint16(9), byte(6), int64(4)) // a call too many
	f.Add([]byte(strings.Repeat("\x63\x00\x00"+user+"\x00\x03abc", 9)), uint16(60), uint16(20), byte(2), int64(5))                                      // one system prompt, often
	f.Add([]byte("\x08\x00\x03amy\x0c\x00\x03bob\x10\x00\x02u1"+assistant+"\x00\x01a\x41\x41\x00"), uint16(25), uint16(0), byte(4), int64(49))          // speakers to be told apart
	f.Add([]byte("\x20\x00\x1f你好，世界你好，世界你\x01\x00\x00"), uint16(1), uint16(65535), byte(3), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, tokens, share uint16, flags byte, through int64) {
		firstSeq := int64(1)
		if flags&4 != 0 {
			firstSeq = 50
		}
		in := spelled(data, firstSeq)
		fr := small(1 + int(tokens)%1000)
		fr.summary = int(share) % (fr.tokens/2 + 1)
		fr.trim = flags&1 != 0
		var sum *memoryd.Summary
		if flags&2 != 0 && len(in) > 0 {
			text := strings.Repeat("earlier ", 1+int(flags>>4))
			sum = &memoryd.Summary{Text: text, Tokens: chars(text), ThroughSeq: max(0, through) % (in[len(in)-1].Seq + 1)}
		}
		before := fmt.Sprint(in)
		w := fr.cut(in, sum)

		checkBudget(t, fr, w)
		if w.summary != nil && (w.summary.Tokens > fr.summary || chars(w.summary.Text) != w.summary.Tokens || !strings.HasPrefix(sum.Text, w.summary.Text)) {
			t.Fatalf("summary %+v in a share of %d", w.summary, fr.summary)
		}
		chat := checkFront(t, w.messages)
		checkTurns(t, chat)
		checkCalls(t, chat)
		checkNoHole(t, fr, in, w, chat)
		if again := fr.cut(w.messages, nil); len(w.messages) > 0 && !reflect.DeepEqual(again.messages, w.messages) {
			t.Fatalf("not idempotent:\n%s\nthen\n%s", told(w.messages), told(again.messages))
		}
		if fmt.Sprint(in) != before {
			t.Fatal("what was read has been changed")
		}
	})
}

// FuzzClipTokens: what is left of a text is a beginning of it that fits.
func FuzzClipTokens(f *testing.F) {
	f.Add("the quick brown fox", 7, true)
	f.Add("👨‍👩‍👧‍👦🇨🇳e\u0301", 5, true)
	f.Add("a  b\n\nc", 2, false)
	f.Add("\xff\xfe", 1, true)
	f.Add("", -1, false)
	f.Fuzz(func(t *testing.T, text string, n int, additive bool) {
		if len(text) > 2000 {
			return
		}
		count := chars
		if !additive {
			count = runs
		}
		n %= 100
		got := clipTokens(text, n, count)
		if !strings.HasPrefix(text, got) || got != "" && count(got) > n || got != text && count(text) <= n {
			t.Fatalf("%q in %d: %q of %d", text, n, got, count(got))
		}
		if c := clip(text, n); !strings.HasPrefix(text, c) || chars(c) > max(0, n) {
			t.Fatalf("%q in %d characters: %q", text, n, c)
		}
	})
}

// runs counts a token for each run of spaces and of anything else, so that texts joined can cost less than their parts.
func runs(text string) int {
	n, last := 0, -1
	for _, r := range text {
		kind := 0
		if r == ' ' || r == '\n' {
			kind = 1
		}
		if kind != last {
			n++
		}
		last = kind
	}
	return n
}
