package index

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

// Stems remembers the stems of words for partitions that share it: stemming is two thirds of what indexing costs. It
// may be used concurrently.
type Stems struct {
	mu    sync.RWMutex
	known map[string]string
}

// maxStems bounds the words that are remembered, to some 6 MB.
const maxStems = 1 << 16

// NewStems remembers nothing yet.
func NewStems() *Stems { return &Stems{known: map[string]string{}} }

func (s *Stems) stem(word string) string {
	s.mu.RLock()
	known, ok := s.known[word]
	s.mu.RUnlock()
	if ok {
		return known
	}
	// The word is a part of a text that would stay in memory with it.
	word = strings.Clone(word)
	known = stem(word)
	if known == word {
		known = word
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxStems {
		clear(s.known)
	}
	s.known[word] = known
	return known
}

// stem keeps numbers, and names like v12, whole.
func stem(word string) string {
	if len(word) < 3 || len(word) > 40 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	return english.Stem(word, false)
}
