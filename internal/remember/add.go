package remember

import (
	"context"
	"errors"
	"slices"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/judge"
)

// What became of a memory to keep.
const (
	Stored    = "stored"
	Duplicate = "duplicate"
)

// Add keeps one memory, or confirms the active one of the same text that stands in the scope.
func (w *Writer) Add(ctx context.Context, g access.Grant, r AddRequest) (Added, error) {
	return w.add(ctx, g, r, nil)
}

func (w *Writer) add(ctx context.Context, g access.Grant, r AddRequest, k keep) (Added, error) {
	m, notes, err := w.prepare(g, "", r, w.now())
	if err != nil {
		return Added{}, err
	}
	var out Added
	err = w.write(ctx, g, "add", func(tx memoryd.Tx) (err error) {
		if out, err = w.put(tx, g, "", m); err != nil {
			return err
		}
		out.Notes = notes
		return k.result(tx, receiptOf(BatchItem{Added: out}))
	})
	if err != nil {
		return Added{}, err
	}
	return out, nil
}

// AddBatch keeps many memories at once. An item that is refused carries its error and leaves the others be; an error
// of the call means that none was kept. Items with equal texts are one memory.
func (w *Writer) AddBatch(ctx context.Context, g access.Grant, list []AddRequest) ([]BatchItem, error) {
	return w.addBatch(ctx, g, list, nil)
}

func (w *Writer) addBatch(ctx context.Context, g access.Grant, list []AddRequest, k keep) ([]BatchItem, error) {
	switch {
	case len(list) == 0:
		return nil, memoryd.BadField("items", "is empty")
	case len(list) > maxBatch:
		return nil, memoryd.BadFieldAs("too-long", "items", "holds more than %d items", maxBatch)
	}
	now := w.now()
	out := make([]BatchItem, len(list))
	memories := make([]memoryd.Memory, len(list))
	var good []int
	for i, r := range list {
		memories[i], out[i].Notes, out[i].Err = w.prepare(g, item(i), r, now)
		if out[i].Err == nil {
			good = append(good, i)
		}
	}
	if len(good) == 0 && k == nil {
		return out, nil
	}
	err := w.write(ctx, g, "add batch", func(tx memoryd.Tx) error {
		for _, i := range good {
			added, err := w.put(tx, g, item(i), memories[i])
			var bad *memoryd.Error
			if err != nil && !(errors.As(err, &bad) && bad.Code == memoryd.Invalid) {
				return err
			}
			out[i] = BatchItem{Added: Added{Memory: added.Memory, State: added.State, Notes: out[i].Notes}, Err: err}
		}
		return k.result(tx, receiptsOf(out))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// prepare makes the memory that a request asks for, all but the look for one that stands there already. at stands in
// front of the fields' names in errors.
func (w *Writer) prepare(g access.Grant, at string, r AddRequest, now time.Time) (memoryd.Memory, []string, error) {
	m, source, notes, err := w.shape(at, r, now)
	if err != nil {
		return memoryd.Memory{}, nil, err
	}
	if m.Scope, err = scopeOf(at+"scope", r.Scope, g); err != nil {
		return memoryd.Memory{}, nil, err
	}
	if !g.Writes().Has(m.Scope) {
		return memoryd.Memory{}, nil, denied(m.Scope)
	}
	text, cleaned, err := w.checkText(at+"text", r.Text)
	if err != nil {
		return memoryd.Memory{}, nil, err
	}
	m.Text, m.Hash, m.Tokens = text, w.hash(text), w.o.Count(text)
	if m.Type, m.TypedBy = typeOf(r.Type, text); !g.AllowsType(m.Type) {
		return memoryd.Memory{}, nil, typeDenied(m.Type)
	}
	c, lowered := claimOf(g, source, r.Trust)
	m.Trust, m.Source = c.trust, c.source
	if m.Form = r.Form; m.Form == "" {
		m.Form = formOf(m.Type, m.Source, text)
	}
	if m.Importance = r.Importance; m.Importance == 0 {
		m.Importance = importanceOf(m.Type)
	}
	m.Tenant, m.User, m.Agent = g.Tenant(), g.Owner().User, g.Agent()
	m.Provenance = memoryd.Provenance{Writer: g.Writer(), Agent: g.Agent()}
	return m, union(notes, cleaned, lowered), nil
}

// shape checks what can be checked without knowing who asks.
func (w *Writer) shape(at string, r AddRequest, now time.Time) (m memoryd.Memory, source memoryd.Source, notes []string, err error) {
	m = memoryd.Memory{
		ID: w.o.NewID(), Status: memoryd.Active, Strength: 1, Recorded: now, Version: 1, ConsolidatedFrom: []string{},
	}
	if r.Type != "" {
		if err := checkType(at+"type", r.Type); err != nil {
			return m, "", nil, err
		}
	}
	source, ok := sourceOf(r.Source)
	switch {
	case r.Form != "" && !slices.Contains(memoryd.Forms, r.Form):
		err = memoryd.BadField(at+"form", "want one of %v", memoryd.Forms)
	case r.Trust != "" && r.Trust.Rank() == 0:
		err = memoryd.BadField(at+"trust", "want high, medium or low")
	case r.Source != "" && !ok:
		err = memoryd.BadField(at+"source", "want user_direct, user_approved, agent_output, tool_result, inferred, import or consolidation")
	case r.Importance < 0 || r.Importance > 10:
		err = memoryd.BadField(at+"importance", "want 1 to 10")
	}
	if err != nil {
		return m, "", nil, err
	}
	var more []string
	if m.Occurred, err = checkSpan(at+"occurred", r.Occurred); err != nil {
		return m, "", nil, err
	}
	if m.Expires, err = checkExpires(at+"expires", r.Expires, now); err != nil {
		return m, "", nil, err
	}
	if m.Labels, notes, err = w.checkLabels(at+"labels", r.Labels); err != nil {
		return m, "", nil, err
	}
	m.Metadata, more, err = checkMetadata(at+"metadata", r.Metadata)
	return m, source, union(notes, more), err
}

// typeOf is the type and who said so.
func typeOf(given memoryd.Type, text string) (memoryd.Type, string) {
	if given != "" {
		return given, "given"
	}
	if t, ok := judge.Type(text); ok {
		return t, "rule"
	}
	return memoryd.TaskLog, "default"
}
