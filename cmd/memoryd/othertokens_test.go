package main

import (
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// otherTokenizer counts cl100k tokens with a library that the program does not use.
func otherTokenizer(t testing.TB, text string) int { return otherCount(t, "cl100k_base", text) }

func otherCount(t testing.TB, encoding, text string) int {
	t.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	enc, err := tiktoken.GetEncoding(encoding)
	if err != nil {
		t.Fatal(err)
	}
	return len(enc.EncodeOrdinary(text))
}
