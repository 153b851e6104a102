package index

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memoryd"
)

// evalSet is a set of questions over conversations, in the format of the yardsticks.
type evalSet struct {
	parts     map[string]*Partition
	texts     map[string]map[string]string // conversation → key of a hit → the text that is shown
	ids       map[string]map[string]string // conversation → key of a hit → the set's id
	questions []evalQuestion
}

type evalTurn struct {
	Conversation string          `json:"conversation"`
	Session      json.RawMessage `json:"session"`
	Time         time.Time       `json:"time"`
	ID           string          `json:"id"`
	Speaker      string          `json:"speaker"`
	Text         string          `json:"text"`
	Image        string          `json:"image"`
}

type evalQuestion struct {
	ID           string   `json:"id"`
	Conversation string   `json:"conversation"`
	Question     string   `json:"question"`
	Category     string   `json:"category"`
	Evidence     []string `json:"evidence"`
	Forbidden    []string `json:"forbidden"`
}

func evalLines[T any](t testing.TB, path string) (list []T) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewScanner(f)
	r.Buffer(nil, 1<<24)
	for r.Scan() {
		var x T
		if err := json.Unmarshal(r.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

func loadEval(t testing.TB, dir string) *evalSet {
	set := &evalSet{parts: map[string]*Partition{}, texts: map[string]map[string]string{}, ids: map[string]map[string]string{}}
	seq := int64(0)
	for _, row := range evalLines[evalTurn](t, filepath.Join(dir, "turns.jsonl")) {
		p := set.parts[row.Conversation]
		if p == nil {
			p = New(NewStems())
			set.parts[row.Conversation] = p
			set.texts[row.Conversation], set.ids[row.Conversation] = map[string]string{}, map[string]string{}
		}
		seq++
		text, shown := row.Text, row.Text
		if row.Image != "" {
			text += " [image: " + row.Image + "]"
			shown += " (image: " + row.Image + ")"
		}
		key := row.ID
		if row.Speaker == "" {
			p.PutMemory(&memoryd.Memory{ID: row.ID, Text: text, Scope: memoryd.Global, Status: memoryd.Active, Recorded: row.Time, Trust: memoryd.High})
		} else {
			session := row.Conversation + "/" + string(row.Session)
			p.PutTurn(&memoryd.Turn{Session: session, Seq: seq, Name: row.Speaker, Text: text, Time: row.Time, Scope: memoryd.DM, Trust: memoryd.High})
			key = fmt.Sprint(session, "#", seq)
			shown = row.Speaker + ": " + shown
		}
		set.ids[row.Conversation][key] = row.ID
		set.texts[row.Conversation][key] = "[" + row.Time.Format("2006-01-02") + "] " + shown
	}
	for _, q := range evalLines[evalQuestion](t, filepath.Join(dir, "questions.jsonl")) {
		if q.Category != "adversarial" && len(q.Evidence) > 0 {
			set.questions = append(set.questions, q)
		}
	}
	return set
}

func evalKey(h *Hit) string {
	if h.Session != "" {
		return fmt.Sprint(h.Session, "#", h.Seq)
	}
	return h.ID
}

var factor = [4]float64{1, 1, 1, 1}

func evalAsk(w weights, set *evalSet, conversation, question string) []Hit {
	q := &Query{Words: Read(question), Scopes: memoryd.AllScopes(), Now: time.Unix(1.8e9, 0)}
	parts := []*Partition{set.parts[conversation]}
	top := top{limit: 100}
	for _, h := range Memories(parts, q, MemoryCut{PerScope: 100, Factor: factor}) {
		top.add(&h)
	}
	for _, h := range turnsBy(w, parts, q, TurnCut{Limit: 100}) {
		top.add(&h)
	}
	return top.sorted()
}

type evalResult struct{ r10, r5, cov, stale, n float64 }

func (r evalResult) String() string {
	return fmt.Sprintf("R@5 %.1f R@10 %.1f cov@2k %.1f stale-first %.1f (%v)", 100*r.r5/r.n, 100*r.r10/r.n, 100*r.cov/r.n, 100*r.stale/r.n, r.n)
}

func evaluate(w weights, set *evalSet) evalResult {
	var out evalResult
	for _, q := range set.questions {
		want := map[string]bool{}
		for _, e := range q.Evidence {
			want[e] = true
		}
		bad := map[string]bool{}
		for _, e := range q.Forbidden {
			bad[e] = true
		}
		rank, walked := 0, 0
		var r5, r10, cov float64
		first, firstBad := 1<<30, 1<<30
		for _, h := range evalAsk(w, set, q.Conversation, q.Question) {
			key := evalKey(&h)
			cost := (len(set.texts[q.Conversation][key])+3)/4 + 1
			walked += cost
			rank += (cost + 255) / 256
			id := set.ids[q.Conversation][key]
			if bad[id] {
				firstBad = min(firstBad, rank)
			}
			if !want[id] {
				continue
			}
			first = min(first, rank)
			if rank <= 5 {
				r5++
			}
			if rank <= 10 {
				r10++
			}
			if walked <= 2000 {
				cov++
			}
		}
		k := float64(len(want))
		out.r5 += r5 / k
		out.r10 += r10 / k
		out.cov += cov / k
		if firstBad < first {
			out.stale++
		}
		out.n++
	}
	return out
}

func TestEval(t *testing.T) {
	root := os.Getenv("MEMORYD_EVAL")
	if root == "" {
		t.Skip("MEMORYD_EVAL names no folder of sets")
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "*-dev"))
	for _, dir := range dirs {
		set := loadEval(t, dir)
		w := turnWeights()
		if s := os.Getenv("W"); s != "" {
			json.NewDecoder(strings.NewReader(s)).Decode(&w)
		}
		start := time.Now()
		r := evaluate(w, set)
		t.Logf("%-20s %s  %.2f ms", filepath.Base(dir), r, time.Since(start).Seconds()*1000/math.Max(1, r.n))
	}
}
