package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

type scanned struct {
	Text   string            `json:"text" minLength:"1" maxLength:"5"`
	Count  int               `json:"count,omitempty" minimum:"1" maximum:"9"`
	Share  float64           `json:"share,omitempty" minimum:"0" maximum:"1"`
	On     bool              `json:"on,omitempty"`
	Kind   string            `json:"kind,omitempty" enum:"a,b"`
	When   Time              `json:"when,omitzero" nullable:"true"`
	Since  Time              `json:"since,omitzero"`
	Labels map[string]string `json:"labels,omitempty" maxProperties:"3"`
	Free   Object            `json:"free,omitempty"`
	Said   Content           `json:"said,omitempty"`
	Items  []scannedItem     `json:"items,omitempty" minItems:"1" maxItems:"2"`
}

type scannedItem struct {
	Name string `json:"name"`
}

func scanSchema() (huma.Registry, *huma.Schema) {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	return r, r.Schema(reflect.TypeFor[scanned](), true, "")
}

func TestScanNamesFields(t *testing.T) {
	registry, schema := scanSchema()
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ body, slug, path string }{
		{`{"text":"t"}`, "", ""},
		{` {"text":"\ud83d\ude00ab","count":9,"share":0.5,"on":true,"kind":"a","when":null,"since":"2026-09-04T10:00:00+09:00"} ` + "\n", "", ""},
		{`{"text":"t","labels":{"a":"b","A":"c"},"free":{"x":{"a":1,"A":2},"n":null},"said":null,"items":[{"name":"n"}]}`, "", ""},
		{`{"text":"t","said":"words"}`, "", ""},
		{`{"text":"t","said":[{"type":"text","text":null}]}`, "", ""},
		{`{}`, "bad-field", "text"},
		{`[]`, "bad-field", "body"},
		{`"text"`, "bad-field", "body"},
		{`null`, "bad-field", "body"},
		{`{"text":""}`, "bad-field", "text"},
		{`{"text":"123456"}`, "too-long", "text"},
		{`{"text":"12345\u0036"}`, "too-long", "text"},
		{`{"text":"五个汉字呀"}`, "", ""},
		{`{"text":1}`, "bad-field", "text"},
		{`{"text":null}`, "bad-field", "text"},
		{`{"text":"t","text":"u"}`, "bad-field", "text"},
		{`{"text":"t","t\u0065xt":"u"}`, "bad-field", "text"},
		{`{"text":"t","Text":"u"}`, "unknown-field", "Text"},
		{`{"Text":"t"}`, "unknown-field", "Text"},
		{`{"text":"t","user_id":1}`, "unknown-field", "user_id"},
		{`{"text":"t","":1}`, "unknown-field", `""`},
		{`{"text":"t","` + long + `":1}`, "unknown-field", long[:200] + "…"},
		{`{"text":"t","count":0}`, "bad-field", "count"},
		{`{"text":"t","count":10}`, "bad-field", "count"},
		{`{"text":"t","count":1.0}`, "bad-field", "count"},
		{`{"text":"t","count":1e0}`, "bad-field", "count"},
		{`{"text":"t","count":99999999999999999999}`, "bad-field", "count"},
		{`{"text":"t","count":"3"}`, "bad-field", "count"},
		{`{"text":"t","count":null}`, "bad-field", "count"},
		{`{"text":"t","share":1e999}`, "bad-field", "share"},
		{`{"text":"t","share":-0.1}`, "bad-field", "share"},
		{`{"text":"t","on":"true"}`, "bad-field", "on"},
		{`{"text":"t","on":0}`, "bad-field", "on"},
		{`{"text":"t","kind":"A"}`, "bad-field", "kind"},
		{`{"text":"t","when":"2026-09-04"}`, "bad-field", "when"},
		{`{"text":"t","when":"2026-09-04T10:00:00"}`, "bad-field", "when"},
		{`{"text":"t","when":"2026-09-04T1:00:00Z"}`, "bad-field", "when"},
		{`{"text":"t","when":"2026-09-04T10:00:00,5Z"}`, "bad-field", "when"},
		{`{"text":"t","when":"9999-12-31T23:59:59-01:00"}`, "bad-field", "when"},
		{`{"text":"t","when":1788447600}`, "bad-field", "when"},
		{`{"text":"t","since":null}`, "bad-field", "since"},
		{`{"text":"t","labels":{"a":1}}`, "bad-field", "labels.a"},
		{`{"text":"t","labels":{"a":"1","a":"2"}}`, "bad-field", "labels.a"},
		{`{"text":"t","labels":{"a":"","b":"","c":"","d":""}}`, "too-long", "labels"},
		{`{"text":"t","labels":{"a\u0000b":"1"}}`, "bad-field", `labels.a\x00b`},
		{`{"text":"t","labels":{"a\ud800":"1"}}`, "bad-field", `labels.a\x01`},
		{`{"text":"t","free":{"x":[{"k":1,"k":2}]}}`, "bad-field", "free.x[0].k"},
		{`{"text":"t","free":[]}`, "bad-field", "free"},
		{`{"text":"t","free":null}`, "bad-field", "free"},
		{`{"text":"t","said":3}`, "bad-field", "said"},
		{`{"text":"t","said":["x"]}`, "bad-field", "said[0]"},
		{`{"text":"t","items":[]}`, "bad-field", "items"},
		{`{"text":"t","items":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, "too-long", "items"},
		{`{"text":"t","items":[{"name":"a"},{}]}`, "bad-field", "items[1].name"},
		{`{"text":"t","items":[{"name":"a"},{"name":1}]}`, "bad-field", "items[1].name"},
		{`{"text":"t","items":[{"Name":"a","name":"a"}]}`, "unknown-field", "items[0].Name"},
	} {
		err := checkJSON(registry, schema, []byte(c.body))
		if c.slug == "" {
			if err != nil {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		var e *memoryd.Error
		if !errors.As(err, &e) || e.Slug != c.slug || len(e.Fields) == 0 || e.Fields[0].Path != c.path {
			t.Errorf("%s: got %v, want %s naming %s", c.body, err, c.slug, c.path)
		}
	}
}

func TestScanRefusesWhatIsNotJSON(t *testing.T) {
	for _, body := range []string{
		"", " \n", "{", "}", "{\"a\":1", "{\"a\":1,}", "{\"a\":1, }", "{,}", "{\"a\" 1}", "{a:1}", "{'a':1}", "[1,]", "[1 2]", "[", "tru", "True", "nul", "NaN", "Infinity",
		"01", "1.", ".5", "+1", "-", "1e", "1e+", "0x1", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "\"a\x00b\"", "{} {}", "{}x", "{}\x00", "\ufeff{}",
		"// c\n{}", "{\"a\":1}/**/", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat(`{"a":`, 100000),
	} {
		err := checkJSON(nil, nil, []byte(body))
		var e *memoryd.Error
		if !errors.As(err, &e) || e.Slug != "bad-json" {
			t.Errorf("%.40q: got %v, want bad-json", body, err)
		}
	}
	if err := checkJSON(nil, nil, []byte(strings.Repeat("[", 64)+strings.Repeat("]", 64))); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

func TestScanOverwritesLoneSurrogates(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`"a\ud800b"`, "a\x01b"},
		{`"a\uDC00b"`, "a\x01b"},
		{`"\ud83d\ude00"`, "😀"},
		{`"\ud83d\ud83d\ude00"`, "\x01😀"},
		{`"\ud83dx\ude00"`, "\x01x\x01"},
		{`"\ud83d\n\ude00"`, "\x01\n\x01"},
		{`"\\ud800"`, `\ud800`},
	} {
		raw := []byte(c.in)
		if err := checkJSON(nil, nil, raw); err != nil {
			t.Fatalf("%s: %v", c.in, err)
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil || text != c.out {
			t.Errorf("%s: %q, %v; want %q", c.in, text, err, c.out)
		}
	}
}

// A hostile object of many keys must not cost the square of them.
func TestScanManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 200_000 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"`)
		for n := i + 1; n > 0; n /= 26 {
			b.WriteByte(byte('a' + n%26))
		}
		b.WriteString(`-":0`)
	}
	b.WriteString(`,"b-":1}`)
	err := checkJSON(nil, nil, []byte(b.String()))
	var e *memoryd.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Path != "b-" {
		t.Fatalf("got %v, want the doubled key b-", err)
	}
}

