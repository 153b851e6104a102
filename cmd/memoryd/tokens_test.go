package main

import (
	"strings"
	"testing"
)

func TestTokensAreThoseOfTheEncoding(t *testing.T) {
	for name, encoding := range map[string]string{"cl100k": "cl100k_base", "o200k": "o200k_base"} {
		count, err := counter(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "hello", "The quick brown fox; don't.\n\n  indented\n", "那次旅行我们去了海边", "🧡 emoji 👨‍👩‍👧", "\n\n\n\n\tx", strings.Repeat("word ", 500)} {
			if got, want := count(text), otherCount(t, encoding, text); got != want {
				t.Errorf("%s: %q takes %d tokens, another tokenizer says %d", name, text, got, want)
			}
		}
	}
}

func TestLongSpaceIsCutForCounting(t *testing.T) {
	count, err := counter("cl100k")
	if err != nil {
		t.Fatal(err)
	}
	text := "a" + strings.Repeat(" \n", 5000) + "b"
	if n := spaceCut(text); n > 1+maxSpace {
		t.Errorf("a run of %d bytes is counted in one piece", n-1)
	}
	// Where lines hold nothing but spaces the count may be too high (docs/adr/001-token-counting.md), never too low.
	for _, text := range []string{text[:1+2*maxSpace], " \n \n", "a\n  \n\tb", "\r\n \r\n"} {
		if got, want := count(text), otherTokenizer(t, text); got < want {
			t.Errorf("%q: %d tokens, another tokenizer says %d", text, got, want)
		}
	}
}

// BenchmarkCount is on texts of 64 KiB that could cost a tokenizer more than others.
func BenchmarkCount(b *testing.B) {
	count, err := counter("cl100k")
	if err != nil {
		b.Fatal(err)
	}
	for name, unit := range map[string]string{"space-newline": " \n", "letters": "a", "han": "很", "marks": "!", "newlines": "\n"} {
		text := strings.Repeat(unit, 65536/len(unit))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				count(text)
			}
		})
	}
}
