package recall

import (
	"math"
	"slices"
	"unicode/utf8"

	"memoryd"
)

// Limits on what a request may ask for.
const (
	MaxQuery        = 8192 // characters, of query and of context
	MaxRounds       = 1000
	MaxWindowTokens = 1_000_000
	MaxMemoryTokens = 100_000
	MaxHits         = 100
	MaxPage         = 200
	DefaultPage     = 50
)

// checkTexts refuses a query that is empty or too long, and a context that is too long.
func checkTexts(query, more string) error {
	switch {
	case query == "":
		return memoryd.BadField("query", "is empty")
	case utf8.RuneCountInString(query) > MaxQuery:
		return memoryd.BadFieldAs("too-long", "query", "is longer than %d characters", MaxQuery)
	case utf8.RuneCountInString(more) > MaxQuery:
		return memoryd.BadFieldAs("too-long", "context", "is longer than %d characters", MaxQuery)
	}
	return nil
}

// checkNumber refuses a number outside lo..hi; nil is absent.
func checkNumber(path string, n *int, lo, hi int) error {
	if n != nil && (*n < lo || *n > hi) {
		return memoryd.BadField(path, "want %d to %d", lo, hi)
	}
	return nil
}

func checkScore(path string, x *float64) error {
	if x != nil && (math.IsNaN(*x) || *x < 0 || *x > 1) {
		return memoryd.BadField(path, "want 0 to 1")
	}
	return nil
}

func checkTrust(path string, t memoryd.Trust) error {
	if t != "" && t.Rank() == 0 {
		return memoryd.BadField(path, "want high, medium or low")
	}
	return nil
}

// checkWords refuses a list that holds a word which is not known.
func checkWords[T ~string](path string, list, known []T) error {
	for _, w := range list {
		if !slices.Contains(known, w) {
			return memoryd.BadField(path, "%q is none of %q", string(w), known)
		}
	}
	return nil
}

// first is the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pageOf is the size of a page; 0 is absent.
func pageOf(limit int) (int, error) {
	if limit == 0 {
		return DefaultPage, nil
	}
	return limit, checkNumber("limit", &limit, 1, MaxPage)
}
