package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// vocabulary is the inverted index of one kind of record in a partition. Records are numbered slots; a number is
// given out once, so that postings stay sorted by appending, until squeeze renumbers them.
type vocabulary struct {
	stems *Stems
	ids   map[string]uint32 // word → index in terms
	terms []term
	words [][]uint32 // slot → its distinct terms, in order of first appearance
	sizes []uint32   // slot → its words that are no stop words, repeats included

	live  int   // records
	total int64 // sum of sizes
	bytes int64
}

type term struct {
	word  string
	posts []posting
	stop  bool
	time  bool // a word of time
}

type posting struct {
	slot  uint32
	times uint32
}

// Costs that bytes adds up, as measured with 64-bit Go: map entry and term, posting with its slack, word of a record.
const (
	termCost    = 130
	postingCost = 12
	wordCost    = 4
	slotCost    = 28
)

func newVocabulary(stems *Stems) vocabulary {
	return vocabulary{stems: stems, ids: map[string]uint32{}}
}

// add indexes a folded text, and a head that is searched with it, under a new slot.
func (v *vocabulary) add(head, text string) (slot uint32, what added) {
	slot = uint32(len(v.words))
	var own []uint32
	size, body := uint32(0), false
	take := func(word string, stop bool) {
		id := v.id(word, stop)
		t := &v.terms[id]
		if !t.stop {
			size++
		}
		what.dated = what.dated || body && t.time
		if n := len(t.posts); n > 0 && t.posts[n-1].slot == slot {
			t.posts[n-1].times++
			return
		}
		t.posts = append(t.posts, posting{slot: slot, times: 1})
		own = append(own, id)
		if !t.stop {
			what.distinct++
		}
	}
	eachWord(head, v.stems.stem, take)
	body = true
	eachWord(text, v.stems.stem, take)
	own = slices.Clip(own)
	v.words = append(v.words, own)
	v.sizes = append(v.sizes, size)
	v.live++
	v.total += int64(size)
	v.bytes += slotCost + int64(len(own))*(wordCost+postingCost)
	return slot, what
}

// added is what add saw of the words.
type added struct {
	distinct int  // words, without stop words
	dated    bool // a word of time stands in the text
}

func (v *vocabulary) id(word string, stop bool) uint32 {
	id, ok := v.ids[word]
	if !ok {
		id = uint32(len(v.terms))
		// The word is a part of a text that would stay in memory with it.
		word = strings.Clone(word)
		v.ids[word] = id
		v.terms = append(v.terms, term{word: word, stop: stop, time: ofTime(word)})
		v.bytes += termCost + int64(len(word))
	}
	return id
}

// remove takes a slot's record out again, exactly.
func (v *vocabulary) remove(slot uint32) {
	for _, id := range v.words[slot] {
		t := &v.terms[id]
		if at, ok := find(t.posts, slot); ok {
			t.posts = slices.Delete(t.posts, at, at+1)
		}
	}
	v.bytes -= int64(len(v.words[slot])) * (wordCost + postingCost)
	v.live--
	v.total -= int64(v.sizes[slot])
	v.words[slot], v.sizes[slot] = nil, 0
}

func find(posts []posting, slot uint32) (int, bool) {
	return slices.BinarySearchFunc(posts, slot, func(p posting, s uint32) int { return cmp.Compare(p.slot, s) })
}

// sparse says whether so many slots are empty that a squeeze pays.
func (v *vocabulary) sparse() bool { return len(v.words) > 2*v.live+64 }

// squeeze renumbers slots and terms without the empty ones. at answers a kept slot's new number.
func (v *vocabulary) squeeze(kept func(slot uint32) bool) (at []uint32) {
	at = make([]uint32, len(v.words))
	next := newVocabulary(v.stems)
	for slot := range v.words {
		if !kept(uint32(slot)) {
			continue
		}
		at[slot] = uint32(len(next.words))
		next.words = append(next.words, v.words[slot])
		next.sizes = append(next.sizes, v.sizes[slot])
	}
	ids := make([]uint32, len(v.terms))
	for id, old := range v.terms {
		if len(old.posts) == 0 {
			continue
		}
		ids[id] = next.id(old.word, old.stop)
		posts := slices.Clone(old.posts)
		for i := range posts {
			posts[i].slot = at[posts[i].slot]
		}
		next.terms[ids[id]].posts = posts
	}
	for _, own := range next.words {
		for i := range own {
			own[i] = ids[own[i]]
		}
		next.bytes += slotCost + int64(len(own))*(wordCost+postingCost)
	}
	next.live, next.total = v.live, v.total
	*v = next
	return at
}

// BM25's constants, the usual ones.
const (
	k1 = 1.2
	b  = .75
)

// prior is how many records without the word every store is taken to hold beside its own. In a store of a few records
// idf says next to nothing (the only record's words would be worth a fifth of an unknown word), and a score would mean
// something else than in a store of thousands.
const prior = 20

func idf(n, df int) float64 {
	return math.Log1p((float64(n-df) + prior + .5) / (float64(df) + .5))
}

// saturate is BM25's weight of a word that stands times times in a record of the given size.
func saturate(times, size uint32, average float64) float64 {
	t := float64(times)
	return t * (k1 + 1) / (t + k1*(1-b+b*float64(size)/average))
}
