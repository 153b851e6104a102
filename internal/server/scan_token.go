package server

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// str reads a string and answers what stands between its quotes, and whether that holds escapes.
func (s *scan) str() (inside []byte, escaped bool, err error) {
	s.pos++ // the quote
	start := s.pos
	for s.pos < len(s.raw) {
		switch c := s.raw[s.pos]; {
		case c == '"':
			s.pos++
			return s.raw[start : s.pos-1], escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		case c < 0x20:
			return nil, false, s.bad("a control character stands in a string without its escape")
		default:
			s.pos++
		}
	}
	return nil, false, s.bad("a string does not end")
}

func (s *scan) escape() error {
	if s.pos+1 >= len(s.raw) {
		return s.bad("a string does not end")
	}
	switch s.raw[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
	default:
		return s.bad("there is no such escape")
	}
	unit, ok := s.unit(s.pos)
	if !ok {
		return s.bad("four hexadecimal digits belong behind \\u")
	}
	switch {
	case unit >= 0xD800 && unit < 0xDC00:
		if low, ok := s.unit(s.pos + 6); ok && low >= 0xDC00 && low < 0xE000 {
			s.pos += 12
			return nil
		}
		copy(s.raw[s.pos:], `\u0001`)
	case unit >= 0xDC00 && unit < 0xE000:
		copy(s.raw[s.pos:], `\u0001`)
	}
	s.pos += 6
	return nil
}

// unit reads the \uXXXX at a place.
func (s *scan) unit(at int) (uint64, bool) {
	if at+6 > len(s.raw) || s.raw[at] != '\\' || s.raw[at+1] != 'u' {
		return 0, false
	}
	digits := s.raw[at+2 : at+6]
	for _, c := range digits {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return 0, false
		}
	}
	u, err := strconv.ParseUint(string(digits), 16, 32)
	return u, err == nil
}

func (s *scan) number(schema *huma.Schema) error {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.bad("a digit belongs here")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.bad("a digit belongs here")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.bad("a digit belongs here")
		}
	}
	if schema == nil {
		return nil
	}
	if message := checkNumber(schema, string(s.raw[start:s.pos])); message != "" {
		s.fault("bad-field", message)
	}
	return nil
}

func (s *scan) digits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

func resolve(schemas huma.Registry, schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" {
		schema = schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

func isFree(schema *huma.Schema) bool {
	return schema == nil || schema.Type == "" && len(schema.OneOf) == 0
}

func alternatives(schema *huma.Schema) []*huma.Schema {
	if len(schema.OneOf) > 0 {
		return schema.OneOf
	}
	return []*huma.Schema{schema}
}

// wants says which kinds of value a schema takes.
func wants(schema *huma.Schema) string {
	var kinds []string
	null := false
	for _, alt := range alternatives(schema) {
		null = null || alt.Nullable
		kinds = append(kinds, called(alt.Type))
	}
	if null {
		kinds = append(kinds, "null")
	}
	return "takes " + strings.Join(kinds, " or ")
}

func called(kind string) string {
	switch kind {
	case huma.TypeObject, huma.TypeInteger:
		return "an " + kind
	case huma.TypeArray:
		return "a list"
	case huma.TypeString, huma.TypeNumber, huma.TypeBoolean:
		return "a " + kind
	}
	return "null (leave the field out instead)"
}

// checkText is what is wrong with a string under its schema: "" when nothing is.
func checkText(schema *huma.Schema, text []byte) (slug, message string) {
	if m := schema.MinLength; m != nil && (len(text) == 0 && *m > 0 || *m > 1 && utf8.RuneCount(text) < *m) {
		return "bad-field", fmt.Sprintf("takes at least %d characters", *m)
	}
	if m := schema.MaxLength; m != nil && len(text) > *m && utf8.RuneCount(text) > *m {
		return "too-long", fmt.Sprintf("is longer than %d characters", *m)
	}
	if schema.Format == "date-time" {
		if _, err := parseTime(string(text)); err != nil {
			return "bad-field", err.Error()
		}
	}
	if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, any(string(text))) {
		words := make([]string, len(schema.Enum))
		for i, w := range schema.Enum {
			words[i] = fmt.Sprint(w)
		}
		return "bad-field", "takes one of " + strings.Join(words, ", ")
	}
	return "", ""
}

// checkNumber is what is wrong with a number under its schema: "" when nothing is.
func checkNumber(schema *huma.Schema, literal string) string {
	var n float64
	if schema.Type == huma.TypeInteger {
		whole, err := strconv.ParseInt(literal, 10, 64)
		if err != nil {
			return "takes a whole number, written without fraction and exponent"
		}
		n = float64(whole)
	} else {
		var err error
		if n, err = strconv.ParseFloat(literal, 64); err != nil || math.IsNaN(n) {
			return "takes a number"
		}
	}
	if m := schema.Minimum; m != nil && n < *m {
		return "takes " + plainNumber(*m) + " or more"
	}
	if m := schema.Maximum; m != nil && n > *m {
		return "takes " + plainNumber(*m) + " or less"
	}
	return ""
}

// plainNumber writes a number without an exponent: 1000000, not 1e+06.
func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// rfc3339 is its grammar; time.Parse alone would take one-digit hours, decimal commas and offsets of 24 hours.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseTime reads RFC 3339 with its offset, nothing else. Years that the same format could not show in UTC are refused.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return t, errors.New("takes a time in RFC 3339 with its offset, such as 2026-09-04T10:00:00+09:00")
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return t, errors.New("takes a time between the years 1 and 9999")
	}
	return t, nil
}
