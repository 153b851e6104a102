package transfer

import (
	"fmt"

	"memoryd"
	"memoryd/internal/remember"
)

// memories takes memories of one tenant, each followed by its versions; the first rows may be versions of the memory before.
func (w *work) memories(rows []row) error {
	have, err := w.stored(rows)
	if err != nil {
		return err
	}
	twins, err := w.twins(rows, have)
	if err != nil {
		return err
	}
	var (
		add  []memoryd.Memory
		kept []memoryd.Version
		old  map[int64]memoryd.Version // versions of the current memory that the store holds
	)
	for _, row := range rows {
		r := row.v.(*memoryRow)
		if r.Row == rowVersion {
			if row.why != "" && w.st.fateOf != refused {
				w.done.refuse(rowVersion, r.Tenant, fmt.Sprintf("%s/%d", r.ID, r.Version), row.line, row.why)
				continue
			}
			if w.st.fateOf == known && old == nil {
				if old, err = w.versions(r); err != nil {
					return err
				}
			}
			if v := w.version(r, row.line, old); v != nil {
				kept = append(kept, *v)
			}
			continue
		}
		old = nil
		stored, there := have[r.ID]
		switch {
		case row.why != "":
			w.st.fateOf = refused
			w.done.refuse(rowMemory, r.Tenant, r.ID, row.line, row.why)
		case there && same(stored, r):
			w.st.fateOf = known
			w.done.Duplicate++
		case there:
			w.st.fateOf = refused
			w.done.refuse(rowMemory, r.Tenant, r.ID, row.line, other(stored, r))
		case twins[r.ID]:
			w.st.fateOf = twin
			w.done.Duplicate++
		default:
			w.st.fateOf = fresh
			add = append(add, w.hashed(r))
			if r.Status == memoryd.Quarantined {
				w.done.Quarantined++
			} else {
				w.done.Added++
			}
		}
	}
	return w.keep(add, kept)
}

func (w *work) keep(add []memoryd.Memory, kept []memoryd.Version) error {
	if w.o.DryRun {
		return nil
	}
	if err := w.tx.Load.Memories(add); err != nil {
		return err
	}
	for _, v := range kept {
		if err := w.tx.Versions.Add(v.Memory, v.ReplacedBy, v.ReplacedAt); err != nil {
			return err
		}
	}
	return nil
}

// stored is the store's memories of the rows' ids.
func (w *work) stored(rows []row) (map[string]memoryd.Memory, error) {
	var ids []string
	tenant := ""
	for _, row := range rows {
		if r := row.v.(*memoryRow); r.Row == rowMemory {
			ids, tenant = append(ids, r.ID), r.Tenant
		}
	}
	list, err := w.tx.Memories.Get(memoryd.Owner{Tenant: tenant}, memoryd.AllScopes(), ids...)
	if err != nil {
		return nil, err
	}
	have := make(map[string]memoryd.Memory, len(list))
	for _, m := range list {
		have[m.ID] = m
	}
	return have, nil
}

// twins is the ids of new memories whose text stands active in their scope under another id, in the store or earlier
// in the file.
func (w *work) twins(rows []row, have map[string]memoryd.Memory) (map[string]bool, error) {
	var list []memoryd.Memory
	for _, row := range rows {
		r := row.v.(*memoryRow)
		if _, there := have[r.ID]; !there && r.Row == rowMemory && row.why == "" && r.Status == memoryd.Active {
			list = append(list, w.hashed(r))
		}
	}
	found, err := w.tx.Load.Twins(list)
	if err != nil {
		return nil, err
	}
	twins, seen := map[string]bool{}, map[twinKey]bool{}
	for i, m := range list {
		k := twinKey{m.Partition(), m.Scope, m.Hash}
		if found[i] != "" || seen[k] || w.planned[k] {
			twins[m.ID] = true
			continue
		}
		seen[k] = true
		if w.o.DryRun {
			w.plans = append(w.plans, k)
		}
	}
	return twins, nil
}

func (w *work) hashed(r *memoryRow) memoryd.Memory {
	m := r.memory()
	m.Hash = remember.Hash(w.o.Fold, m.Text)
	return m
}

// same leaves out what moves without being said: counts of use, and what decay leaves.
func same(m memoryd.Memory, r *memoryRow) bool {
	x, y := rowOfMemory(m), rowOfMemory(r.memory())
	for _, r := range []*memoryRow{x, y} {
		r.Uses, r.LastUsed, r.Strength = 0, nil, 0
	}
	return equal(x, y)
}

func other(m memoryd.Memory, r *memoryRow) string {
	if m.Version != r.Version {
		return fmt.Sprintf("the memory is there in version %d, the file has %d", m.Version, r.Version)
	}
	return "the id stands for another memory"
}

func (w *work) versions(r *memoryRow) (map[int64]memoryd.Version, error) {
	list, err := w.tx.Versions.List(r.Tenant, r.ID)
	if err != nil {
		return nil, err
	}
	old := make(map[int64]memoryd.Version, len(list))
	for _, v := range list {
		old[v.Version] = v
	}
	return old, nil
}

// version answers the version to add, nil where there is none: it shares its memory's fate.
func (w *work) version(r *memoryRow, line int64, old map[int64]memoryd.Version) *memoryd.Version {
	stored, there := old[r.Version]
	switch {
	case w.st.fateOf == refused:
		w.done.RefusedRows++
		return nil
	case w.st.fateOf == twin, there && equal(rowOfVersion(stored), rowOfVersion(r.version())):
		w.done.Duplicate++
		return nil
	case there:
		w.done.refuse(rowVersion, r.Tenant, fmt.Sprintf("%s/%d", r.ID, r.Version), line, "the memory has another history")
		return nil
	}
	w.done.Added++
	v := r.version()
	v.Hash = remember.Hash(w.o.Fold, v.Text)
	return &v
}
