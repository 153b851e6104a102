package index

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// goals are what the ranking must reach, in percent, where the folder holds the set: recall among the first 10, and
// coverage of the evidence within 2,000 tokens.
var goals = map[string][2]float64{
	"locomo-dev":        {79, 88.5},
	"memorybank-zh-dev": {97, 99},
	"madial-zh-dev":     {60, 97},
	"state-zh-dev":      {94, 99},
	"factcons-en-dev":   {97, 99},
	"realmem-en-dev":    {38, 49},
	"paraphrase-zh-dev": {36, 50},
}

// TestRanking asks the questions of sets with known evidence. MEMORYD_EVAL is a folder of such sets; runs for their
// scorer are written to MEMORYD_RUNS, when that names a folder.
func TestRanking(t *testing.T) {
	root := os.Getenv("MEMORYD_EVAL")
	if root == "" {
		t.Skip("MEMORYD_EVAL names no folder")
	}
	files, _ := filepath.Glob(filepath.Join(root, "*", "questions.jsonl"))
	if len(files) == 0 {
		t.Fatalf("%s holds no sets", root)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		set := readSet(t, dir)
		r := set.ask(t, filepath.Base(dir))
		t.Logf("%-18s %3.0f questions: R@5 %.1f  R@10 %.1f  cov@2k %.1f  %.2f ms each", filepath.Base(dir), r.n, r.r5, r.r10, r.cov, r.ms)
		if goal, ok := goals[filepath.Base(dir)]; ok && (r.r10 < goal[0] || r.cov < goal[1]) {
			t.Errorf("%s: R@10 %.1f and cov@2k %.1f, want %v", filepath.Base(dir), r.r10, r.cov, goal)
		}
	}
}

// evalSet is conversations, each a partition, with questions.
type evalSet struct {
	parts     map[string]*Partition
	rows      map[string]map[string]evalRow // conversation → key of a hit
	questions []evalQuestion
}

type evalRow struct{ id, shown string }

type evalQuestion struct {
	ID           string   `json:"id"`
	Conversation string   `json:"conversation"`
	Question     string   `json:"question"`
	Category     string   `json:"category"`
	Evidence     []string `json:"evidence"`
}

func readSet(t testing.TB, dir string) *evalSet {
	set := &evalSet{parts: map[string]*Partition{}, rows: map[string]map[string]evalRow{}}
	seq := int64(0)
	eachLine(t, filepath.Join(dir, "turns.jsonl"), func(row struct {
		Conversation, ID, Speaker, Text, Image string
		Session                                json.RawMessage
		Time                                   time.Time
	}) {
		p := set.parts[row.Conversation]
		if p == nil {
			p = New(NewStems())
			set.parts[row.Conversation], set.rows[row.Conversation] = p, map[string]evalRow{}
		}
		text := row.Text
		if row.Image != "" {
			text += " [image: " + row.Image + "]"
		}
		seq++
		key, shown := row.ID, text
		if row.Speaker == "" {
			m := note(row.ID, text)
			m.Recorded = row.Time
			p.PutMemory(m)
		} else {
			turn := said(string(row.Session), seq, row.Speaker, text)
			turn.Time = row.Time
			p.PutTurn(turn)
			key, shown = fmt.Sprint(turn.Session, "#", seq), row.Speaker+": "+text
		}
		set.rows[row.Conversation][key] = evalRow{row.ID, row.Time.Format("[2006-01-02] ") + shown}
	})
	eachLine(t, filepath.Join(dir, "questions.jsonl"), func(q evalQuestion) {
		if q.Category != "adversarial" && len(q.Evidence) > 0 {
			set.questions = append(set.questions, q)
		}
	})
	return set
}

func eachLine[T any](t testing.TB, path string, f func(T)) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var x T
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f(x)
	}
}

type evalResult struct{ r5, r10, cov, n, ms float64 }

// ask answers the figures in percent, as the sets' scorer counts them: a text of over 256 tokens takes several places.
func (set *evalSet) ask(t testing.TB, name string) (out evalResult) {
	var run strings.Builder
	for _, q := range set.questions {
		start := time.Now()
		hits := set.search(q)
		ms := time.Since(start).Seconds() * 1000
		out.ms += ms
		rank, walked, share := 0, 0, 100/float64(len(q.Evidence))
		var results []map[string]any
		for _, h := range hits {
			row := set.rows[q.Conversation][h.ID]
			if h.ID == "" {
				row = set.rows[q.Conversation][fmt.Sprint(h.Session, "#", h.Seq)]
			}
			results = append(results, map[string]any{"ids": []string{row.id}, "text": row.shown})
			cost := (len(row.shown)+3)/4 + 1
			walked += cost
			rank += (cost + 255) / 256
			for _, id := range q.Evidence {
				if id == row.id && rank <= 5 {
					out.r5 += share
				}
				if id == row.id && rank <= 10 {
					out.r10 += share
				}
				if id == row.id && walked <= 2000 {
					out.cov += share
				}
			}
		}
		line, err := json.Marshal(map[string]any{"id": q.ID, "ms": ms, "results": results})
		if err != nil {
			t.Fatal(err)
		}
		run.Write(append(line, '\n'))
	}
	if dir := os.Getenv("MEMORYD_RUNS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(run.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out.n = float64(len(set.questions))
	return evalResult{out.r5 / out.n, out.r10 / out.n, out.cov / out.n, out.n, out.ms / out.n}
}

func (set *evalSet) search(q evalQuestion) []Hit {
	parts, query := []*Partition{set.parts[q.Conversation]}, about(q.Question)
	best := top{limit: 100}
	for _, h := range append(Memories(parts, query, MemoryCut{PerScope: 100, Factor: plain}), Turns(parts, query, TurnCut{Limit: 100})...) {
		best.add(&h)
	}
	return best.sorted()
}
