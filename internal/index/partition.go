package index

import (
	"strings"
	"unsafe"

	"memoryd"
)

// Partition is the index of one owner's memories and turns. The two kinds share nothing: each has its own number of
// records and its own frequencies of words.
type Partition struct {
	memories memories
	turns    turns
	scopes   scopes
}

// New is an empty partition. Stems may be shared with others.
func New(stems *Stems) *Partition {
	return &Partition{
		memories: memories{vocabulary: newVocabulary(stems), byID: map[string]uint32{}},
		turns:    turns{vocabulary: newVocabulary(stems), sessions: map[string]*session{}, speakers: map[string]*speaker{}},
		scopes:   scopes{ids: map[memoryd.Scope]uint32{}},
	}
}

// Bytes estimates what the partition takes in memory.
func (p *Partition) Bytes() int64 {
	rows := len(p.memories.rows)*int(unsafe.Sizeof(memory{})) + len(p.turns.rows)*int(unsafe.Sizeof(turn{}))
	return 1024 + int64(rows) + p.memories.bytes + p.memories.extra + p.turns.bytes + p.turns.extra
}

// Len is how many memories and turns the partition holds.
func (p *Partition) Len() (memories, turns int) { return p.memories.live, p.turns.live }

// Hit is a record that was found. A turn has a Session and a Seq, a memory an ID.
type Hit struct {
	Score   float64 // 0 to 1
	ID      string
	Session string
	Seq     int64
	Scope   memoryd.Scope

	weight float64 // a memory's importance × strength, where it counts
	time   int64   // microseconds
}

// Turn is the key of a turn's hit.
func (h *Hit) Turn() memoryd.TurnKey { return memoryd.TurnKey{Session: h.Session, Seq: h.Seq} }

// before orders hits: best first, then heavier, newer, and by key; of memories recorded at once, the later id is newer.
func (h *Hit) before(o *Hit) bool {
	switch {
	case h.Score != o.Score:
		return h.Score > o.Score
	case h.weight != o.weight:
		return h.weight > o.weight
	case h.time != o.time:
		return h.time > o.time
	case h.ID != o.ID:
		return h.ID > o.ID
	case h.Session != o.Session:
		return h.Session < o.Session
	}
	return h.Seq < o.Seq
}

// Compare orders hits of both kinds as they are to be shown.
func Compare(x, y Hit) int {
	switch {
	case x.before(&y):
		return -1
	case y.before(&x):
		return 1
	}
	return 0
}

// scopes gives the scopes that rows carry small numbers.
type scopes struct {
	ids  map[memoryd.Scope]uint32
	list []memoryd.Scope
}

func (s *scopes) id(scope memoryd.Scope) uint32 {
	id, ok := s.ids[scope]
	if !ok {
		id = uint32(len(s.list))
		scope = memoryd.Scope(strings.Clone(string(scope)))
		s.ids[scope] = id
		s.list = append(s.list, scope)
	}
	return id
}
