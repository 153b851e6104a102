package remember

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
)

// Limits of what a memory and a message may hold.
const (
	maxText     = 16_384 // characters
	maxMetadata = 16 << 10
	maxLabels   = 64
	maxLabelKey = 64
	maxLabel    = 256
	maxBatch    = 500
	maxMessage  = 64 << 10
	maxMessages = 1000
	maxName     = 128
	maxCallID   = 512 // some model APIs pack a whole signature into it
)

func emptyObject() json.RawMessage { return json.RawMessage("{}") }

// checkText refuses what is too long or says nothing, and answers the text as it may be stored.
func (w *Writer) checkText(path, text string) (clean string, notes []string, err error) {
	if utf8.RuneCountInString(text) > maxText {
		return "", nil, memoryd.BadFieldAs("too-long", path, "is longer than %d characters", maxText)
	}
	clean, notes = w.o.Guard.Check(text)
	if blank(clean) {
		return "", nil, memoryd.BadField(path, "says nothing")
	}
	return clean, notes, nil
}

// blank says whether nothing can be seen of the text.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// words says whether there is anything that a search could find.
func words(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

func (w *Writer) checkLabels(path string, labels map[string]string) (clean map[string]string, notes []string, err error) {
	if len(labels) > maxLabels {
		return nil, nil, memoryd.BadFieldAs("too-long", path, "holds more than %d labels", maxLabels)
	}
	clean = make(map[string]string, len(labels))
	for key, value := range labels {
		if key == "" || utf8.RuneCountInString(key) > maxLabelKey || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
			return nil, nil, memoryd.BadField(path, "a label's name takes 1 to %d characters and no control characters", maxLabelKey)
		}
		if utf8.RuneCountInString(value) > maxLabel {
			return nil, nil, memoryd.BadFieldAs("too-long", path+"."+key, "is longer than %d characters", maxLabel)
		}
		value, more := w.o.Guard.Check(value)
		clean[key], notes = value, union(notes, more)
	}
	return clean, notes, nil
}

// checkMetadata takes an object; nothing and null are an empty one.
func checkMetadata(path string, raw json.RawMessage) (clean json.RawMessage, notes []string, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return emptyObject(), nil, nil
	}
	doc, err := guard.CleanJSON(path, raw)
	switch {
	case err != nil:
		return nil, nil, err
	case raw[0] != '{':
		return nil, nil, memoryd.BadField(path, "want an object")
	case doc.Size > maxMetadata:
		return nil, nil, memoryd.BadFieldAs("too-long", path, "is larger than %d bytes", maxMetadata)
	}
	return doc.Raw, doc.Notes, nil
}

// checkTime keeps out what no answer could show: JSON has four digits for a year.
func checkTime(path string, t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return memoryd.BadField(path, "lies outside the years 1 to 9999")
	}
	return nil
}

func checkExpires(path string, t *time.Time, now time.Time) (*time.Time, error) {
	if t == nil {
		return nil, nil
	}
	if err := checkTime(path, *t); err != nil {
		return nil, err
	}
	if !t.After(now) {
		return nil, memoryd.BadField(path, "lies in the past")
	}
	at := stored(*t)
	return &at, nil
}

func checkSpan(path string, s *memoryd.Span) (*memoryd.Span, error) {
	if s == nil {
		return nil, nil
	}
	if err := checkTime(path+".start", s.Start); err != nil {
		return nil, err
	}
	if s.Start.IsZero() {
		return nil, memoryd.BadField(path+".start", "is missing")
	}
	out := &memoryd.Span{Start: s.Start.Truncate(time.Microsecond)}
	if s.End != nil {
		if err := checkTime(path+".end", *s.End); err != nil {
			return nil, err
		}
		if s.End.Before(s.Start) {
			return nil, memoryd.BadField(path+".end", "lies before the start")
		}
		end := s.End.Truncate(time.Microsecond)
		out.End = &end
	}
	return out, nil
}

func checkType(path string, t memoryd.Type) error {
	if !slices.Contains(memoryd.Types, t) {
		return memoryd.BadField(path, "want one of %v", memoryd.Types)
	}
	return nil
}

// checkName takes free text, "" for none.
func checkName(path, name string, limit int) error {
	if utf8.RuneCountInString(name) > limit {
		return memoryd.BadFieldAs("too-long", path, "is longer than %d characters", limit)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return memoryd.BadField(path, "holds no control characters, and is UTF-8")
	}
	return nil
}

// scopeOf reads the scope of a request; the agent named is agent:self.
func scopeOf(path, text string, g access.Grant) (memoryd.Scope, error) {
	if text == memoryd.Self {
		if g.Agent() == "" {
			return "", memoryd.BadFieldAs("bad-scope", path, "agent:self is the scope of the agent named, and none is")
		}
		return memoryd.AgentScope(g.Agent()), nil
	}
	return memoryd.ParseScope(path, text)
}

func item(i int) string { return fmt.Sprintf("items[%d].", i) }