// What the scan lets through, encoding/json must read; what it refuses as not JSON, encoding/json must refuse too, or
// it is one of the few things that we are stricter about.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"text":"t","free":{"a":[1,2.5e3,null,true]}}`, `{"a":1,"a":2}`, `"\ud800\udc00\ud800"`, "[[[]]]", `{"":{"":0}}`, "-0.0e-1", "1E600", "\"\xff\""} {
		f.Add([]byte(seed))
	}
	registry, schema := scanSchema()
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := append([]byte(nil), body...)
		err := checkJSON(nil, nil, raw)
		var e *memoryd.Error
		switch {
		case err == nil && !json.Valid(raw):
			t.Fatalf("let through %q", raw)
		case err == nil:
			// Numbers keep their digits: those past a float64 pass where any JSON does.
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.UseNumber()
			var text any
			if err := dec.Decode(&text); err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			if shown, err := json.Marshal(text); err != nil || !utf8.Valid(shown) || strings.Contains(string(shown), "\uFFFD") != strings.Contains(string(raw), "\uFFFD") && !strings.Contains(strings.ToLower(string(raw)), `\ufffd`) {
				t.Fatalf("%q became %q, %v", raw, shown, err)
			}
		case !errors.As(err, &e):
			t.Fatalf("%q: %v", raw, err)
		case e.Slug == "bad-json" && json.Valid(body) && utf8.Valid(body) && !strings.Contains(e.Detail, "nests"):
			t.Fatalf("refused %q: %v", body, err)
		}
		typed := append([]byte(nil), body...)
		if checkJSON(registry, schema, typed) == nil {
			var v scanned
			if err := json.Unmarshal(typed, &v); err != nil {
				t.Fatalf("%q passed the schema, but: %v", typed, err)
			}
		}
	})
}
