package remember

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"memoryd"
)

func FuzzContent(f *testing.F) {
	for _, s := range []string{`"x"`, `[{"type":"text","text":"a"}]`, `null`, ``, `[{"type":"x"}]`, `[[]]`, `"\ud800"`, ` [ ] `, `{"type":1}`} {
		f.Add([]byte(s), []byte(`[{"id":"c"}]`))
	}
	f.Fuzz(func(t *testing.T, raw, calls []byte) {
		list, err := checkCalls("tool_calls", calls)
		if err == nil && list != nil && !json.Valid(list) {
			t.Errorf("calls %q became %q", calls, list)
		}
		c, err := readContent("content", raw, list != nil)
		if err != nil {
			if memoryd.CodeOf(err) != memoryd.Invalid {
				t.Error(err)
			}
			return
		}
		if !json.Valid(c.raw) || !utf8.ValidString(c.text) {
			t.Errorf("%q became %q, %q", raw, c.raw, c.text)
		}
		if again, err := readContent("content", c.raw, list != nil); err != nil || again.text != c.text || again.notes != nil {
			t.Errorf("%q read twice: %+v, %v", raw, again, err)
		}
	})
}
