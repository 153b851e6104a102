package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

var stopped = sync.OnceValue(stopSet)

// eachWord calls emit for the words of a folded text in order. Latin words are stemmed. Where a script puts no spaces
// between its words, every character is a word and so is every pair of neighbours; a run of letters and digits beside
// them is a word of its own. Everything else separates: no character is an operator.
func eachWord(folded string, stem func(string) string, emit func(word string, stop bool)) {
	l := latinWords{stops: stopped(), stem: stem, emit: emit}
	for i := 0; i < len(folded); {
		r, size := utf8.DecodeRuneInString(folded[i:])
		switch {
		case unspaced(r):
			i = unspacedRun(folded, i, emit)
		case inWord(r):
			end := wordEnd(folded, i+size)
			i = l.read(folded, i, end)
		default:
			i += size
		}
	}
}

type latinWords struct {
	stops map[string]bool
	stem  func(string) string
	emit  func(word string, stop bool)
}

// read emits the word at [start, end) and answers where reading goes on. A contraction's tail says nothing, and a
// negated verb is a stop word as a whole: what is left of it (don, won) would be another word.
func (l *latinWords) read(s string, start, end int) int {
	word := s[start:end]
	if mark, size := utf8.DecodeRuneInString(s[end:]); isApostrophe(mark) {
		switch tail := wordEnd(s, end+size); s[end+size : tail] {
		case "t":
			l.emit(word+"'t", true)
			return tail
		case "s", "m", "d", "ll", "re", "ve":
			end = tail
		}
	}
	if l.stops[word] {
		l.emit(word, true)
	} else {
		l.emit(l.stem(word), false)
	}
	return end
}

// unspacedRun emits the characters and pairs of the run that starts at i and answers its end. A character takes the
// marks behind it along.
func unspacedRun(s string, i int, emit func(string, bool)) int {
	before := -1
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unspaced(r) {
			break
		}
		end := i + size
		for end < len(s) {
			m, n := utf8.DecodeRuneInString(s[end:])
			if m < utf8.RuneSelf || !unicode.IsMark(m) {
				break
			}
			end += n
		}
		if before >= 0 {
			emit(s[before:end], false)
		}
		emit(s[i:end], false)
		before, i = i, end
	}
	return i
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unspaced(r) || !inWord(r) && !unicode.IsMark(r) {
			break
		}
		i += size
	}
	return i
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return !isApostrophe(r) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

// unspaced says whether the rune is of a script that is written without spaces between words, or (Hangul) with
// endings glued to them.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && (unicode.IsLetter(r) || unicode.IsNumber(r)) || r == 'ー'
}

// Words is what a query asks for: its distinct words in order, made once and used for every search of the query.
type Words struct {
	list  []string
	stop  bool   // they are stop words, the query holding no other
	plain string // the folded text between spaces, for names
	time  bool   // it asks for a time
}

// Read takes a query apart. A query of stop words alone keeps them, so that a text is still found by its own words.
func Read(text string) Words {
	folded := Fold(text)
	plain := spaced(folded)
	w := Words{plain: plain, time: asksTime(plain)}
	if w.list, _ = distinct(content(folded)); len(w.list) > 0 {
		return w
	}
	// Nothing but words that make a question: they may be the title of something.
	var stops []string
	if w.list, stops = distinct(folded); len(w.list) == 0 {
		w.list, w.stop = stops, true
	}
	return w
}

func distinct(folded string) (words, stops []string) {
	seen := map[string]bool{}
	eachWord(folded, stem, func(word string, stop bool) {
		switch {
		case seen[word]:
		case stop:
			stops = append(stops, word)
		default:
			words = append(words, word)
		}
		seen[word] = true
	})
	return words, stops
}

// Empty says whether the query holds no word at all; it then finds nothing.
func (w Words) Empty() bool { return len(w.list) == 0 }

// spaced is the folded text with one space for whatever separates words, between scripts that have spaces and those
// that don't, and at each end.
func spaced(folded string) string {
	var b strings.Builder
	b.Grow(len(folded) + 2)
	b.WriteByte(' ')
	gap, glued := true, false
	for _, r := range folded {
		mark := r >= utf8.RuneSelf && unicode.IsMark(r)
		if !mark && !inWord(r) {
			if !gap {
				b.WriteByte(' ')
			}
			gap = true
			continue
		}
		if u := unspaced(r); !mark && u != glued {
			if !gap {
				b.WriteByte(' ')
			}
			glued = u
		}
		b.WriteRune(r)
		gap = false
	}
	if !gap {
		b.WriteByte(' ')
	}
	return b.String()
}
