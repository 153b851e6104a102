package index

import (
	"container/heap"
	"slices"
)

// top keeps the best hits, at most limit of them (0: all).
type top struct {
	limit int
	hits  []Hit // when limit is reached: a heap, worst first
}

func (t *top) Len() int           { return len(t.hits) }
func (t *top) Less(i, j int) bool { return t.hits[j].before(&t.hits[i]) }
func (t *top) Swap(i, j int)      { t.hits[i], t.hits[j] = t.hits[j], t.hits[i] }
func (t *top) Push(any)           {}
func (t *top) Pop() any           { return nil }

func (t *top) full() bool { return t.limit > 0 && len(t.hits) == t.limit }

func (t *top) add(h *Hit) {
	switch {
	case !t.full():
		t.hits = append(t.hits, *h)
		if t.full() {
			heap.Init(t)
		}
	case h.before(&t.hits[0]):
		t.hits[0] = *h
		heap.Fix(t, 0)
	}
}

func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, Compare)
	return t.hits
}
