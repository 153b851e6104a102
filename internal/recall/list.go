package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/access"
)

// Memory is one memory, in whatever state it is.
func (r *Reader) Memory(ctx context.Context, g access.Grant, id string) (memoryd.Memory, error) {
	var m memoryd.Memory
	err := r.read(ctx, "memory", func(tx memoryd.Tx) (err error) {
		m, err = memory(tx, g, id)
		return err
	})
	return m, err
}

// History is what a memory was and is, oldest first; the last one is current and replaced by nobody.
func (r *Reader) History(ctx context.Context, g access.Grant, id string) ([]memoryd.Version, error) {
	var list []memoryd.Version
	err := r.read(ctx, "history", func(tx memoryd.Tx) error {
		m, err := memory(tx, g, id)
		if err != nil {
			return err
		}
		if list, err = tx.Versions.List(m.Tenant, m.ID); err != nil {
			return err
		}
		list = append(list, memoryd.Version{Memory: m})
		return nil
	})
	return list, err
}

func memory(tx memoryd.Tx, g access.Grant, id string) (memoryd.Memory, error) {
	if err := memoryd.CheckID("id", id); err != nil {
		return memoryd.Memory{}, err
	}
	list, err := tx.Memories.Get(g.Reach(), g.Reads(), id)
	if err != nil {
		return memoryd.Memory{}, err
	}
	if len(list) == 0 {
		return memoryd.Memory{}, memoryd.ErrNotFound
	}
	return list[0], nil
}

// Memories is a page of memories. Unlike a search, a list of one scope holds that scope alone.
func (r *Reader) Memories(ctx context.Context, g access.Grant, req ListRequest) (MemoryPage, error) {
	f := req.Filter
	size, err := checkList(&f)
	if err != nil {
		return MemoryPage{}, err
	}
	scopes, err := listed(g, req.Scope)
	if err != nil {
		return MemoryPage{}, err
	}
	list := listOf("memories", g.Owner(), g.Agent(), req.Scope, filterKey(f))
	after, err := readCursor(req.Cursor, list)
	if err != nil {
		return MemoryPage{}, err
	}
	f.Unexpired = r.o.Now()
	f.After, f.Limit = nil, size+1
	if after != nil {
		f.After = &memoryd.MemoryPos{Value: after.Value, ID: after.ID}
	}
	page := MemoryPage{Notes: notes(g.Notes())}
	err = r.read(ctx, "memories", func(tx memoryd.Tx) error {
		found, err := tx.Memories.List(g.Owner(), scopes, f)
		page.Items = append([]memoryd.Memory{}, found...)
		return err
	})
	if err != nil {
		return MemoryPage{}, err
	}
	if len(page.Items) > size {
		page.Items = page.Items[:size]
		last := page.Items[size-1]
		page.Next = cursor{List: list, Value: place(last, f.Sort), ID: last.ID}.String()
	}
	return page, nil
}

// checkList checks a filter, fills in its sort and answers the size of a page.
func checkList(f *memoryd.MemoryFilter) (int, error) {
	if f.Sort == "" {
		f.Sort = memoryd.ByRecorded
	}
	size, err := pageOf(f.Limit)
	if utf8.RuneCountInString(f.Contains) > MaxQuery {
		err = first(err, memoryd.BadFieldAs("too-long", "q", "is longer than %d characters", MaxQuery))
	}
	return size, first(
		err,
		checkWords("sort", []memoryd.Sort{f.Sort}, []memoryd.Sort{memoryd.ByRecorded, memoryd.ByLastUsed, memoryd.ByImportance}),
		checkWords("status", f.Statuses, memoryd.Statuses),
		checkWords("type", f.Types, memoryd.Types),
		checkWords("form", f.Forms, memoryd.Forms),
		checkWords("trust", f.Trusts, []memoryd.Trust{memoryd.High, memoryd.Medium, memoryd.Low}),
	)
}

// listed resolves the scope of a list.
func listed(g access.Grant, text string) (memoryd.Scopes, error) {
	if text == "" || text == "all" {
		return g.Reads(), nil
	}
	if group, ok := strings.CutPrefix(text, "cross:"); ok {
		at, err := crossed(g, group)
		return at.memories, err
	}
	s, err := named(g, text)
	if err != nil {
		return memoryd.Scopes{}, err
	}
	if !g.Reads().Has(s) {
		return memoryd.Scopes{}, refused(s)
	}
	return memoryd.ScopesOf(s), nil
}

// filterKey is all of a filter that narrows or orders a list, not where in it a page begins.
func filterKey(f memoryd.MemoryFilter) string {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(f.Labels)) {
		labels = append(labels, k, f.Labels[k])
	}
	return fmt.Sprintf("%q %q %q %q %q %q %q %d %d %q %q", f.Statuses, f.Types, f.Forms, f.Trusts, f.Agent, labels,
		f.Contains, micros(f.Since), micros(f.Until), f.Hash, f.Sort)
}

// place is a memory's position under a sort; one that was never used stands at 0.
func place(m memoryd.Memory, s memoryd.Sort) int64 {
	switch s {
	case memoryd.ByImportance:
		return int64(m.Importance)
	case memoryd.ByLastUsed:
		if m.LastUsed == nil {
			return 0
		}
		return m.LastUsed.UnixMicro()
	}
	return m.Recorded.UnixMicro()
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// read runs f on a snapshot; what is not an Error gets to say where it came from.
func (r *Reader) read(ctx context.Context, what string, f func(memoryd.Tx) error) error {
	if err := r.o.Store.Read(ctx, f); err != nil {
		return fmt.Errorf("recall: %s: %w", what, err)
	}
	return nil
}
