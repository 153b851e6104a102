package recall

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"memoryd"
)

// chars counts a token for each character, so that costs can be read off the page.
func chars(text string) int { return utf8.RuneCountInString(text) }

func small(tokens int) frame { return frame{tokens: tokens, summary: tokens / 2, count: chars} }

// talk reads one message a line: a role (s u a t), what follows it up to the colon, and the text. "u amy: hi" has a
// name, "u @amy: hi" a user, "a c1,c2: hi" two calls, "t c1: 4" is the result of c1, and a text that begins with "[" is a list of parts.
func talk(t testing.TB, script string) []memoryd.Message {
	t.Helper()
	var out []memoryd.Message
	for line := range strings.Lines(strings.TrimSpace(script)) {
		head, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("no colon in %q", line)
		}
		role, more, _ := strings.Cut(head, " ")
		m := memoryd.Message{ID: fmt.Sprint("m", len(out)+1), Seq: int64(len(out) + 1), Kind: "chat", Trust: memoryd.High}
		m.Text = strings.TrimSpace(text)
		m.Content = encode(m.Text)
		if strings.HasPrefix(m.Text, "[") {
			m.Content, m.Text = json.RawMessage(m.Text), "part"
		}
		switch role {
		case "s":
			m.Role = memoryd.RoleSystem
		case "u":
			m.Role, m.Name = memoryd.RoleUser, more
			if user, ok := strings.CutPrefix(more, "@"); ok {
				m.Name, m.User = "", user
			}
		case "t":
			m.Role, m.ToolCallID, m.Trust = memoryd.RoleTool, more, memoryd.Low
		case "a":
			m.Role, m.Trust = memoryd.RoleAssistant, memoryd.Medium
			var calls []json.RawMessage
			for id := range strings.SplitSeq(more, ",") {
				if id != "" {
					calls = append(calls, json.RawMessage(`{"id":"`+id+`"}`))
				}
			}
			m.ToolCalls = list(calls)
			if m.Text == "" && calls != nil {
				m.Content = json.RawMessage("null")
			}
		default:
			t.Fatalf("no role in %q", line)
		}
		m.Tokens = chars(m.Text) + chars(string(m.ToolCalls))
		out = append(out, m)
	}
	return out
}

