package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"memoryd"
)

type turns struct {
	vocabulary
	rows     []turn // by slot
	sessions map[string]*session
	byNumber []*session // sessions by number; nil: the number is free
	free     []uint32
	speakers map[string]*speaker
	extra    int64 // bytes beside the words and rows
}

type turn struct {
	in     *session // nil: the slot is empty
	by     *speaker // nil: nameless
	seq    int64
	time   int64   // microseconds
	length float32 // ln(1 + distinct words) / 3
	asking float32 // share of its sentences that end in a question mark
	scope  uint32
	trust  uint8
	dated  bool // holds a word of time
}

type session struct {
	id     string
	number uint32
	slots  []uint32 // in order of seq
	size   int64    // words of its turns
}

type speaker struct {
	name  string // as it must stand in a query
	first string // the same for its first word, "" where it has no other
	key   string
	turns int
}

// What a session and a speaker take beside their text, maps included.
const (
	sessionCost = 200
	speakerCost = 200
)

// PutTurn adds the turn, or replaces the one of its session and seq. It is indexed with its speaker and its date in
// front.
func (p *Partition) PutTurn(t *memoryd.Turn) {
	p.RemoveTurn(memoryd.TurnKey{Session: t.Session, Seq: t.Seq})
	s := &p.turns
	name, text := Fold(t.Name), Fold(t.Text)
	slot, what := s.add(name+" "+dateOf(t.Time, text), text)
	in := s.session(t.Session)
	s.rows = append(s.rows, turn{
		in: in, by: s.speaker(name), seq: t.Seq, time: t.Time.UnixMicro(),
		length: float32(math.Log1p(float64(what.distinct)) / 3), asking: asking(text),
		scope: p.scopes.id(t.Scope), trust: uint8(t.Trust.Rank()), dated: what.dated,
	})
	at, _ := s.place(in, t.Seq)
	in.slots = slices.Insert(in.slots, at, slot)
	in.size += int64(s.sizes[slot])
	s.extra += 8
}

// RemoveTurn takes the turn out, if it is there.
func (p *Partition) RemoveTurn(key memoryd.TurnKey) {
	s := &p.turns
	in, ok := s.sessions[key.Session]
	if !ok {
		return
	}
	at, ok := s.place(in, key.Seq)
	if !ok {
		return
	}
	slot := in.slots[at]
	in.slots = slices.Delete(in.slots, at, at+1)
	in.size -= int64(s.sizes[slot])
	s.extra -= 8
	if len(in.slots) == 0 {
		delete(s.sessions, in.id)
		s.byNumber[in.number] = nil
		s.free = append(s.free, in.number)
		s.extra -= sessionCost + int64(len(in.id))
	}
	if by := s.rows[slot].by; by != nil {
		if by.turns--; by.turns == 0 {
			delete(s.speakers, by.key)
			s.extra -= speakerCost + 3*int64(len(by.key))
		}
	}
	s.remove(slot)
	s.rows[slot] = turn{}
	if s.sparse() {
		s.squeeze()
	}
}

// place is where the turn of that seq stands among the session's, or would.
func (s *turns) place(in *session, seq int64) (int, bool) {
	return slices.BinarySearchFunc(in.slots, seq, func(slot uint32, seq int64) int { return cmp.Compare(s.rows[slot].seq, seq) })
}

func (s *turns) session(id string) *session {
	in, ok := s.sessions[id]
	if !ok {
		in = &session{id: strings.Clone(id), number: uint32(len(s.byNumber))}
		if n := len(s.free); n > 0 {
			in.number, s.free = s.free[n-1], s.free[:n-1]
			s.byNumber[in.number] = in
		} else {
			s.byNumber = append(s.byNumber, in)
		}
		s.sessions[in.id] = in
		s.extra += sessionCost + int64(len(id))
	}
	return in
}

// speaker is the one of the folded name, with a turn more.
func (s *turns) speaker(name string) *speaker {
	if name == "" {
		return nil
	}
	by, ok := s.speakers[name]
	if !ok {
		by = newSpeaker(strings.Clone(name))
		s.speakers[by.key] = by
		s.extra += speakerCost + 3*int64(len(name))
	}
	by.turns++
	return by
}

// squeeze renumbers the slots without the empty ones.
func (s *turns) squeeze() {
	at := s.vocabulary.squeeze(func(slot uint32) bool { return s.rows[slot].in != nil })
	s.rows = slices.Clip(slices.DeleteFunc(s.rows, func(t turn) bool { return t.in == nil }))
	for _, in := range s.sessions {
		for i, slot := range in.slots {
			in.slots[i] = at[slot]
		}
	}
}

// dateOf is a turn's own local date in the language of its text.
func dateOf(t time.Time, text string) string {
	if hasHan(text) {
		return t.Format("2006年1月2日")
	}
	return strings.ToLower(t.Format("2 January 2006"))
}

func hasHan(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= firstHan && unicode.Is(unicode.Han, r) })
}
