// Package judge says what a text is. Today it is the keyword layer that types a statement; it errs on the side of
// saying nothing, since a wrong type makes a memory decay, or puts it before the user as a preference.
package judge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"memoryd"
)

// looked is how many bytes of a text are looked at: what it is shows at its beginning, and the hot path waits.
const looked = 2000

// Type is the type of the statement in English or Chinese, false when no keyword says it. A question states nothing.
func Type(text string) (memoryd.Type, bool) {
	if len(text) > looked {
		text = strings.ToValidUTF8(text[:looked], "")
	}
	var said []sentence
	for _, s := range sentences(text) {
		if !asks(s) {
			said = append(said, newSentence(s))
		}
	}
	for i := range rules {
		for _, s := range said {
			if rules[i].holds(s) {
				return rules[i].typ, true
			}
		}
	}
	return "", false
}

// holds says whether a sentence is of the rule's type.
func (r *rule) holds(s sentence) bool {
	return s.latin && r.english.hold(s.text, s.lower) || s.han && r.chinese.hold(s.text, s.lower)
}

type sentence struct {
	text, lower string
	latin, han  bool
}

func newSentence(text string) sentence {
	text = strings.ReplaceAll(text, "’", "'")
	s := sentence{text: text, lower: strings.ToLower(text)}
	for _, r := range text {
		s.latin = s.latin || r < 0x80 && unicode.IsLetter(r)
		s.han = s.han || r >= 0x2E80 && unicode.Is(unicode.Han, r)
	}
	return s
}

// sentences cuts behind end punctuation; a Latin full stop counts before a space only (v2.1, memoryd.io).
func sentences(text string) []string {
	var out []string
	start := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?', ';':
			if end < len(text) && text[end] != ' ' && text[end] != '\n' {
				continue
			}
		case '\n', '。', '！', '？', '；':
		default:
			continue
		}
		out, start = append(out, text[start:end]), end
	}
	return append(out, text[start:])
}

func asks(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "吗") || strings.HasSuffix(s, "吗。")
}
