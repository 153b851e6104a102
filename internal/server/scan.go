package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

// maxDepth is how deep a body may nest.
const maxDepth = 64

// scan reads one JSON document against a schema, in one pass and without building a tree. encoding/json would let pass
// what is caught here: broken UTF-8, doubled keys, keys in another case, and null where a value belongs. A nil schema
// takes any JSON.
type scan struct {
	raw     []byte
	pos     int
	depth   int
	schemas huma.Registry
	path    []step
	keys    [][]byte // the keys of the objects that are open, a stack
	faults  faults
}

// step is one part of the way to a value: a key, or with key "" an index.
type step struct {
	key   string
	index int
}

// checkJSON refuses what is not one JSON document in UTF-8 (bad-json), and what the schema does not take, naming every
// field. A surrogate without its other half is overwritten in raw by U+0001, an equally long escape: that is refused
// in ids and names, and cleaned out of texts, like any control character.
func checkJSON(schemas huma.Registry, schema *huma.Schema, raw []byte) error {
	if !utf8.Valid(raw) {
		return badJSON("the body is not UTF-8")
	}
	s := &scan{raw: raw, schemas: schemas}
	if s.space(); s.pos == len(raw) {
		return badJSON("the body is empty")
	}
	if err := s.value(schema); err != nil {
		return err
	}
	if s.space(); s.pos < len(raw) {
		return s.bad("something follows the JSON value")
	}
	return s.faults.err()
}

func badJSON(format string, args ...any) error {
	return memoryd.Errorf(memoryd.Invalid, "bad-json", format, args...)
}

func (s *scan) bad(what string) error { return badJSON("%s, at byte %d", what, s.pos) }

