package recall

import (
	"encoding/base64"
	"testing"
	"unicode/utf8"

	"memoryd"
)

// FuzzReadCursor: a cursor is read back as it was written, and is good for its own list only.
func FuzzReadCursor(f *testing.F) {
	list := listOf("users", "default")
	raw := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	f.Add("", "default", "m1", int64(0))
	f.Add(cursor{List: list, Value: 7, ID: "m1"}.String(), "default", "<\u2028>", int64(-1))
	f.Add(cursor{List: list}.String()+"=", "default", "\"", int64(1)<<62)
	f.Add(raw(`{"l":"`+list+`","v":1e3}`), "default", "", int64(1))
	f.Add(raw(`{"L":"`+list+`","v":1,"i":null,"x":[]}`), "default", "", int64(1))
	f.Add(raw(`null`), "", "", int64(1))
	f.Add("%", "a\"b", "\xff", int64(9))
	f.Fuzz(func(t *testing.T, text, tenant, id string, value int64) {
		list, other := listOf("users", tenant), listOf("users", tenant, "")
		if list == other || list == listOf("messages", tenant) || list == listOf("users", tenant+"x") {
			t.Fatalf("two lists are called %q", list)
		}
		c, err := readCursor(text, list)
		switch e, _ := err.(*memoryd.Error); {
		case err != nil && (c != nil || e == nil || e.Code != memoryd.Invalid || len(e.Fields) != 1 || e.Fields[0].Path != "cursor"):
			t.Fatalf("%q: %+v, %v", text, c, err)
		case err == nil && (c == nil) != (text == ""):
			t.Fatalf("%q: %+v", text, c)
		case c != nil && (c.List != list || !utf8.ValidString(c.ID)):
			t.Fatalf("%q: %+v is of another list", text, c)
		}
		if memoryd.CheckID("id", id) != nil {
			return // no row has such an id
		}
		want := cursor{List: list, Value: value, ID: id}
		if got, err := readCursor(want.String(), list); err != nil || *got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
		if _, err := readCursor(want.String(), other); err == nil {
			t.Fatalf("%+v is taken for another list", want)
		}
	})
}
