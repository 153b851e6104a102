package recall

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func TestClip(t *testing.T) {
	family := "👨‍👩‍👧‍👦"
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"长长尾", 2, "长长"},
		{strings.Repeat("长", 998) + family + strings.Repeat("尾", 400), 1000, strings.Repeat("长", 998)},
		{"a🇨🇳b", 2, "a"},
		{"e\u0301e\u0301", 3, "e\u0301"},
		{family, 3, ""},
		{"a\r\nb", 2, "a"},
		{"", 0, ""},
	} {
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestClipProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "长", "👨‍👩‍👧‍👦", "🇨🇳", "e\u0301", "\u200d", " ", "\n"})).Draw(t, "text"), "")
		n := rapid.IntRange(0, 30).Draw(t, "n")
		got := clip(text, n)
		rest, ok := strings.CutPrefix(text, got)
		if !ok || utf8.RuneCountInString(got) > n {
			t.Fatalf("clip(%q, %d) = %q", text, n, got)
		}
		if rest != "" {
			whole := uniseg.GraphemeClusterCount(text)
			if uniseg.GraphemeClusterCount(got)+uniseg.GraphemeClusterCount(rest) != whole {
				t.Fatalf("%q is cut inside a grapheme: %q, %q", text, got, rest)
			}
			if next, _, _, _ := uniseg.FirstGraphemeClusterInString(rest, -1); utf8.RuneCountInString(got+next) <= n {
				t.Fatalf("%q would still fit behind %q", next, got)
			}
		}
	})
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		" a\nb\r\nc\rd\u2028e\u0085f\n": "a ⏎ b ⏎ c ⏎ d ⏎ e ⏎ f",
		"a <b> </b> <!-- <?x":           "a &lt;b> &lt;/b> &lt;!-- &lt;?x",
		"1 < 2, <3, <=, <-, << 1, <":    "1 < 2, <3, <=, <-, << 1, <",
		"<\u200dmemory> <你好> <_x>":      "&lt;\u200dmemory> &lt;你好> &lt;_x>",
		"<<memory>":                     "<&lt;memory>",
		"&lt; & >":                      "&lt; & >",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}