// told is talk's reverse.
func told(list []memoryd.Message) string {
	var b strings.Builder
	for _, m := range list {
		more := m.Name + m.ToolCallID
		if m.User != "" {
			more += "@" + m.User
		}
		var ids []string
		for _, c := range callsOf(m) {
			ids = append(ids, callID(c))
		}
		if more += strings.Join(ids, ","); more != "" {
			more = " " + more
		}
		text := m.Text
		if _, parts := partsOf(m.Content); parts {
			text = string(m.Content)
		}
		fmt.Fprintf(&b, "%c%s: %s\n", m.Role[0], more, strings.ReplaceAll(text, "\n\n", " | "))
	}
	return strings.ReplaceAll(b.String(), ": \n", ":\n")
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		frame          frame
		summary        *memoryd.Summary
		trim           bool
		shown          bool // the summary
		drop           int  // oldest messages that were not read
		notes          []string
	}{
		{name: "everything fits", frame: small(100),
			in: "u: one\na: two\nu: three", want: "u: one\na: two\nu: three"},
		{name: "a leading assistant is dropped", frame: small(100),
			in: "a: hello\nu: one\na: two", want: "u: one\na: two"},
		{name: "nothing but the assistant", frame: small(100), in: "a: hello", want: "", notes: []string{"led_by_assistant"}},
		{name: "the tail of a tool loop", frame: small(50),
			in:   "u: " + strings.Repeat("x", 30) + "\na c1:\nt c1: r\na c2:\nt c2: r",
			want: "", notes: []string{"led_by_assistant", "gap:5"}},
		{name: "rounds cut a call off its result", frame: small(200), drop: 2,
			in: "u: w\na c1:\nt c1: 4\na: it is 4\nu: and now", want: "u: and now"},
		{name: "a whole round with tools", frame: small(200),
			in: "u: w\na c1:\nt c1: 4\na: it is 4\nu: and now", want: "u: w\na c1:\nt c1: 4\na: it is 4\nu: and now"},
		{name: "neighbours merge", frame: small(100),
			in: "u: one\nu: two\na: x\na: y\nu: z", want: "u: one | two\na: x | y\nu: z"},
		{name: "names stand in front where they differ", frame: small(100),
			in: "u amy: one\nu bob: two\na: x\nu amy: y\nu amy: z", want: "u: amy: one | bob: two\na: x\nu amy: y | z"},
		{name: "users stand in front where they differ", frame: small(100),
			in: "u @amy: one\nu @bob: two\na: x\nu @amy: y\nu @amy: z", want: "u: amy: one | bob: two\na: x\nu @amy: y | z"},
		{name: "a name goes before the user", frame: small(100), in: "u @amy: one\nu Bo: two", want: "u: amy: one | Bo: two"},
		{name: "a user and a name that read alike", frame: small(100), in: "u @amy: one\nu amy: two", want: "u: amy: one | amy: two"},
		{name: "a speaker without a name keeps none", frame: small(100), in: "u amy: one\nu: two", want: "u: amy: one | two"},
		{name: "parts stay parts", frame: small(300),
			in:   "u amy: [{\"type\":\"image\"}]\nu bob: two <b>",
			want: `u: [{"type":"text","text":"amy: "},{"type":"image"},{"type":"text","text":"bob: two <b>"}]`},
		{name: "trim keeps the newer", frame: small(100), trim: true,
			in: "u: one\nu: two\na: x\na: y\nu: z", want: "u: two\na: y\nu: z"},
		{name: "trim and calls that it loses", frame: small(100), trim: true,
			in: "u: one\na c1: x\na: y\nt c1: r\na: z", want: "u: one\na: z"},
		{name: "calls of merged neighbours", frame: small(100),
			in: "u: one\na c1: x\na c2: y\nt c2: r2\nt c1: r1", want: "u: one\na c1,c2: x | y\nt c2: r2\nt c1: r1"},
		{name: "results and calls without the other", frame: small(200),
			in: "u: one\na c1,c2: x\nt c1: r\nt c9: s\na c3:\nu: two\nt c3: late", want: "u: one\na c1: x\nt c1: r\nu: two"},
		{name: "users that a dropped call kept apart", frame: small(100), in: "u: one\na c1:\nu: two", want: "u: one | two"},
		{name: "the same call id in two turns", frame: small(100),
			in: "u: one\na c:\nt c: r1\nu: two\na c:\nt c: r2", want: "u: one\na c:\nt c: r1\nu: two\na c:\nt c: r2"},
		{name: "one result too many", frame: small(100),
			in: "u: one\na c:\nt c: r1\nt c: r2", want: "u: one\na c:\nt c: r1"},
		{name: "the first that does not fit closes", frame: small(34),
			in: "u: a\na: b\nu: " + strings.Repeat("x", 30) + "\na: c\nu: d\na: e", want: "u: d\na: e", notes: []string{"gap:4"}},
		{name: "the newest does not fit", frame: small(20),
			in: "u: first\na: ok\nu: " + strings.Repeat("x", 30), want: "", notes: []string{"newest_too_long", "gap:3"}},
		{name: "a long run of one role is cut inside", frame: small(20),
			in: "u: aaaa\nu: bbbb\nu: cccc\nu: dddd", want: "u: cccc | dddd", notes: []string{"gap:2"}},
		{name: "a call falls with its results", frame: small(26),
			in: "u: a\na c1: b\nt c1: " + strings.Repeat("x", 10) + "\na: c\nu: d", want: "u: d", notes: []string{"gap:4"}},
		{name: "equal system messages count once", frame: small(100),
			in: "s: S\nu: a\ns: S\na: b\ns: T\nu: c", want: "s: S\ns: T\nu: a\na: b\nu: c"},
		{name: "system messages take half", frame: small(20),
			in: "s: AAAAAA\ns: BBBBBB\nu: a", want: "s: BBBBBB\nu: a", notes: []string{"system_cut"}},
		{name: "a summary covers what was closed out", frame: small(30), shown: true, summary: &memoryd.Summary{Text: "sum", Tokens: 3, ThroughSeq: 2},
			in: "u: " + strings.Repeat("x", 30) + "\na: b\nu: c", want: "u: c"},
		{name: "a gap behind the summary", frame: small(30), shown: true, summary: &memoryd.Summary{Text: "sum", Tokens: 3, ThroughSeq: 1},
			in: "u: a\na: b\nu: " + strings.Repeat("x", 30) + "\ns: s\nu: c", want: "s: s\nu: c", notes: []string{"gap:2"}},
		{name: "a summary of what was not read", frame: small(100), drop: 2, shown: true, summary: &memoryd.Summary{Text: "sum", Tokens: 3, ThroughSeq: 2},
			in: "u: a\na: b\nu: c\na: d", want: "u: c\na: d"},
		{name: "what was neither read nor summed up", frame: small(100), drop: 3, shown: true, summary: &memoryd.Summary{Text: "sum", Tokens: 3, ThroughSeq: 1},
			in: "u: a\na: b\nu: c\nu: d", want: "u: d", notes: []string{"gap:2"}},
		{name: "no summary beside everything", frame: small(100), summary: &memoryd.Summary{Text: "sum", Tokens: 3, ThroughSeq: 1},
			in: "u: a\na: b", want: "u: a\na: b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.frame
			f.trim = c.trim
			w := f.cut(talk(t, c.in)[c.drop:], c.summary)
			if got := told(w.messages); got != c.want && got != c.want+"\n" {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if !slices.Equal(w.notes, c.notes) {
				t.Errorf("notes %q, want %q", w.notes, c.notes)
			}
			if (w.summary != nil) != c.shown {
				t.Errorf("summary %+v", w.summary)
			}
		})
	}
}

