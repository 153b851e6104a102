package index

import (
	"strings"
	"unicode/utf8"
)

// newSpeaker takes a folded name.
func newSpeaker(key string) *speaker {
	by := &speaker{key: key}
	plain := spaced(key)
	if by.name = asName(plain); by.name == "" {
		return by
	}
	if first, rest, ok := strings.Cut(plain[1:], " "); ok && rest != "" {
		by.first = asName(" " + first + " ")
	}
	return by
}

// asName is how a name must stand in a query between spaces; one in a script without spaces may stand anywhere. A
// name that is a stop word (Will) would be named by half of all questions.
func asName(plain string) string {
	name := strings.TrimSpace(plain)
	if name == "" || stopped()[name] || len(name) == 1 {
		return ""
	}
	if r, _ := utf8.DecodeRuneInString(name); !unspaced(r) {
		name = " " + name
	}
	if r, _ := utf8.DecodeLastRuneInString(name); !unspaced(r) {
		name += " "
	}
	return name
}

// named answers the one speaker of the partitions whom the query names, by the key, and "" when it names none or
// several. A full name goes before a first name.
func named(parts []*Partition, w Words) string {
	full, first := "", ""
	fulls, firsts := 0, 0
	for _, p := range parts {
		for key, by := range p.turns.speakers {
			if by.name != "" && strings.Contains(w.plain, by.name) && key != full {
				full = key
				fulls++
			} else if by.first != "" && strings.Contains(w.plain, by.first) && key != first {
				first = key
				firsts++
			}
		}
	}
	switch {
	case fulls == 1:
		return full
	case fulls == 0 && firsts == 1:
		return first
	}
	return ""
}
