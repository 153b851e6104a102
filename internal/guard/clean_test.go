package guard

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	england = "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"
	persian = "می\u200cخواهم"
	family  = "\U0001F468\u200d\U0001F469\u200d\U0001F467"
)

func TestClean(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                {"plain text, 中文, naïve", "plain text, 中文, naïve"},
		"newline and tab stay": {"a\n\tb", "a\n\tb"},
		"carriage return":      {"a\r\nb", "a\nb"},
		"NUL":                  {"a\x00b", "ab"},
		"escape sequence":      {"a\x1b[31mb", "a[31mb"},
		"DEL and C1":           {"a\u007f\u0085\u009fb\u00a0c", "ab\u00a0c"},
		"bidi override":        {"user\u202Etxt.exe\u202C", "usertxt.exe"},
		"bidi isolates":        {"\u2066a\u2067b\u2068c\u2069", "abc"},
		"zero width space":     {"a\u200Bb\u2060c\uFEFFd", "abcd"},
		"joiners stay":         {persian + family, persian + family},
		"direction marks stay": {"א\u200F(a)\u200E\u061C", "א\u200F(a)\u200E\u061C"},
		"flag stays":           {"go " + england + "!", "go " + england + "!"},
		"tags alone":           {"a\U000E0061\U000E0062\U000E007Fb", "ab"},
		"flag without its end": {"\U0001F3F4\U000E0067\U000E0062\U000E0065x", "\U0001F3F4x"},
		"flag that hides text": {"\U0001F3F4" + strings.Repeat("\U000E0061", 8) + "\U000E007F", "\U0001F3F4"},
		"flag of nothing":      {"\U0001F3F4\U000E007F", "\U0001F3F4"},
		"flag with capitals":   {"\U0001F3F4\U000E0041\U000E0042\U000E0043\U000E007F", "\U0001F3F4"},
		"flag split by space":  {"\U0001F3F4\u200B\U000E0067\U000E0062\U000E0065\U000E007F", "\U0001F3F4"},
		"tags behind a flag":   {england + "\U000E0061", england},
		"black flag alone":     {"\U0001F3F4 ahoy", "\U0001F3F4 ahoy"},
		"written U+FFFD stays": {"a\uFFFDb", "a\uFFFDb"},
		"broken UTF-8":         {"a\xffb\uFFFD", "ab\uFFFD"},
		"nothing is left":      {"\u200B\x01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, notes := Cleaner{}.Check(c.in)
			if got != c.want {
				t.Errorf("Check(%q) = %q, want %q", c.in, got, c.want)
			}
			if cleaned := len(notes) == 1 && notes[0] == Cleaned; cleaned != (c.in != c.want) || len(notes) > 1 {
				t.Errorf("Check(%q) notes %q", c.in, notes)
			}
		})
	}
}

func TestCleanAllocatesNothingForCleanText(t *testing.T) {
	text := strings.Repeat("a line of 中文 and "+persian+"\n", 100)
	if n := testing.AllocsPerRun(10, func() { Cleaner{}.Check(text) }); n > 0 {
		t.Errorf("%v allocations for a text that needs nothing", n)
	}
}

// seen are the characters that no cleaned text holds outside a flag, listed apart from the code under test.
func seen(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || strings.ContainsRune("\u200B\u2060\uFEFF\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069", r)
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x00b", england, england + "\U000E0061", "\U0001F3F4\U0001F3F4\U000E0067", "\xf0\x9f", persian, "a\r\nb", "\u202E"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, notes := Cleaner{}.Check(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, seen) {
			t.Errorf("%q left %q", in, out)
		}
		if again, more := (Cleaner{}).Check(out); again != out || more != nil {
			t.Errorf("%q cleaned twice: %q, then %q", in, out, again)
		}
		if (len(notes) > 0) != (out != in) {
			t.Errorf("%q became %q with notes %q", in, out, notes)
		}
	})
}
