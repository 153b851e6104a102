package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// speech makes sentences of made-up words, the same for the same seed. Few words are common and most are rare, as in
// what people write (Zipf's law with exponent 1.1).
type speech struct {
	zipf *rand.Zipf
}

const vocabulary = 20000

func newSpeech(seed uint64) *speech {
	return &speech{rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 8, vocabulary-1)}
}

var syllables = strings.Fields("ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu wa we wi wo")

func word(n uint64) string {
	var b strings.Builder
	for n += 97; n > 0; n /= uint64(len(syllables)) {
		b.WriteString(syllables[n%uint64(len(syllables))])
	}
	return b.String()
}

func (s *speech) sentence(words int) string {
	list := make([]string, words)
	for i := range list {
		list[i] = word(s.zipf.Uint64())
	}
	return strings.Join(list, " ")
}

func owner(n int) string { return fmt.Sprintf("owner-%d", n) }
