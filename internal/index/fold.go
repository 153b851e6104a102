package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/longbridgeapp/opencc"
	"golang.org/x/text/unicode/norm"
)

// Fold is the form in which texts are compared: NFKC, lower case, and each Traditional Chinese character as its
// Simplified one. Folding a folded text changes nothing.
func Fold(text string) string {
	ascii, upper := true, false
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	switch {
	case ascii && !upper:
		return text
	case ascii:
		return strings.ToLower(text)
	}
	// Lower case can undo the normal form (there is a w with a ring, but no W), hence the second pass; it costs a scan
	// where nothing changed.
	text = norm.NFKC.String(strings.ToLower(norm.NFKC.String(text)))
	return simplify(text)
}

// simplify goes character by character, not by phrases as opencc itself does: what a character becomes must not hang
// on its neighbours, or a word would differ from itself inside a sentence.
func simplify(text string) string {
	var table map[rune]rune
	return strings.Map(func(r rune) rune {
		if r < firstHan {
			return r
		}
		if table == nil {
			table = simplified()
		}
		if s, ok := table[r]; ok {
			return s
		}
		return r
	}, text)
}

const firstHan = 0x2e80

// simplified maps the 4,100 Traditional characters to their first Simplified one. Building it takes 5 ms.
var simplified = sync.OnceValue(func() map[rune]rune {
	table := make(map[rune]rune, 4200)
	t2s, err := opencc.New("t2s")
	if err != nil {
		// The dictionaries are compiled in; without them texts still compare, each script by itself.
		return table
	}
	each(unicode.Han, func(r rune) {
		for _, group := range t2s.DictChains {
			for _, dict := range group.Dicts {
				// Dict.Get of the library takes the value for a node and answers another character's.
				at, err := dict.Trie.Get([]byte(string(r)))
				if err != nil || len(dict.Values[at]) == 0 {
					continue
				}
				if s := []rune(dict.Values[at][0]); len(s) == 1 && s[0] != r {
					table[r] = s[0]
				}
			}
		}
	})
	for r, s := range table {
		// One character is simplified into another Traditional one; following the chain keeps Fold idempotent.
		for next, ok := table[s]; ok && next != r; next, ok = table[s] {
			s = next
		}
		table[r] = s
	}
	return table
})

func each(t *unicode.RangeTable, f func(rune)) {
	for _, span := range t.R16 {
		for r := rune(span.Lo); r <= rune(span.Hi); r += rune(span.Stride) {
			f(r)
		}
	}
	for _, span := range t.R32 {
		for r := rune(span.Lo); r <= rune(span.Hi); r += rune(span.Stride) {
			f(r)
		}
	}
}
