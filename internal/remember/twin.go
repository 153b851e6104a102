package remember

import (
	"errors"
	"maps"

	"memoryd"
	"memoryd/internal/access"
)

// put inserts the memory, or confirms its twin. Few memories have one, so the store is asked to insert first; a twin
// that is gone again when it is looked for makes the write begin anew. A store whose transactions end with a broken
// unique rule (PostgreSQL) has to guard Insert with a savepoint of its own.
func (w *Writer) put(tx memoryd.Tx, g access.Grant, at string, m memoryd.Memory) (Added, error) {
	err := tx.Memories.Insert(m)
	if err == nil {
		return Added{Memory: m, State: Stored}, nil
	}
	if !errors.Is(err, memoryd.ErrTwin) {
		return Added{}, err
	}
	twins, err := tx.Memories.List(g.Owner(), memoryd.ScopesOf(m.Scope), memoryd.MemoryFilter{
		Statuses: []memoryd.Status{memoryd.Active}, Hash: m.Hash, Limit: 1,
	})
	if err != nil {
		return Added{}, err
	}
	if len(twins) == 0 {
		return Added{}, raced{memoryd.ErrTwin}
	}
	twin, err := confirm(tx, g, at, twins[0], m)
	return Added{Memory: shown(g, twin, m.Text), State: Duplicate}, err
}

// confirm takes into a memory what its repetition adds: higher trust, labels, a later end, and the time of the
// statement. A version keeps what it was before, unless nothing but that time changed: agents that say the same every
// day would fill the history with equal states. Its number moves on all the same, since every write counts it up.
//
// A memory that cannot be changed, or whose type the writer may not write, stays as it is: the answer is only that it
// is there.
func confirm(tx memoryd.Tx, g access.Grant, at string, old, again memoryd.Memory) (memoryd.Memory, error) {
	if old.Immutable || !g.AllowsType(old.Type) {
		return old, nil
	}
	m := old
	m.Labels = maps.Clone(old.Labels)
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	maps.Copy(m.Labels, again.Labels)
	if len(m.Labels) > maxLabels {
		return memoryd.Memory{}, memoryd.BadFieldAs("too-long", at+"labels", "with those of the memory that stands there they are more than %d", maxLabels)
	}
	if again.Trust.Rank() > m.Trust.Rank() {
		m.Trust = again.Trust
	}
	later := m.Expires != nil && (again.Expires == nil || again.Expires.After(*m.Expires))
	if later {
		// What was just acknowledged must not end with the statement before it.
		m.Expires = again.Expires
	}
	visible := later || m.Trust != old.Trust || !maps.Equal(m.Labels, old.Labels)

	said, before := again.Recorded, old.Recorded
	if again.Occurred != nil && again.Occurred.Start.Before(said) {
		said = stored(again.Occurred.Start)
	}
	if old.Occurred != nil && old.Occurred.Start.Before(before) {
		before = old.Occurred.Start
	}
	if old.LastConfirmed != nil {
		before = *old.LastConfirmed
	}
	// An old conversation that is imported late does not make a memory newer, nor older.
	confirmed := said.After(before) || old.LastConfirmed == nil && said.Equal(before)
	if confirmed {
		m.LastConfirmed = &said
	}
	if !visible && !confirmed {
		return old, nil
	}
	if visible {
		if err := tx.Versions.Add(old, g.Writer(), again.Recorded); err != nil {
			return memoryd.Memory{}, err
		}
	}
	m.Version = old.Version + 1
	if err := tx.Memories.Update(m); err != nil {
		return memoryd.Memory{}, lost(err)
	}
	return m, nil
}

// lost has a write begun again when the row moved on between its look and its write.
func lost(err error) error {
	if errors.Is(err, memoryd.ErrVersion) {
		return raced{err}
	}
	return err
}