func (s *scan) space() {
	for s.pos < len(s.raw) {
		switch s.raw[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scan) peek() byte {
	if s.pos < len(s.raw) {
		return s.raw[s.pos]
	}
	return 0
}

// where is the path of the value being read.
func (s *scan) where() string {
	var b strings.Builder
	for _, p := range s.path {
		switch {
		case p.key == "" && p.index >= 0:
			fmt.Fprintf(&b, "[%d]", p.index)
		case b.Len() > 0:
			b.WriteString("." + p.key)
		default:
			b.WriteString(p.key)
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}

func (s *scan) fault(slug, message string) { s.faults.add(slug, s.where(), message) }

func (s *scan) faultAt(slug, key, message string) {
	s.path = append(s.path, step{key: key, index: -1})
	s.fault(slug, message)
	s.path = s.path[:len(s.path)-1]
}

func (s *scan) value(schema *huma.Schema) error {
	switch c := s.peek(); {
	case c == '{':
		return s.nested(func() error { return s.object(s.pick(schema, huma.TypeObject)) })
	case c == '[':
		return s.nested(func() error { return s.array(s.pick(schema, huma.TypeArray)) })
	case c == '"':
		return s.text(s.pick(schema, huma.TypeString))
	case c == '-' || c >= '0' && c <= '9':
		return s.number(s.pick(schema, huma.TypeNumber))
	case c == 't':
		s.pick(schema, huma.TypeBoolean)
		return s.word("true")
	case c == 'f':
		s.pick(schema, huma.TypeBoolean)
		return s.word("false")
	case c == 'n':
		s.pick(schema, "null")
		return s.word("null")
	case s.pos >= len(s.raw):
		return s.bad("the JSON ends too early")
	}
	return s.bad("no JSON value begins like this")
}

func (s *scan) word(w string) error {
	if !bytes.HasPrefix(s.raw[s.pos:], []byte(w)) {
		return s.bad("no JSON value begins like this")
	}
	s.pos += len(w)
	return nil
}

func (s *scan) nested(read func() error) error {
	if s.depth++; s.depth > maxDepth {
		return s.bad("it nests deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	defer func() { s.depth-- }()
	return read()
}

// pick is the schema for a value of that kind, nil where anything goes, also after a fault was noted.
func (s *scan) pick(schema *huma.Schema, kind string) *huma.Schema {
	schema = resolve(s.schemas, schema)
	if isFree(schema) {
		return nil
	}
	for _, alt := range alternatives(schema) {
		alt = resolve(s.schemas, alt)
		switch {
		case kind == "null" && alt.Nullable:
			return nil
		case alt.Type == kind, kind == huma.TypeNumber && alt.Type == huma.TypeInteger:
			return alt
		}
	}
	s.fault("bad-field", wants(schema)+", not "+called(kind))
	return nil
}

func (s *scan) object(schema *huma.Schema) error {
	s.pos++ // the brace
	base := len(s.keys)
	defer func() { s.keys = s.keys[:base] }()
	var many map[string]bool
	for first := true; ; first = false {
		s.space()
		if s.peek() == '}' && first {
			s.pos++
			break
		}
		if s.peek() != '"' {
			return s.bad("a key belongs here")
		}
		raw, escaped, err := s.str()
		if err != nil {
			return err
		}
		key := raw
		if escaped {
			key = []byte(decode(raw))
		}
		if s.space(); s.peek() != ':' {
			return s.bad("a colon belongs here")
		}
		s.pos++
		s.space()
		if many, err = s.doubled(key, base, many); err != nil {
			return err
		}
		if err := s.member(schema, string(key)); err != nil {
			return err
		}
		if done, err := s.next('}'); done || err != nil {
			if err != nil {
				return err
			}
			break
		}
	}
	s.missing(schema, s.keys[base:])
	return nil
}

// doubled notes a key that the object holds already. Past a few keys a map takes over, so that a hostile body costs
// no more than its length.
func (s *scan) doubled(key []byte, base int, many map[string]bool) (map[string]bool, error) {
	const few = 32
	seen := false
	if many != nil {
		seen = many[string(key)]
	} else {
		seen = slices.ContainsFunc(s.keys[base:], func(k []byte) bool { return bytes.Equal(k, key) })
	}
	if seen {
		s.faultAt("bad-field", printable(string(key)), "appears twice in the same object")
		return many, nil
	}
	s.keys = append(s.keys, key)
	switch {
	case many != nil:
		many[string(key)] = true
	case len(s.keys)-base > few:
		many = make(map[string]bool, 4*few)
		for _, k := range s.keys[base:] {
			many[string(k)] = true
		}
	}
	return many, nil
}

// member reads the value of a key.
func (s *scan) member(schema *huma.Schema, key string) error {
	s.path = append(s.path, step{key: printable(key), index: -1})
	defer func() { s.path = s.path[:len(s.path)-1] }()
	if strings.ContainsFunc(key, unicode.IsControl) {
		s.fault("bad-field", "a key holds no control characters")
		return s.value(nil)
	}
	if schema == nil {
		return s.value(nil)
	}
	if sub, ok := schema.Properties[key]; ok {
		return s.value(sub)
	}
	switch rest := schema.AdditionalProperties.(type) {
	case *huma.Schema:
		return s.value(rest)
	case bool:
		if rest {
			return s.value(nil)
		}
	}
	s.fault("unknown-field", unknown(key, schema))
	return s.value(nil)
}

func unknown(key string, schema *huma.Schema) string {
	for name := range schema.Properties {
		if strings.EqualFold(name, key) {
			return "there is no such field; names are compared letter by letter, and this one is " + name
		}
	}
	return "there is no such field"
}

func (s *scan) missing(schema *huma.Schema, keys [][]byte) {
	if schema == nil {
		return
	}
	for _, name := range schema.Required {
		if !slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == name }) {
			s.faultAt("bad-field", name, "is required")
		}
	}
	if m := schema.MaxProperties; m != nil && len(keys) > *m {
		s.fault("too-long", fmt.Sprintf("takes at most %d keys", *m))
	}
}

// next reads what follows an element: the end, or a comma.
func (s *scan) next(end byte) (done bool, err error) {
	s.space()
	switch s.peek() {
	case end:
		s.pos++
		return true, nil
	case ',':
		s.pos++
		return false, nil
	}
	return false, s.bad("a comma or the end belongs here")
}

func (s *scan) array(schema *huma.Schema) error {
	s.pos++ // the bracket
	n := 0
	if s.space(); s.peek() == ']' {
		s.pos++
	} else {
		var items *huma.Schema
		if schema != nil {
			items = schema.Items
		}
		for done := false; !done; n++ {
			s.space()
			s.path = append(s.path, step{index: n})
			err := s.value(items)
			s.path = s.path[:len(s.path)-1]
			if err != nil {
				return err
			}
			if done, err = s.next(']'); err != nil {
				return err
			}
		}
	}
	if schema == nil {
		return nil
	}
	if m := schema.MinItems; m != nil && n < *m {
		s.fault("bad-field", fmt.Sprintf("takes at least %d", *m))
	}
	if m := schema.MaxItems; m != nil && n > *m {
		s.fault("too-long", fmt.Sprintf("takes at most %d", *m))
	}
	return nil
}

func (s *scan) text(schema *huma.Schema) error {
	raw, escaped, err := s.str()
	if err != nil || schema == nil {
		return err
	}
	if escaped {
		raw = []byte(decode(raw))
	}
	if slug, message := checkText(schema, raw); slug != "" {
		s.fault(slug, message)
	}
	return nil
}

// decode reads the inside of a JSON string that str has checked.
func decode(raw []byte) string {
	var text string
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	_ = json.Unmarshal(quoted, &text)
	return text
}

// printable is a key as it may stand in a path: of bearable length, and without control characters.
func printable(key string) string {
	const bearable = 200
	if len(key) > bearable {
		key = strings.ToValidUTF8(key[:bearable], "") + "…"
	}
	if key == "" {
		return `""`
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		quoted := strconv.QuoteToGraphic(key)
		return quoted[1 : len(quoted)-1]
	}
	return key
}
