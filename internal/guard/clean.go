package guard

import (
	"strings"
	"unicode/utf8"
)

// Cleaned is the note on a text that something was removed from.
const Cleaned = "cleaned"

// Cleaner removes what a reader cannot see but a model or a terminal obeys. Joiners (U+200C, U+200D) and direction
// marks stay, since emoji, Persian and Indic text need them, and so do the tags of flag emoji.
type Cleaner struct{}

var _ Guard = Cleaner{}

// Check answers the text without hidden characters, and the note Cleaned when there were any.
func (Cleaner) Check(text string) (stored string, notes []string) {
	clean := clean(text)
	if len(clean) == len(text) {
		return text, nil
	}
	return clean, []string{Cleaned}
}

// clean only ever removes, so that equal lengths mean that nothing was done.
func clean(text string) string {
	keep := cleanPrefix(text)
	if keep == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:keep])
	for i := keep; i < len(text); {
		if n := flag(text[i:]); n > 0 {
			b.WriteString(text[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if !hidden(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// cleanPrefix is how many bytes need no closer look; a flag's tags do.
func cleanPrefix(text string) int {
	for i, r := range text {
		// A written U+FFFD is as good as any character; range answers the same for bytes that are no UTF-8.
		broken := r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD")
		if broken || hidden(r) || r == blackFlag {
			return i
		}
	}
	return len(text)
}

func hidden(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7F:
		return false
	case r <= 0x9F: // DEL and C1
		return true
	case r < 0x200B:
		return false
	}
	return r == 0x200B || r >= 0x202A && r <= 0x202E || r == 0x2060 || r >= 0x2066 && r <= 0x2069 || r == 0xFEFF || tag(r)
}

const (
	blackFlag = 0x1F3F4
	tagEnd    = 0xE007F
)

func tag(r rune) bool { return r >= 0xE0000 && r <= tagEnd }

// flag is the length of the flag emoji that the text starts with, 0 for none: a black flag, the 3 to 7 letters and
// digits of a subdivision as tags (UTS #51, gbeng for England), and the end. Longer ones would be a place to hide in.
func flag(text string) int {
	r, i := utf8.DecodeRuneInString(text)
	if r != blackFlag {
		return 0
	}
	for tags := 0; ; tags++ {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch c := r - 0xE0000; {
		case r == tagEnd && tags >= 3:
			return i
		case tags == 7 || !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z'):
			return 0
		}
	}
}
