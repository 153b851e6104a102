package index

// weights are the constants of a ranking. The score that is shown is a logistic of the weighted sum.
type weights struct {
	words   float64 // the words' part, before everything that it is a part of
	near    float64 // of a neighbour beside the turn
	far     float64 // of one two turns away
	session float64 // of the whole session's text
	named   float64 // the query names the speaker
	length  float64
	asking  float64 // taken off
	info    float64
	time    float64 // the query asks for a time, and the turn holds a word of it

	slope, middle float64
}

// memoryWeights: the sum is 1 where a memory holds all words of the query in a text of average length. The logistic
// puts .3 at .164: in the sets of single questions over statements, English and Chinese, 98 % of the answers lie above
// .24, so that they reach the floor of .3 with the factor of low trust too, and a memory that shares one word of five
// or more lies below. A long message shares little with any memory, and for it words cannot tell answers from noise.
func memoryWeights() weights { return weights{words: 1.5, slope: 5, middle: 1. / 3} }

// turnWeights: near the recipe's optimum for words alone, set on an English and a Chinese set of dialogues together,
// every figure in the middle of a flat stretch. The logistic puts .15 at a sum of 1.2: of the questions of five English
// conversations 97 % have a turn above it in their own conversation, and 90 % have none in any of the other four.
func turnWeights() weights {
	return weights{
		words: 1.5, near: .5, far: .3, session: .8, named: .5, length: .1, asking: .2, info: .1, time: .2,
		slope: 1.75, middle: 2.2,
	}
}

// enough is the sum of idf at which a turn's info is full.
const enough = 60

func (w *weights) shown(x float64) float64 { return logistic(w.slope * (x - w.middle)) }

// least is a sum below which shown stays under the score.
func (w *weights) least(score float64) float64 {
	if score <= 0 {
		return lowest
	}
	// The hair's breadth keeps rounding from cutting what is just good enough.
	return w.middle + logit(min(score, 1))/w.slope - 1e-9
}
