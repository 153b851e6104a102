package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"memoryd"
)

// notes is a partition of memories whose ids are A, B, C and so on.
func notes(texts ...string) *Partition {
	p := New(NewStems())
	for i, text := range texts {
		p.PutMemory(note(string(rune('A'+i)), text))
	}
	return p
}

func lookIn(p *Partition, query string) []Hit {
	return Memories([]*Partition{p}, about(query), MemoryCut{Factor: plain})
}

func ids(hits []Hit) string {
	var list []string
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return strings.Join(list, "")
}

func first(hits []Hit) string { return ids(hits[:min(1, len(hits))]) }

func TestWordInsideSentence(t *testing.T) {
	p := notes("周末他和同事约好去郊外玩成语接龙", "他每天六点起床跑步", "季度报表放在共享盘", "猫粮买了三公斤", "下个月去西安出差")
	for _, query := range []string{"成语接龙", "接龙", "郊外", "约好去"} {
		if hits := lookIn(p, query); first(hits) != "A" || hits[0].Score < .3 {
			t.Errorf("%s: %+v", query, hits)
		}
	}
	if hits := lookIn(p, "乒乓"); len(hits) > 0 {
		t.Errorf("乒乓: %+v", hits)
	}
}

func TestCompoundQuery(t *testing.T) {
	p := notes("雾凇方案部署在旧笔记本上，实测可用", "拼音输入法升级到了新版本", "阳台的花要隔天浇水")
	glued, apart := ids(lookIn(p, "雾凇拼音")), ids(lookIn(p, "雾凇 拼音"))
	if glued != apart || len(glued) != 2 || strings.Contains(glued, "C") {
		t.Errorf("%q and %q, want A and B in the same order", glued, apart)
	}
}

func TestLatinBetweenHan(t *testing.T) {
	p := notes("桌面端秒退是因为watchdog误杀了ppid进程，日志在D盘", "会议改到周四下午", "C盘只剩两个G")
	for _, query := range []string{"watchdog", "WATCHDOG", "ppid进程", "D盘"} {
		if got := first(lookIn(p, query)); got != "A" {
			t.Errorf("%s: %q first", query, got)
		}
	}
}

func TestExactNumberAmongNeighbours(t *testing.T) {
	p := New(NewStems())
	for n := 60; n < 100; n++ {
		p.PutMemory(note(fmt.Sprint("n", n), fmt.Sprintf("城南线提货人的工号是 23633%d，走三号门", n)))
	}
	if got := first(lookIn(p, "负责城南提货的那位，工号2363399的，走几号门？")); got != "n99" {
		t.Errorf("%q first", got)
	}
}

func TestNoCharacterIsAnOperator(t *testing.T) {
	p := notes("TODO: renew the multi-agent licence before 9am, the limit is 40 GB/s and they don't extend it")
	for _, query := range []string{
		"TODO: renew", "multi-agent", "GB/s", "don't extend", `"renew licence`, "licence*", "(limit OR", "-licence", "NEAR(limit 9am)",
		"licence^2", "text:limit", "limit; DROP TABLE memories",
	} {
		if first(lookIn(p, query)) != "A" {
			t.Errorf("%s: nothing", query)
		}
	}
	for _, query := range []string{"*", `"`, "'", "(", "^", ":", "", " \n", "🎉"} {
		if hits := lookIn(p, query); len(hits) > 0 {
			t.Errorf("%s: %+v", query, hits)
		}
	}
}

func TestFormsOfOneWord(t *testing.T) {
	p := notes("The café in Zürich closes at six")
	composed, decomposed := lookIn(p, norm.NFC.String("café Zürich")), lookIn(p, norm.NFD.String("café Zürich"))
	if first(composed) != "A" || !slices.Equal(composed, decomposed) {
		t.Errorf("%+v and %+v", composed, decomposed)
	}
	wide := notes("他的车牌是Ａ１２３４５，住在８楼", "她的车牌是A54321，住在9楼")
	traditional := notes("週報習慣用繁體中文寫，週五發給團隊", "王后乐队的唱片在书架上")
	for _, c := range []struct {
		p           *Partition
		query, want string
	}{
		{wide, "A12345", "A"}, {wide, "8楼", "A"}, {wide, "Ａ５４３２１", "B"},
		{traditional, "周报用繁体中文写", "A"}, {traditional, "發給团队", "A"}, {traditional, "樂隊唱片", "B"},
	} {
		if got := first(lookIn(c.p, c.query)); got != c.want {
			t.Errorf("%s: %q, want %s", c.query, got, c.want)
		}
	}
}

