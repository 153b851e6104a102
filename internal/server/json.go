package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// encode writes JSON without escaping <, > and &, which stand in many texts.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Object is any JSON object, kept as it was written: its numbers keep their digits.
type Object json.RawMessage

// Schema takes any keys.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// MarshalJSON writes an absent object as an empty one.
func (o Object) MarshalJSON() ([]byte, error) { return orElse(o, "{}"), nil }

// UnmarshalJSON keeps the bytes.
func (o *Object) UnmarshalJSON(b []byte) error { *o = bytes.Clone(b); return nil }

// Content is a message's content: a string, a list of parts, or null.
type Content json.RawMessage

// Schema is the three of them.
func (Content) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, Nullable: true},
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}},
	}}
}

// MarshalJSON writes absent content as null.
func (c Content) MarshalJSON() ([]byte, error) { return orElse(c, "null"), nil }

// UnmarshalJSON keeps the bytes.
func (c *Content) UnmarshalJSON(b []byte) error { *c = bytes.Clone(b); return nil }

// Calls is a list of objects, kept as it was written.
type Calls json.RawMessage

// Schema takes objects of any kind.
func (Calls) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}
}

// MarshalJSON writes an absent list as an empty one.
func (c Calls) MarshalJSON() ([]byte, error) { return orElse(c, "[]"), nil }

// UnmarshalJSON keeps the bytes.
func (c *Calls) UnmarshalJSON(b []byte) error { *c = bytes.Clone(b); return nil }

func orElse(raw []byte, absent string) []byte {
	if len(raw) == 0 {
		return []byte(absent)
	}
	return raw
}

// Time is a time that a client gives, RFC 3339 with its offset. Absent, null and given are told apart.
type Time struct {
	time.Time
	Set  bool
	Null bool
}

// Schema is a time; a field that takes null says so by its nullable tag.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// UnmarshalJSON reads a time or null.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		t.Null = true
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	return t.UnmarshalText([]byte(text))
}

// UnmarshalText reads a parameter.
func (t *Time) UnmarshalText(b []byte) error {
	var err error
	t.Time, err = parseTime(string(b))
	t.Set = err == nil
	return err
}

// MarshalJSON is for requests only; nothing that is answered holds a Time.
func (t Time) MarshalJSON() ([]byte, error) { return nil, errors.ErrUnsupported }

// ptr is the time, nil when it is absent.
func (t Time) ptr() *time.Time {
	if !t.Set {
		return nil
	}
	return &t.Time
}
