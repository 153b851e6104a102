package guard

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"memoryd"
)

func TestCleanJSON(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		size     int
	}{
		"nothing to do":           {`{"n": 1.50e+10 ,"b":[true,null, "x\/y"]}`, `{"n": 1.50e+10 ,"b":[true,null, "x\/y"]}`, 0},
		"digits and order":        {`{"z":12345678901234567890.10,"a":"a\u0000b","k":-0.0}`, `{"z":12345678901234567890.10,"a":"ab","k":-0.0}`, 0},
		"nested values":           {`[{"a":{"b":["\u202ex"]}}, 7 ]`, `[{"a":{"b":["x"]}}, 7 ]`, 0},
		"a bare string":           {`"a\u200bb"`, `"ab"`, 4},
		"lone high half":          {`{"a":"x\ud800y"}`, `{"a":"xy"}`, 0},
		"lone low half":           {`"\udc00"`, `""`, 2},
		"high half twice":         {`"\ud83d\ud83d\ude00"`, `"😀"`, 6},
		"a pair stays as written": {`"\ud83d\ude00"`, `"\ud83d\ude00"`, 6},
		"escapes stay":            {`"\u4e2d\"\\\n\t"`, `"\u4e2d\"\\\n\t"`, 9},
		"markup is not escaped":   {`"<a>&\u0007"`, `"<a>&"`, 6},
		"two in one":              {`["\u0001a","b","\u0002c"]`, `["a","b","c"]`, 0},
		"written U+FFFD":          {`"\ufffd"`, `"\ufffd"`, 5},
		"null":                    {`null`, `null`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CleanJSON("metadata", json.RawMessage(c.in))
			if err != nil || string(got.Raw) != c.want {
				t.Fatalf("CleanJSON(%s) = %s, %v; want %s", c.in, got.Raw, err, c.want)
			}
			if (len(got.Notes) == 1) != (c.in != c.want) {
				t.Errorf("notes %q", got.Notes)
			}
			if c.size > 0 && got.Size != c.size {
				t.Errorf("size %d, want %d", got.Size, c.size)
			}
		})
	}
}

func TestCleanJSONRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"control in a key":        `{"a\u0000":1}`,
		"newline in a nested key": `{"a":[{"b\n" : 2}]}`,
		"lone half in a key":      `{"a\ud800":1}`,
		"no JSON":                 `{"a":}`,
		"nothing":                 ``,
		"broken UTF-8":            "\"\xff\"",
	} {
		_, err := CleanJSON("items[3].metadata", json.RawMessage(in))
		if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), "items[3].metadata") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCleanJSON(f *testing.F) {
	for _, s := range []string{`{"a":"b\u0000"}`, `"\ud83d\ude00\ud800"`, `[1.0,"\\\"",{"k":null}]`, `"a\u200bb"`, `"\"`, ` { "x" : "\r" } `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := CleanJSON("p", in)
		if err != nil {
			return
		}
		if !json.Valid(out.Raw) || !utf8.Valid(out.Raw) {
			t.Fatalf("%q became %q", in, out.Raw)
		}
		if out.Notes == nil && !bytes.Equal(in, out.Raw) {
			t.Errorf("%q changed to %q and nothing was said", in, out.Raw)
		}
		again, err := CleanJSON("p", out.Raw)
		if err != nil || again.Notes != nil {
			t.Errorf("%q cleaned twice: %q, %v", in, again.Raw, err)
		}
		if again.Size != out.Size {
			t.Errorf("size of %q: %d, then %d", in, out.Size, again.Size)
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(out.Raw))
		d.UseNumber() // 1e999 is JSON, and no float64
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		check(t, v)
	})
}

func check(t *testing.T, v any) {
	switch v := v.(type) {
	case string:
		if strings.ContainsFunc(v, seen) {
			t.Errorf("left %q", v)
		}
	case []any:
		for _, x := range v {
			check(t, x)
		}
	case map[string]any:
		for _, x := range v {
			check(t, x)
		}
	}
}
