package index

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"memoryd"
)

var fuzzedTexts = []string{
	"", "plain text 1", "MiXed CAFÉ", "Ａ１２３４５，８楼", "週報習慣用繁體中文寫", "薴", "W\u030a", "ｶﾞ", "ﬁne ㎏ ½", "İstanbul ΑΣ ß ẞ", "\u0345\u0301a", "a\u0301\u0328",
	"The paintings, they're PAINTED!", "I won’t say he won't", "don't's", "'''", "o'clock'", "a’s’t", "因为watchdog误杀了D盘吗？", "什么", "去酒吧吗？", "ラーメン", "학교에서", "ไก่ นี้",
	"नमस्ते", "\xff\xfe<\xc3", "\u200d\u0301", "🎉 * ( ^ :", "v12 2363399 3pm _a_", "when", "什么时候", "长\u0300\u0301", "ー", "한\u1161\u11a8", "\u1100\u1161", "a\u034fb", "ϔ Υ\u0308", strings.Repeat("\u0301", 40),
}

// FuzzFold: folding a folded text changes nothing, and neither does how it was composed or what stands beside it. Bytes
// that are no UTF-8 never get this far; the normal form passes over what stands close behind a run of them.
func FuzzFold(f *testing.F) {
	for i, s := range fuzzedTexts {
		f.Add(s, fuzzedTexts[(i+7)%len(fuzzedTexts)])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		once := Fold(one)
		if !utf8.ValidString(one) || !utf8.ValidString(two) {
			return
		}
		if twice := Fold(once); twice != once {
			t.Fatalf("%q: %q, then %q", one, once, twice)
		}
		if !utf8.ValidString(once) {
			t.Fatalf("%q became %q", one, once)
		}
		if other := Fold(norm.NFD.String(one)); other != once {
			t.Fatalf("%q: decomposed %q, else %q", one, other, once)
		}
		if both := Fold(one + " " + two); both != once+" "+Fold(two) {
			t.Fatalf("%q beside %q: %q", one, two, both)
		}
	})
}

// FuzzRead: words are distinct, none is empty or holds what separates words, a text holds the words of its halves, and
// is found by its own.
func FuzzRead(f *testing.F) {
	for i, s := range fuzzedTexts {
		f.Add(s, fuzzedTexts[(i+5)%len(fuzzedTexts)])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if len(one)+len(two) > 4000 {
			return
		}
		checkWords(t, one)
		a, b, both := bag(one), bag(two), bag(one+" "+two)
		if want := append(slices.Clone(a), b...); !slices.Equal(both, sorted(want)) {
			t.Fatalf("%q and %q: %q, together %q", one, two, want, both)
		}
		w := Read(one)
		if seen := sorted(slices.Clone(w.list)); len(slices.Compact(seen)) != len(w.list) || slices.Contains(w.list, "") {
			t.Fatalf("%q asks for %q", one, w.list)
		}
		if w.Empty() {
			return
		}
		p := New(NewStems())
		p.PutMemory(note("other", two))
		p.PutMemory(note("it", one))
		turn := said("s", 1, "", one)
		p.PutTurn(turn)
		got := answerOf([]*Partition{p}, about(one), 10)
		if len(a) > 0 && !slices.ContainsFunc(got.memories, func(h Hit) bool { return h.ID == "it" }) {
			t.Fatalf("%q is not found by its own words: %+v", one, got.memories)
		}
		for _, h := range slices.Concat(got.memories, got.turns) {
			if !(h.Score >= 0 && h.Score <= 1) {
				t.Fatalf("%q: a score of %v", one, h.Score)
			}
		}
	})
}

func checkWords(t *testing.T, text string) {
	t.Helper()
	folded := Fold(text)
	for _, word := range bag(text) {
		plain := strings.TrimSuffix(word, "'t")
		if plain == "" || !utf8.ValidString(word) || strings.ContainsFunc(plain, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
		}) {
			t.Fatalf("%q holds the word %q", text, word)
		}
	}
	if s := spaced(folded); strings.Contains(s, "  ") || !strings.HasPrefix(s, " ") || !strings.HasSuffix(s, " ") {
		t.Fatalf("%q: %q", text, s)
	}
	if share := asking(folded); !(share >= 0 && share <= 1) {
		t.Fatalf("%q asks by %v", text, share)
	}
}

// bag is every word of a text, sorted.
func bag(text string) []string {
	words, stops := wordsOf(text)
	return sorted(append(words, stops...))
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// FuzzPartition: whatever is put in, replaced and removed, the words that are left are those of the rows that are left.
func FuzzPartition(f *testing.F) {
	f.Add("river\x00paint the river\x00猫在花园", []byte{0, 1, 2, 0x80, 3})
	f.Add("a\x00a\x00a", []byte{0, 0x80, 0, 0x80, 0x81, 1})
	f.Add("\xff\x00don't\x00", []byte{0, 1, 2, 0x40, 0xc0})
	f.Fuzz(func(t *testing.T, text string, steps []byte) {
		texts := strings.Split(text, "\x00")
		if len(text) > 2000 || len(steps) > 100 {
			return
		}
		p, held := New(NewStems()), map[string]*memoryd.Memory{}
		for i, s := range steps {
			id := string(rune('a' + s&7))
			if s&0x80 != 0 {
				p.RemoveMemory(id)
				delete(held, id)
				continue
			}
			m := note(id, texts[i%len(texts)])
			p.PutMemory(m)
			held[id] = m
		}
		fresh := New(NewStems())
		for _, s := range steps {
			if m := held[string(rune('a'+s&7))]; m != nil {
				fresh.PutMemory(m)
			}
		}
		if n, _ := p.Len(); n != len(held) {
			t.Fatalf("%d memories of %d", n, len(held))
		}
		for _, x := range texts {
			if got, want := answerOf([]*Partition{p}, about(x), 10), answerOf([]*Partition{fresh}, about(x), 10); !got.equal(want) {
				t.Fatalf("%q: %+v, afresh %+v", x, got, want)
			}
		}
	})
}
