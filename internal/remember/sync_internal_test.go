package remember

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAlign(t *testing.T) {
	for _, c := range []struct{ name, stored, sent, fresh string }{
		{"new session", "", "a b", "a b"},
		{"the same again", "a b", "a b", ""},
		{"grown", "a b", "a b c d", "c d"},
		{"a repeated word", "u1 ok u2 ok", "u1 ok u2 ok ok", "ok"},
		{"a repeated word, grown", "u1 ok u2 ok", "u1 ok u2 ok u3 ok", "u3 ok"},
		{"nothing but one word", "ok ok", "ok ok ok", "ok"},
		{"cut at the front", "a b c d", "c d e", "e"},
		{"cut at the front, nothing new", "a b c d", "c d", ""},
		{"cut down to a repeated word", "u1 ok u2 ok", "ok ok", "ok"},
		{"cut, and the new words were said before", "u1 ok u2 fine u3 ok", "ok fine", "fine"},
		{"cut, and the last answer anew", "q1 ok q2 ok", "ok q2 a3", "a3"},
		{"an old state", "a b c d", "a b", ""},
		{"an old state, cut", "a b c d", "b c", ""},
		{"nothing in common", "a b", "x y", "x y"},
		{"after other messages", "x y", "a b", "a b"},
		{"after other messages, grown", "x y a b", "a b c", "c"},
		{"the last answer anew", "s u1 a1", "s u1 a1'", "a1'"},
		{"the last answer anew, grown", "s u1 a1 a1'", "s u1 a1' u2", "u2"},
		{"an edited question with the same answer", "u1 a1 u2 ok", "u1 a1 u2' ok", "u2' ok"},
		{"an edited question, grown", "u1 a1 u2 ok u2' ok", "u1 a1 u2' ok u3", "u3"},
		{"two branches", "a b c d", "a b c e", "e"},
		{"two branches, the first again", "a b c d e", "a b d f", "f"},
		{"another system message", "s0 u1 a1", "s1 u1 a1 u2", "u2"},
		{"another system message, nothing new", "s0 u1 a1", "s1 u1 a1", ""},
		{"a summary in place of the oldest", "u1 a1 u2 a2 u3 a3", "sum a2 u3 a3 u4", "u4"},
		{"an old result cleared", "u1 r1 a1 u2 a2", "u1 cleared a1 u2 a2 u3", "u3"},
		{"two old results cleared", "u1 r1 a1 r2 a2 u2 a3", "u1 x a1 x a2 u2 a3 u3", "u3"},
		{"a loop", "go p w p w", "go p w p w p w", "p w"},
		{"a loop, cut", "go p w p w", "p w p w p w", "p w"},
	} {
		stored, sent := strings.Fields(c.stored), strings.Fields(c.sent)
		at := align(stored, sent, true)
		if got := strings.Join(sent[len(at):], " "); got != c.fresh {
			t.Errorf("%s: %q on %q stores %q, want %q", c.name, c.sent, c.stored, got, c.fresh)
		}
		checkAlign(t, stored, sent, at)
	}
}

type failer interface {
	Errorf(string, ...any)
	Helper()
}

// checkAlign holds for whatever is compared: what is told to be known is known, each once and in order.
func checkAlign(t failer, stored, sent []string, at []int) {
	t.Helper()
	if len(at) > len(sent) {
		t.Errorf("%v of %v", at, sent)
		return
	}
	last := -1
	for i, j := range at {
		if j < 0 {
			continue
		}
		if j <= last || j >= len(stored) || stored[j] != sent[i] {
			t.Errorf("%v on %v: place %d is said to be %d, after %d", sent, stored, i, j, last)
			return
		}
		last = j
	}
}

// after is the session once the history was sent.
func after(stored, sent []string) []string {
	return append(slices.Clone(stored), sent[len(align(stored, sent, true)):]...)
}

// Whatever the words are and however often they are repeated: a history that only grows is stored once.
func TestAlignGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ok"}), 1, 40).Draw(t, "history")
		var stored []string
		for n := 0; n < len(history); {
			n = rapid.IntRange(n, len(history)).Draw(t, "sent")
			stored = after(stored, history[:n])
			if !slices.Equal(stored, history[:n]) {
				t.Fatalf("%v became %v", history[:n], stored)
			}
			if n < len(history) {
				n++
			}
		}
		if again := after(stored, history); !slices.Equal(again, history) {
			t.Fatalf("%v sent again became %v", history, again)
		}
	})
}

// A client that also drops its oldest messages, changes its system message, and lets the last answer be made anew,
// among answers that are often the same. Each message that it says is stored once, in the order of its saying.
func TestAlignClients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history, stored, said []string
		n := 0
		say := func(word string) { history, said = append(history, word), append(said, word) }
		question := func() { n++; say(fmt.Sprintf("question %d", n)) }
		answer := func() { say(rapid.SampledFrom([]string{"ok", "yes", fmt.Sprintf("answer %d", n)}).Draw(t, "answer")) }
		question()
		answer()
		stored = after(stored, history)
		front := []string{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // goes on
				question()
				answer()
			case 1: // forgets its oldest, but not the last question
				keep := rapid.IntRange(2, max(2, len(history))).Draw(t, "keep")
				history = history[len(history)-min(keep, len(history)):]
			case 2: // asks again for the last answer
				if len(history) < 2 || !strings.HasPrefix(history[len(history)-2], "question") {
					continue
				}
				n++
				history = history[:len(history)-1]
				say(fmt.Sprintf("answer %d", n))
			case 3: // sends the same again
			case 4:
				front = []string{fmt.Sprintf("system %d", n)}
			}
			sent := append(slices.Clone(front), history...)
			at := align(stored, sent, true)
			checkAlign(t, stored, sent, at)
			stored = append(stored, sent[len(at):]...)
			if !slices.Equal(stored, said) {
				t.Fatalf("said %v\nsent %v\nstored %v", said, sent, stored)
			}
			if again := after(stored, sent); !slices.Equal(again, stored) {
				t.Fatalf("%v sent again: %v became %v", sent, stored, again)
			}
		}
	})
}

func FuzzAlign(f *testing.F) {
	f.Add("ab", "abc", true)
	f.Add("aaaa", "aaaaa", false)
	f.Add("sab", "tabc", true)
	f.Add("arbcd", "axbcde", true)
	f.Fuzz(func(t *testing.T, storedText, sentText string, whole bool) {
		stored, sent := strings.Split(storedText, ""), strings.Split(sentText, "")
		if len(stored)+len(sent) > 400 {
			return
		}
		at := align(stored, sent, whole)
		checkAlign(t, stored, sent, at)
		// To a session that it does not know at all, a history is new as a whole.
		if len(align(nil, sent, true)) != 0 {
			t.Errorf("%v on nothing", sent)
		}
		// A history is known where it stands at the end, and what follows it is new.
		if len(sent) == 0 {
			return
		}
		grown := append(slices.Clone(sent), "new")
		if got := align(sent, grown, true); len(got) != len(sent) {
			t.Errorf("%v on %v: %v", grown, sent, got)
		}
		if n, longest, _ := overlap(append(slices.Clone(stored), sent...), sent); n != len(sent) || longest != n {
			t.Errorf("overlap of %v behind %v: %d", sent, stored, n)
		}
	})
}