func TestScoresMeanTheSame(t *testing.T) {
	for _, c := range []struct {
		store []string
		query string
		least float64 // of memory A
		most  float64
	}{
		{[]string{"The user prefers Vim for writing Go"}, "The user prefers Vim for writing Go", .9, 1},
		{[]string{"The user prefers Vim for writing Go"}, "vim", .9, 1},
		{[]string{"The user prefers Vim for writing Go"}, "Which editor does the user prefer for Go code?", .4, .9},
		{[]string{"The user prefers Vim for writing Go"}, "How should I name the user table in the billing database?", 0, .3},
		{[]string{"他对花生过敏"}, "他对什么过敏？", .4, 1},
		{[]string{"我把备用钥匙给了楼下的李师傅"}, "备用钥匙给了谁", .4, 1},
		{[]string{"我把备用钥匙给了楼下的李师傅"}, "下周的会议改到了几点", 0, .3},
		{[]string{"Ada is allergic to peanuts", "Bo rows on the river", "Cy reads maps"}, "What is Ada allergic to?", .6, 1},
		{[]string{"Ada is allergic to peanuts", "Ada rows on the river", "Ada reads maps"}, "Which bus does Ada take to her piano lesson?", 0, .3},
	} {
		score := 0.
		for _, h := range lookIn(notes(c.store...), c.query) {
			if h.ID == "A" {
				score = h.Score
			}
		}
		if score < c.least || score >= c.most {
			t.Errorf("%q for %q: %.2f, want %.2f to %.2f", c.store[0], c.query, score, c.least, c.most)
		}
	}
}

func TestScoreHangsLittleOnTheSizeOfTheStore(t *testing.T) {
	few := notes("Ada is allergic to peanuts")
	many := notes("Ada is allergic to peanuts")
	s := newSample(5)
	for i := range 2000 {
		many.PutMemory(note(fmt.Sprint("other", i), s.text(6)))
	}
	a, b := lookIn(few, "What is Ada allergic to, and since when?"), lookIn(many, "What is Ada allergic to, and since when?")
	if first(b) != "A" || a[0].Score-b[0].Score > .15 || b[0].Score-a[0].Score > .15 {
		t.Errorf("%.2f alone, %.2f among many", a[0].Score, b[0].Score)
	}
}

