package recall

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// clip is at most n characters (code points) of the text, cut between graphemes.
func clip(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	size, rest, state := 0, text, -1
	for rest != "" {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n -= utf8.RuneCountInString(grapheme)
		if n < 0 {
			break
		}
		size += len(grapheme)
	}
	return text[:size]
}

// clipTokens is as much of the text as costs at most n tokens, cut between graphemes.
func clipTokens(text string, n int, count func(string) int) string {
	var ends []int
	size, rest, state := 0, text, -1
	for rest != "" {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		size += len(grapheme)
		ends = append(ends, size)
	}
	k := sort.Search(len(ends), func(i int) bool { return count(text[:ends[i]]) > n })
	// Tokens do not quite grow with every character, so the search may stop a little late.
	for ; k > 0; k-- {
		if cut := text[:ends[k-1]]; count(cut) <= n {
			return cut
		}
	}
	return ""
}

var lineBreaks = strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ", "\v", " ⏎ ", "\f", " ⏎ ",
	"\u0085", " ⏎ ", "\u2028", " ⏎ ", "\u2029", " ⏎ ")

// plain is a text as it may stand in a rendered line: one line, with nothing in it that reads as a tag or a fence.
func plain(text string) string {
	text = lineBreaks.Replace(strings.TrimSpace(text))
	if !strings.Contains(text, "<") {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if r == '<' && opensTag(text[i+1:]) {
			b.WriteString("&lt;")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// opensTag says whether "<" before the rest could open a tag. Comparisons, arrows and hearts cannot; anything unknown
// can, since joiners and marks may stand unseen between the bracket and a name.
func opensTag(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest != "" && !unicode.IsSpace(r) && !unicode.IsDigit(r) && !strings.ContainsRune("<=-", r)
}
