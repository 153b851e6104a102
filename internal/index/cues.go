package index

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// asking is the share of a text's sentences that end in a question mark.
func asking(folded string) float32 {
	sentences, questions := 0, 0
	open := false
	for _, r := range folded {
		switch r {
		case '?', '.', '!', '。', '\n':
			if open {
				sentences++
			}
			if open && r == '?' {
				questions++
			}
			open = false
		default:
			open = open || inWord(r)
		}
	}
	if open {
		sentences++
	}
	return float32(questions) / float32(max(1, sentences))
}

// A query asks for a time by one of these, the English ones as whole words.
const (
	askTime = "when|how long|how many days|how many weeks|how many months|how many years|how often|how old|what time|" +
		"what day|what date|what month|what year|which day|which month|which year"
	askTimeHan = "什么时候|何时|几时|多久|哪天|哪一天|几号|几月|哪年|哪一年|几点|多长时间|几天|几年|几个月|星期几|周几"
)

func asksTime(plain string) bool {
	for phrase := range strings.SplitSeq(askTime, "|") {
		if at := strings.Index(plain, phrase); at > 0 && plain[at-1] == ' ' && strings.HasPrefix(plain[at+len(phrase):], " ") {
			return true
		}
	}
	for phrase := range strings.SplitSeq(askTimeHan, "|") {
		if strings.Contains(plain, phrase) {
			return true
		}
	}
	return false
}

// timeWords answer a question for a time, beside the numbers of years.
const timeWords = `
yesterday today tonight tomorrow ago last next week weekend month year day morning evening night hour since recently
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
昨天 今天 明天 后天 前天 昨晚 今晚 今早 早上 晚上 上午 下午 中午 周末 星期 礼拜 上周 下周 本周 去年 今年 明年 前年 年前 天前 月前
最近 刚才 上个 下个 号 月 年`

var timeSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(timeWords) {
		set[stem(w)] = true
	}
	return set
})

// ofTime says whether a word, as eachWord emits it, is one of time.
func ofTime(word string) bool {
	if len(word) == 4 && (word[:2] == "19" || word[:2] == "20") && digit(word[2]) && digit(word[3]) {
		return true
	}
	return timeSet()[word]
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Chinese words that make a question and say nothing of what it is about; the particles only where a clause ends,
// for they stand in names of things too (酒吧).
const (
	questionWords = "什么时候|什么地方|为什么|什么样|什么|哪个|哪些|哪里|哪儿|哪一个|哪位|哪种|哪家|怎么样|怎么|怎样|如何|为何|" +
		"多少|几个|是不是|有没有|能不能|可不可以|请问|告诉我|谁"
	particles = "吗呢吧啊呀嘛"
)

var questionReplacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for w := range strings.SplitSeq(questionWords, "|") {
		pairs = append(pairs, w, " ")
	}
	return strings.NewReplacer(pairs...)
})

// content is a folded query without Chinese question words: what the English stop words are to an English one. Left
// in, with their pairs, they would make up half of a short question, and no memory would look like an answer.
func content(folded string) string {
	if !hasHan(folded) {
		return folded
	}
	folded = questionReplacer().Replace(folded)
	var b strings.Builder
	for i, r := range folded {
		if strings.ContainsRune(particles, r) {
			if next, _ := utf8.DecodeRuneInString(folded[i+utf8.RuneLen(r):]); !inWord(next) {
				r = ' '
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
