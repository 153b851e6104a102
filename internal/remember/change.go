package remember

import (
	"bytes"
	"context"
	"maps"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Deleted is the reason of memories that were archived by Delete.
const Deleted = "deleted"

// Update changes an active memory. What it was before is kept as a version; a patch that changes nothing leaves the
// version as it is. A text that the writer may not vouch for as far as for the old one lowers the memory's trust.
func (w *Writer) Update(ctx context.Context, g access.Grant, id string, p Patch) (memoryd.Memory, []string, error) {
	c, err := w.checkPatch(id, p)
	if err != nil {
		return memoryd.Memory{}, nil, err
	}
	var (
		out   memoryd.Memory
		notes []string
	)
	err = w.write(ctx, g, "update", func(tx memoryd.Tx) error {
		old, err := memory(tx, g, id)
		if err != nil {
			return err
		}
		if p.IfVersion != 0 && p.IfVersion != old.Version {
			return memoryd.ErrVersion
		}
		m, lowered := c.apply(g, old)
		out, notes = old, union(c.notes, lowered)
		if c.empty || same(m, old) {
			return nil
		}
		switch {
		case old.Immutable:
			return memoryd.Errorf(memoryd.Conflict, "immutable", "the memory was stored as one that does not change")
		case old.Status != memoryd.Active:
			return memoryd.Errorf(memoryd.Conflict, "conflict", "the memory is %s; only active ones can be changed", old.Status)
		case !g.AllowsType(m.Type):
			return typeDenied(m.Type)
		}
		out, err = replace(tx, g, old, m, w.now())
		return err
	})
	if err != nil {
		return memoryd.Memory{}, nil, err
	}
	text := ""
	if p.Text != nil {
		text = c.text
	}
	return shown(g, out, text), notes, nil
}

// change is a checked Patch.
type change struct {
	Patch
	empty  bool
	text   string
	hash   string
	tokens int
	notes  []string
}

func (w *Writer) checkPatch(id string, p Patch) (change, error) {
	if err := memoryd.CheckID("id", id); err != nil {
		return change{}, err
	}
	c := change{Patch: p, empty: p.Text == nil && p.Type == nil && p.Expires == nil && !p.NoExpiry && p.Labels == nil && len(p.Metadata) == 0}
	var err error
	if p.Type != nil {
		if err := checkType("type", *p.Type); err != nil {
			return change{}, err
		}
	}
	if p.Expires != nil && p.NoExpiry {
		return change{}, memoryd.BadField("expires", "is both set and cleared")
	}
	if c.Expires, err = checkExpires("expires", p.Expires, w.now()); err != nil {
		return change{}, err
	}
	var labels, metadata, text []string
	if p.Labels != nil {
		if c.Labels, labels, err = w.checkLabels("labels", p.Labels); err != nil {
			return change{}, err
		}
	}
	if len(p.Metadata) > 0 {
		if c.Metadata, metadata, err = checkMetadata("metadata", p.Metadata); err != nil {
			return change{}, err
		}
	}
	if p.Text != nil {
		if c.text, text, err = w.checkText("text", *p.Text); err != nil {
			return change{}, err
		}
		c.hash, c.tokens = w.hash(c.text), w.o.Count(c.text)
	}
	c.notes = union(labels, metadata, text)
	return c, nil
}

func (c change) apply(g access.Grant, m memoryd.Memory) (memoryd.Memory, []string) {
	var notes []string
	if c.Text != nil && c.text != m.Text {
		m.Text, m.Hash, m.Tokens = c.text, c.hash, c.tokens
		allowed, lowered := claim{m.Source, m.Trust}.within(g.MaxTrust())
		if m.Source, m.Trust = allowed.source, allowed.trust; lowered {
			notes = []string{TrustLowered}
		}
	}
	if c.Type != nil {
		m.Type, m.TypedBy = *c.Type, "given"
	}
	if c.Expires != nil {
		m.Expires = c.Expires
	}
	if c.NoExpiry {
		m.Expires = nil
	}
	if c.Labels != nil {
		m.Labels = c.Labels
	}
	if len(c.Metadata) > 0 {
		m.Metadata = c.Metadata
	}
	return m, notes
}

// same compares what a patch can change.
func same(a, b memoryd.Memory) bool {
	return a.Text == b.Text && a.Type == b.Type && a.TypedBy == b.TypedBy && sameTime(a.Expires, b.Expires) &&
		maps.Equal(a.Labels, b.Labels) && bytes.Equal(a.Metadata, b.Metadata)
}

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// Delete archives a memory, from where Restore brings it back. One that was deleted before is answered as it is.
func (w *Writer) Delete(ctx context.Context, g access.Grant, id string) (memoryd.Memory, error) {
	return w.move(ctx, "delete", g, id, nil, func(m *memoryd.Memory, now time.Time) (bool, error) {
		if m.Status == memoryd.Archived && m.ArchivedAt != nil && m.ArchivedAt.Reason == Deleted {
			return false, nil
		}
		m.Status, m.ArchivedAt = memoryd.Archived, &memoryd.Archive{At: now, Reason: Deleted}
		return true, nil
	})
}

// Restore makes an archived memory active again. ErrTwin when an active one of its text stands in the scope by now.
func (w *Writer) Restore(ctx context.Context, g access.Grant, id string) (memoryd.Memory, error) {
	return w.restore(ctx, g, id, nil)
}

func (w *Writer) restore(ctx context.Context, g access.Grant, id string, k keep) (memoryd.Memory, error) {
	return w.move(ctx, "restore", g, id, k, func(m *memoryd.Memory, _ time.Time) (bool, error) {
		if m.Status != memoryd.Archived {
			return false, memoryd.Errorf(memoryd.Conflict, "conflict", "the memory is %s; only archived ones can be restored", m.Status)
		}
		m.Status, m.ArchivedAt = memoryd.Active, nil
		return true, nil
	})
}

// move changes a memory's status; to says how, and false when nothing is to be done.
func (w *Writer) move(ctx context.Context, what string, g access.Grant, id string, k keep, to func(*memoryd.Memory, time.Time) (bool, error)) (memoryd.Memory, error) {
	if err := memoryd.CheckID("id", id); err != nil {
		return memoryd.Memory{}, err
	}
	var out memoryd.Memory
	err := w.write(ctx, g, what, func(tx memoryd.Tx) error {
		old, err := memory(tx, g, id)
		if err != nil {
			return err
		}
		m, now := old, w.now()
		out = old
		if changed, err := to(&m, now); err != nil || !changed {
			return err
		}
		if out, err = replace(tx, g, old, m, now); err != nil {
			return err
		}
		return k.result(tx, struct{}{})
	})
	if err != nil {
		return memoryd.Memory{}, err
	}
	return shown(g, out, ""), nil
}

// replace puts m in the place of old and keeps old as a version.
func replace(tx memoryd.Tx, g access.Grant, old, m memoryd.Memory, now time.Time) (memoryd.Memory, error) {
	if err := tx.Versions.Add(old, g.Writer(), now); err != nil {
		return memoryd.Memory{}, err
	}
	m.Version = old.Version + 1
	if err := tx.Memories.Update(m); err != nil {
		return memoryd.Memory{}, lost(err)
	}
	return m, nil
}
