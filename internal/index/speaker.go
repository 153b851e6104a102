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
// several. A first name names everybody who has it, unless a longer name takes it.
func named(parts []*Partition, w Words) string {
	var found []*speaker
	for _, p := range parts {
		for _, by := range p.turns.speakers {
			if by.name != "" && strings.Contains(w.plain, by.name) || by.first != "" && strings.Contains(w.plain, by.first) {
				found = append(found, by)
			}
		}
	}
	only := ""
	for _, by := range found {
		switch {
		case by.key == only || by.outdone(found, w):
		case only != "":
			return ""
		default:
			only = by.key
		}
	}
	return only
}

// outdone says whether what names the speaker is a part of what names another one better: of a longer name, or of the
// name of somebody called in full.
func (by *speaker) outdone(found []*speaker, w Words) bool {
	full := strings.Contains(w.plain, by.name)
	for _, o := range found {
		if o.key == by.key || !strings.Contains(w.plain, o.name) {
			continue
		}
		if full && len(o.name) > len(by.name) && strings.Contains(o.name, by.name) || !full && (o.first == by.first || o.name == by.first) {
			return true
		}
	}
	return false
}
