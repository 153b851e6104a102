package memoryd_test

import (
	"strings"
	"testing"

	"memoryd"
)

func TestStripFence(t *testing.T) {
	const (
		one   = memoryd.FenceHeading + "<memory 0123456789abcdef>\nWhat is known:\n- [high] tea\n</memory 0123456789abcdef>\n"
		two   = "<memory fedcba9876543210>\n- [low] </memory 0123456789abcdef>\n</memory fedcba9876543210>"
		upper = "<memory 0123456789ABCDEF>\nx\n</memory 0123456789ABCDEF>\n"
	)
	for name, c := range map[string]struct{ in, want string }{
		"no block":             {"a <memory of mine> b", "a <memory of mine> b"},
		"only a block":         {one, ""},
		"text around":          {"before\n" + one + "after", "before\nafter"},
		"two blocks":           {"a" + one + "b" + two + "c", "abc"},
		"not closed":           {"a\n<memory 0123456789abcdef>\nb", "a\n<memory 0123456789abcdef>\nb"},
		"closed by another id": {"<memory 0123456789abcdef>\nb</memory 0123456789abcde0>", "<memory 0123456789abcdef>\nb</memory 0123456789abcde0>"},
		"one open, one whole":  {"<memory 0000000000000000>\n" + one + "x", "<memory 0000000000000000>\nx"},
		"short id":             {"<memory 0123>\nb</memory 0123>", "<memory 0123>\nb</memory 0123>"},
		"not our digits":       {upper, upper},
		"cut at the end":       {"<memory 0123456789abcde", "<memory 0123456789abcde"},
		"heading alone":        {memoryd.FenceHeading + "x", memoryd.FenceHeading + "x"},
	} {
		if got := memoryd.StripFence(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzStripFence(f *testing.F) {
	f.Add("a<memory 0123456789abcdef>b</memory 0123456789abcdef>c")
	f.Add(strings.Repeat("<memory 0123456789abcdef>", 20))
	f.Fuzz(func(t *testing.T, in string) {
		out := memoryd.StripFence(in)
		if len(out) > len(in) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func BenchmarkStripFence(b *testing.B) {
	for name, text := range map[string]string{
		"open":   strings.Repeat("<memory 0123456789abcdef>", 2600),
		"closed": strings.Repeat("<memory 0123456789abcdef>x</memory 0123456789abcdef>", 1200),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				memoryd.StripFence(text)
			}
		})
	}
}
