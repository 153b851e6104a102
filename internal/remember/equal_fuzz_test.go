package remember

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzEqualJSON: documents are equal however they are spaced, to themselves, and either way round; numbers that are
// written otherwise, and anything that says more, are not.
func FuzzEqualJSON(f *testing.F) {
	for _, s := range [][2]string{{`{"a":1,"b":[true]}`, `{ "b" : [true], "a":1}`}, {`1`, `1.0`}, {`"\u00e9"`, `"é"`}, {``, `null`}, {`[]`, `{}`}, {`12345678901234567890`, `12345678901234567891`}, {`"\ud800"`, `"\ufffd"`}, {`{`, `{`}, {`{"a":1,"a":2}`, `{"a":2}`}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if equalJSON(a, b) != equalJSON(b, a) || !equalJSON(a, bytes.Clone(a)) {
			t.Fatalf("%q and %q: %v and %v", a, b, equalJSON(a, b), equalJSON(b, a))
		}
		if null(a) || !json.Valid(a) {
			return
		}
		var wide, narrow bytes.Buffer
		if json.Indent(&wide, a, " ", "  ") != nil || json.Compact(&narrow, a) != nil || !equalJSON(wide.Bytes(), narrow.Bytes()) {
			t.Fatalf("%q is not what it is with other spaces", a)
		}
		if equalJSON(a, []byte("["+string(a)+"]")) || equalJSON(a, nil) != (narrow.String() == "null") {
			t.Fatalf("%q is equal to what it is not", a)
		}
		// Equal documents say the same when both are read into what a model gets.
		if json.Valid(b) && equalJSON(a, b) {
			x, _ := decode(a)
			y, _ := decode(b)
			one, errOne := json.Marshal(x)
			two, errTwo := json.Marshal(y)
			if errOne != nil || errTwo != nil || !bytes.Equal(one, two) {
				t.Fatalf("%q and %q: %s and %s", a, b, one, two)
			}
		}
	})
}
