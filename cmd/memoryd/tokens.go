package main

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// counter counts tokens the way the named encoding does.
func counter(name string) (func(string) int, error) {
	encoding := tokenizer.Cl100kBase
	if name == "o200k" {
		encoding = tokenizer.O200kBase
	}
	codec, err := tokenizer.Get(encoding)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return func(text string) int {
		sum := 0
		for text != "" {
			part := text[:spaceCut(text)]
			text = text[len(part):]
			n, err := codec.Count(part)
			if err != nil {
				// The splitting expression gave up. An estimate that is too high cannot overflow anybody's window.
				n = len(part)
			}
			sum += n
		}
		return sum
	}, nil
}

// maxSpace is the longest run of white space, in bytes, that is counted in one piece. The encodings' splitting
// expression takes a time that grows with the square of such a run (64 KiB of it took four seconds), and texts are
// anybody's. A cut can add a token to the count.
const maxSpace = 256

// spaceCut is where the text must be cut so that no longer run comes before it; its length when there is none.
func spaceCut(text string) int {
	run := 0
	for i, r := range text {
		switch {
		case !unicode.IsSpace(r):
			run = 0
		case run >= maxSpace:
			return i
		default:
			run += utf8.RuneLen(r)
		}
	}
	return len(text)
}
