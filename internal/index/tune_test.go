package index

import (
	"fmt"
	"math"
	"os"
	"sort"
	"testing"
)

func quant(xs []float64) string {
	sort.Float64s(xs)
	s := fmt.Sprint(len(xs), " ")
	for _, q := range []float64{.01, .05, .1, .25, .5, .75, .9, .95, .99, 1} {
		if len(xs) > 0 {
			s += fmt.Sprintf(" %g:%.2f", q, xs[int(q*float64(len(xs)-1))])
		}
	}
	return s
}
func TestTune(t *testing.T) {
	root := os.Getenv("TUNE")
	if root == "" {
		t.Skip()
	}
	w := turnWeights()
	w.slope, w.middle = 1, 0
	inv := func(x float64) float64 { return math.Log(x / (1 - x)) }
	for _, name := range []string{"locomo", "memorybank-zh"} {
		a := loadEval(t, root+"/"+name+"-dev")
		var own, ownE, cross []float64
		for _, q := range a.questions {
			want := map[string]bool{}
			for _, e := range q.Evidence {
				want[e] = true
			}
			for c := range a.parts {
				hits := evalAsk(w, a, c, q.Question)
				if c == q.Conversation {
					own = append(own, inv(hits[0].Score))
					for _, h := range hits {
						if want[a.ids[c][evalKey(&h)]] {
							ownE = append(ownE, inv(h.Score))
							break
						}
					}
				} else {
					x := -1.
					if len(hits) > 0 {
						x = inv(hits[0].Score)
					}
					cross = append(cross, x)
				}
			}
		}
		t.Log(name, "own top   ", quant(own))
		t.Log(name, "own evid  ", quant(ownE))
		t.Log(name, "cross top ", quant(cross))
	}
	mi := func(h Hit) float64 { m := memoryWeights(); return (inv(h.Score)/m.slope + m.middle) }
	for _, name := range []string{"factcons-en", "madial-zh", "paraphrase-zh", "realmem-en", "state-zh"} {
		a := loadEval(t, root+"/"+name+"-dev")
		var own, ownE, cross []float64
		for _, q := range a.questions {
			want := map[string]bool{}
			for _, e := range q.Evidence {
				want[e] = true
			}
			for c := range a.parts {
				hits := evalAsk(w, a, c, q.Question)
				if c == q.Conversation {
					if len(hits) > 0 {
						own = append(own, mi(hits[0]))
					}
					for _, h := range hits {
						if want[a.ids[c][evalKey(&h)]] {
							ownE = append(ownE, mi(h))
							break
						}
					}
				} else if c[:3] != q.Conversation[:3] {
					x := -1.
					if len(hits) > 0 {
						x = mi(hits[0])
					}
					cross = append(cross, x)
				}
			}
		}
		t.Log(name, "own top   ", quant(own))
		t.Log(name, "own evid  ", quant(ownE))
		t.Log(name, "cross top ", quant(cross))
	}
}