func TestWindowOfNothing(t *testing.T) {
	w := small(10).cut(nil, &memoryd.Summary{Text: "x", Tokens: 1})
	if w.messages == nil || len(w.messages) != 0 || w.summary != nil || w.notes != nil {
		t.Errorf("got %+v", w)
	}
}

func TestMergedMessageIsItsOldestPart(t *testing.T) {
	in := talk(t, "u amy: one\nu bob: two\nu amy: three")
	in[0].User, in[1].User, in[2].Trust = "amy", "bob", memoryd.Low
	got := small(100).cut(in, nil).messages[0]
	if got.ID != "m1" || got.Seq != 1 || got.Name != "" || got.User != "" || got.Trust != memoryd.Low {
		t.Errorf("got %+v", got)
	}
	if want := chars("amy: onebob: twoamy: three") + 2*2; got.Tokens != want {
		t.Errorf("tokens %d, want %d", got.Tokens, want)
	}
	in = talk(t, "u amy: one\nu amy: two\nu amy: three")
	in[0].User, in[1].User, in[2].User = "u1", "u2", "u1"
	if got := small(100).cut(in, nil).messages[0]; got.Name != "amy" || got.User != "" || got.Text != "one\n\ntwo\n\nthree" {
		t.Errorf("two users of one name: %+v", got)
	}
	in[1].User = "u1"
	if got := small(100).cut(in, nil).messages[0]; got.Name != "amy" || got.User != "u1" {
		t.Errorf("one speaker: %+v", got)
	}
}

// TestWindowLeavesItsInputAlone guards against writing into what a cache may hold.
func TestWindowLeavesItsInputAlone(t *testing.T) {
	in := talk(t, "s: S\nu: one\nu: two\na c1,c2: x\nt c1: r\na: y")
	before := slices.Clone(in)
	small(100).cut(in, nil)
	if !reflect.DeepEqual(in, before) {
		t.Error("the window changed its input")
	}
}

func TestSummaryIsCutToItsShare(t *testing.T) {
	sum := &memoryd.Summary{Text: strings.Repeat("👨‍👩‍👧‍👦", 5), Tokens: 35, ThroughSeq: 1}
	w := small(20).cut(talk(t, "u: "+strings.Repeat("x", 30)+"\na: b\nu: c"), sum)
	if w.summary == nil || w.summary.Text != "👨‍👩‍👧‍👦" || w.summary.Tokens != 7 {
		t.Errorf("summary %+v", w.summary)
	}
	if sum.Tokens != 35 {
		t.Error("the stored summary was changed")
	}
}
