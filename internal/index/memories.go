package index

import (
	"maps"
	"slices"
	"strings"

	"memoryd"
)

type memories struct {
	vocabulary
	rows  []memory // by slot
	byID  map[string]uint32
	extra int64 // bytes beside the words and rows
}

type memory struct {
	id        string // "": the slot is empty
	labels    map[string]string
	newest    int64 // microseconds: when the statement was last made
	expires   int64 // microseconds; 0: never
	weight    float64
	scope     uint32
	typ       uint8 // these three as place answers them
	form      uint8
	status    uint8
	trust     uint8
	sensitive bool
}

// place is where x stands in the list, from 1, and 0 when it is not there.
func place[T comparable](list []T, x T) uint8 { return uint8(slices.Index(list, x) + 1) }

// extra is what the memory takes beside its row: the id, twice its map entry, and the labels.
func (m *memory) extra() int64 {
	n := int64(64 + len(m.id))
	if m.labels != nil {
		n += 100
	}
	for k, v := range m.labels {
		n += int64(len(k)+len(v)) + 40
	}
	return n
}

// PutMemory adds the memory, or replaces the one of its id.
func (p *Partition) PutMemory(m *memoryd.Memory) {
	p.RemoveMemory(m.ID)
	s := &p.memories
	row := p.rowOf(m)
	slot, _ := s.add("", Fold(m.Text))
	s.rows = append(s.rows, row)
	s.byID[row.id] = slot
	s.extra += row.extra()
}

func (p *Partition) rowOf(m *memoryd.Memory) memory {
	row := memory{
		id: strings.Clone(m.ID), newest: m.Recorded.UnixMicro(), weight: float64(m.Importance) * m.Strength,
		scope: p.scopes.id(m.Scope), typ: place(memoryd.Types, m.Type), form: place(memoryd.Forms, m.Form),
		status: place(memoryd.Statuses, m.Status), trust: uint8(m.Trust.Rank()), sensitive: m.Sensitive,
	}
	switch {
	case m.LastConfirmed != nil:
		row.newest = m.LastConfirmed.UnixMicro()
	case m.Occurred != nil:
		row.newest = m.Occurred.Start.UnixMicro()
	}
	if m.Expires != nil {
		row.expires = max(1, m.Expires.UnixMicro())
	}
	if len(m.Labels) > 0 {
		row.labels = maps.Clone(m.Labels)
	}
	return row
}

// RemoveMemory takes the memory out, if it is there.
func (p *Partition) RemoveMemory(id string) {
	s := &p.memories
	slot, ok := s.byID[id]
	if !ok {
		return
	}
	delete(s.byID, id)
	s.extra -= s.rows[slot].extra()
	s.remove(slot)
	s.rows[slot] = memory{}
	if s.sparse() {
		s.squeeze()
	}
}

// squeeze renumbers the slots without the empty ones.
func (s *memories) squeeze() {
	s.vocabulary.squeeze(func(slot uint32) bool { return s.rows[slot].id != "" })
	s.rows = slices.Clip(slices.DeleteFunc(s.rows, func(m memory) bool { return m.id == "" }))
	for slot := range s.rows {
		s.byID[s.rows[slot].id] = uint32(slot)
	}
}
