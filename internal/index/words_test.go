package index

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain text 1", "plain text 1"},
		{"MiXed", "mixed"},
		{"Ａ１２３４５，８楼", "a12345,8楼"},
		{"週報習慣用繁體中文寫", "周报习惯用繁体中文写"},
		{"王后乐队", "王后乐队"},
		{"CAFÉ", "café"},
		{norm.NFD.String("Zürich"), norm.NFC.String("zürich")},
		{"ｶﾞ", "ガ"},
		{"薴", "苎"},            // simplified twice
		{"W\u030a", "\u1e98"}, // only the lower case can be composed
	} {
		if got := Fold(c.in); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFoldTwiceIsFoldOnce(t *testing.T) {
	for r := range rune(0x32400) { // the last Han character, and then some
		if once := Fold(string(r)); Fold(once) != once {
			t.Errorf("%U: %q, then %q", r, once, Fold(once))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		once := Fold(text)
		if twice := Fold(once); twice != once {
			t.Fatalf("%q: %q, then %q", text, once, twice)
		}
		if other := Fold(norm.NFD.String(text)); other != once {
			t.Fatalf("%q: decomposed %q, else %q", text, other, once)
		}
	})
}

func TestSimplified(t *testing.T) {
	if n := len(simplified()); n < 4000 {
		t.Errorf("%d characters, want the library's 4,105", n)
	}
}

func wordsOf(text string) (words, stops []string) {
	eachWord(Fold(text), stem, func(word string, stop bool) {
		if stop {
			stops = append(stops, word)
		} else {
			words = append(words, word)
		}
	})
	return words, stops
}

func TestEachWord(t *testing.T) {
	for _, c := range []struct{ text, words, stops string }{
		{"The paintings, they're PAINTED!", "paint paint", "the they"},
		{"Caroline's don't", "carolin", "don't"},
		{"I won’t say he won", "say won", "i won't he"},
		{"Ada Lovelace’s o'clock", "ada lovelac o clock", ""},
		{"multi-agent 40 GB/s a_b", "multi agent 40 gb s b", "a"},
		{"A12345 v12 2363399 3pm", "a12345 v12 2363399 3pm", ""},
		{"成语接龙", "成 成语 语 语接 接 接龙 龙", ""},
		{"雾凇 拼音", "雾 雾凇 凇 拼 拼音 音", ""},
		{"因为watchdog误杀了D盘", "因 因为 为 watchdog 误 误杀 杀 杀了 了 d 盘", ""},
		{"工号2363399的", "工 工号 号 2363399 的", ""},
		{"ラーメン", "ラ ラー ー ーメ メ メン ン", ""},
		{"학교에서", "학 학교 교 교에 에 에서 서", ""},
		{"ไก่", "ไ ไก่ ก่", ""},
		{"नमस्ते दुनिया", "नमस्ते दुनिया", ""},
		{"naïve " + norm.NFD.String("naïve"), "naïv naïv", ""},
		{`* " ' ( ^ : 🎉`, "", ""},
	} {
		words, stops := wordsOf(c.text)
		slices.Sort(words)
		want := strings.Fields(c.words)
		slices.Sort(want)
		if !slices.Equal(words, want) || strings.Join(stops, " ") != c.stops {
			t.Errorf("%q: %q and %q, want %q and %q", c.text, words, stops, want, c.stops)
		}
	}
}

func TestStems(t *testing.T) {
	s := NewStems()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zé]{1,9}`).Draw(t, "word")
		if got := s.stem(word); got != stem(word) || s.stem(word) != got {
			t.Fatalf("%q: %q, want %q", word, got, stem(word))
		}
	})
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		query string
		want  string
		stop  bool
		time  bool
	}{
		{"When did Caroline go hiking, when?", "carolin go hike", false, true},
		{"What about the whenever", "whenev", false, false},
		{"what is it that I am", "what is it that i am", true, false},
		{"乐队是哪个？", "乐 乐队 队 队是 是", false, false},
		{"什么", "什 什么 么", false, false},
		{"去酒吧吗？", "去 去酒 酒 酒吧 吧", false, false},
		{"他什么时候搬家", "他 搬 搬家 家", false, true},
		{"* (", "", true, false},
	} {
		got := Read(c.query)
		want := strings.Fields(c.want)
		slices.Sort(want)
		slices.Sort(got.list)
		if !slices.Equal(got.list, want) || got.stop != c.stop || got.time != c.time {
			t.Errorf("%q: %q stop %v time %v, want %q", c.query, got.list, got.stop, got.time, want)
		}
		if got.Empty() != (c.want == "") {
			t.Errorf("%q: Empty() = %v", c.query, got.Empty())
		}
	}
}

func TestAsking(t *testing.T) {
	for text, want := range map[string]float32{
		"": 0, "no.": 0, "why?": 1, "well. why?": .5, "why?! really??": 1, "吃了吗？吃了。": .5, "... ?": 0, "open end": 0,
	} {
		if got := asking(Fold(text)); got != want {
			t.Errorf("asking(%q) = %v, want %v", text, got, want)
		}
	}
}