func TestStopWordsAlone(t *testing.T) {
	p := notes("To be, or not to be: her favourite line", "You are to be there", "What is it")
	for query, want := range map[string]string{"to be or not to be": "A", "To Be": "AB", "how are you": "", "what is it?": "C"} {
		hits := lookIn(p, query)
		got := []byte(ids(hits))
		slices.Sort(got)
		if string(got) != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func seqs(hits []Hit) (list []int64) {
	for _, h := range hits {
		list = append(list, h.Seq)
	}
	return list
}

func talk(lines ...string) *Partition {
	p := New(NewStems())
	for i, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		p.PutTurn(said("s", int64(i+1), name, text))
	}
	return p
}

func recall(p *Partition, query string) []Hit {
	return Turns([]*Partition{p}, about(query), TurnCut{})
}

func TestNeighboursOfAMatch(t *testing.T) {
	p := talk("Bo: one thing", "Bo: some stuff", "Bo: other matters", "Bo: hiking at lake Como", "Bo: nice weather", "Bo: good food", "Bo: tall trees",
		"Bo: long stays")
	got := seqs(recall(p, "hiking lake"))
	if len(got) != 8 || got[0] != 4 {
		t.Fatalf("%v: the match is not first", got)
	}
	near, far := got[1:3], got[3:5]
	slices.Sort(near)
	slices.Sort(far)
	if !slices.Equal(near, []int64{3, 5}) || !slices.Equal(far, []int64{2, 6}) {
		t.Errorf("neighbours %v, then %v", near, far)
	}
}

func TestNeighboursEndWithTheSession(t *testing.T) {
	p := talk("Bo: good food", "Bo: hiking at the lake")
	p.PutTurn(said("other", 1, "Bo", "nice weather"))
	if hits := recall(p, "hiking lake"); len(hits) != 2 {
		t.Errorf("%+v, want the two turns of one session", hits)
	}
}

func TestTurnAlone(t *testing.T) {
	p := talk("Bo: good food", "Bo: nice weather", "Bo: we went hiking", "Bo: tall trees", "Bo: long stays")
	p.PutTurn(said("alone", 9, "Bo", "we went hiking"))
	if hits := recall(p, "went hiking"); hits[0].Session != "alone" {
		t.Errorf("%+v, want the turn that stands alone first", hits)
	}
}

func TestSessionOfAMatch(t *testing.T) {
	p := New(NewStems())
	for _, session := range []string{"a", "b"} {
		for i := range 9 {
			p.PutTurn(said(session, int64(i), "Bo", fmt.Sprint("filler", i)))
		}
	}
	p.PutTurn(said("a", 4, "Bo", "ferry"))
	p.PutTurn(said("b", 4, "Bo", "ferry"))
	p.PutTurn(said("b", 9, "Bo", "ticket"))
	hits := recall(p, "ferry ticket")
	if hits[0].Session != "b" || hits[0].Seq == 0 {
		t.Errorf("%+v: the session that holds both words is not first", hits[:2])
	}
}

func TestSpeakerNamed(t *testing.T) {
	lines := []string{"Ada Byron: I bought shoes", "Bo: I bought shoes", "王小明: I bought shoes", "Will: I bought shoes"}
	for query, want := range map[string]string{
		"What did Ada buy, shoes?":     "ada byron",
		"What did Bo buy, shoes?":      "bo",
		"Bo's shoes":                   "bo",
		"王小明买了shoes":                   "王小明",
		"Did Ada or Bo buy the shoes?": "",
		"Will anybody buy shoes?":      "",
		"Adam bought shoes":            "",
		"Ada Byron's shoes":            "ada byron",
	} {
		p := talk(lines...)
		if got := named([]*Partition{p}, Read(query)); got != want {
			t.Errorf("%q names %q, want %q", query, got, want)
		}
	}
	family := talk("Ada: hm", "Ada Byron: hm", "Ada Lovelace: hm", "Cy Twombly: hm")
	for query, want := range map[string]string{
		"ask Ada": "ada", "ask Ada Byron": "ada byron", "ask Ada Byron and Cy": "", "ask Byron": "", "ask Cy": "cy twombly",
	} {
		if got := named([]*Partition{family}, Read(query)); got != want {
			t.Errorf("%q names %q, want %q", query, got, want)
		}
	}
	p := talk("Bo: I bought shoes", "Bo: yes", "Bo: no", "Ada Byron: I bought shoes", "Bo: yes", "Bo: no", "Bo: I bought shoes")
	if hits := recall(p, "did ada buy shoes"); hits[0].Seq != 4 {
		t.Errorf("%+v", hits)
	}
	p.RemoveTurn(memoryd.TurnKey{Session: "s", Seq: 4})
	if got := named([]*Partition{p}, Read("did ada buy shoes")); got != "" {
		t.Errorf("names %q, who has said nothing that is left", got)
	}
}

func TestLocalDateIsSearched(t *testing.T) {
	p := New(NewStems())
	east := said("s", 1, "Bo", "good food")
	east.Time = time.Date(2026, 3, 2, 1, 0, 0, 0, time.FixedZone("", 8*3600))
	p.PutTurn(east)
	west := said("t", 1, "Bo", "好吃")
	west.Time = time.Date(2026, 4, 30, 23, 0, 0, 0, time.FixedZone("", -8*3600))
	p.PutTurn(west)
	for query, want := range map[string]string{"on 2 March 2026": "s", "4月30号吃了什么": "t"} {
		if hits := recall(p, query); len(hits) == 0 || hits[0].Session != want {
			t.Errorf("%s: %+v", query, hits)
		}
	}
	if hits := recall(p, "May"); len(hits) > 0 {
		t.Errorf("the date in UTC is indexed: %+v", hits)
	}
}

func TestUnrelatedQueryShowsNoTurn(t *testing.T) {
	p := talk("Ada: I walked the dog by the river this morning", "Bo: Was it cold?", "Ada: Freezing! I wore two jumpers.", "Bo: My cat stays in all day.",
		"Ada: Lazy thing. Do you want tea?", "Bo: Yes please, with milk.")
	for _, query := range []string{
		"What is the capital of Mongolia?", "Fix the failing unit test in the morning build", "How do I configure the proxy of the office network?",
		"请把上个月的报表发给财务", "Explain the proof of the theorem, please",
	} {
		if hits := recall(p, query); len(hits) > 0 && hits[0].Score >= .15 {
			t.Errorf("%q: turn %d scores %.2f", query, hits[0].Seq, hits[0].Score)
		}
	}
	for _, query := range []string{"Where did Ada walk the dog?", "Does Bo have a cat?", "two jumpers"} {
		if hits := recall(p, query); len(hits) == 0 || hits[0].Score < .15 {
			t.Errorf("%q: %+v", query, hits)
		}
	}
}
