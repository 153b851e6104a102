package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"memoryd"
)

var _ memoryd.Memories = memories{}

type memories struct{ *tx }

// memoryColumns are those that a memory's versions have too, in the order of memoryArgs and scanMemory.
const memoryColumns = "tenant, id, usr, agent, scope, text, type, form, trust, source, status, sensitive, importance, strength, " +
	"occurred, occurred_off, occurred_end, occurred_end_off, recorded, last_confirmed, last_used, uses, expires, immutable, " +
	"labels, metadata, provenance, consolidated_from, superseded_by, archived, archived_reason, version, typed_by, hash, tokens"

// placeColumns are those that only the current state has, in the order of placeArgs.
const placeColumns = "grouped, live, part, changed"

var (
	insertMemory = "INSERT INTO memories (" + memoryColumns + ", " + placeColumns + ") VALUES (" + marks(39) + ")"
	updateMemory = "UPDATE memories SET " + strings.ReplaceAll(memoryColumns+", "+placeColumns, ",", " = ?,") +
		" = ? WHERE tenant = ? AND id = ? AND version = ?"
)

func memoryArgs(m memoryd.Memory) ([]any, error) {
	labels, err := json.Marshal(m.Labels)
	if len(m.Labels) == 0 {
		labels = []byte("{}")
	}
	provenance, err2 := json.Marshal(m.Provenance)
	from, err3 := json.Marshal(m.ConsolidatedFrom)
	for _, err := range []error{err, err2, err3} {
		if err != nil {
			return nil, fmt.Errorf("sqlstore: memory %s: %w", m.ID, err)
		}
	}
	occurred, end := [2]any{}, [2]any{}
	if m.Occurred != nil {
		occurred = [2]any{micros(m.Occurred.Start), offset(m.Occurred.Start)}
		if e := m.Occurred.End; e != nil {
			end = [2]any{micros(*e), offset(*e)}
		}
	}
	var used int64
	if m.LastUsed != nil {
		used = micros(*m.LastUsed)
	}
	var (
		archived any
		reason   string
	)
	if m.ArchivedAt != nil {
		archived, reason = micros(m.ArchivedAt.At), m.ArchivedAt.Reason
	}
	return []any{
		m.Tenant, m.ID, m.User, m.Agent, string(m.Scope), m.Text, string(m.Type), string(m.Form), string(m.Trust), string(m.Source),
		string(m.Status), flag(m.Sensitive), m.Importance, m.Strength, occurred[0], occurred[1], end[0], end[1], micros(m.Recorded),
		optMicros(m.LastConfirmed), used, m.Uses, optMicros(m.Expires), flag(m.Immutable), string(labels), object(m.Metadata),
		string(provenance), string(from), m.SupersededBy, archived, reason, m.Version, m.TypedBy, m.Hash, m.Tokens,
	}, nil
}

// placeArgs is where the memory stands. One without a hash has no twins.
func placeArgs(m memoryd.Memory, part, change int64) []any {
	var live any
	if isLive(m) {
		live = m.Hash
	}
	return []any{flag(m.Scope.Group() != ""), live, part, change}
}

func isLive(m memoryd.Memory) bool { return m.Status == memoryd.Active && m.Hash != "" }

// scanMemory scans memoryColumns and what stands behind them. Absent labels, metadata and sources are answered empty,
// not nil: clients see {} and [].
func scanMemory(r *sql.Rows, more ...any) (memoryd.Memory, error) {
	var (
		m                                  memoryd.Memory
		labels, metadata, provenance, from string
		reason                             string
		occurred, off, end, endOff         sql.NullInt64
		confirmed, expires, archived       sql.NullInt64
		recorded, used                     int64
	)
	err := r.Scan(append([]any{
		&m.Tenant, &m.ID, &m.User, &m.Agent, (*string)(&m.Scope), &m.Text, (*string)(&m.Type), (*string)(&m.Form), (*string)(&m.Trust), (*string)(&m.Source),
		(*string)(&m.Status), &m.Sensitive, &m.Importance, &m.Strength, &occurred, &off, &end, &endOff, &recorded,
		&confirmed, &used, &m.Uses, &expires, &m.Immutable, &labels, &metadata,
		&provenance, &from, &m.SupersededBy, &archived, &reason, &m.Version, &m.TypedBy, &m.Hash, &m.Tokens,
	}, more...)...)
	if err != nil {
		return m, err
	}
	m.Recorded, m.LastConfirmed, m.Expires = timeOf(recorded), optTime(confirmed), optTime(expires)
	if used != 0 {
		m.LastUsed = new(timeOf(used))
	}
	if occurred.Valid {
		m.Occurred = &memoryd.Span{Start: timeAt(occurred.Int64, off.Int64)}
		if end.Valid {
			m.Occurred.End = new(timeAt(end.Int64, endOff.Int64))
		}
	}
	if archived.Valid {
		m.ArchivedAt = &memoryd.Archive{At: timeOf(archived.Int64), Reason: reason}
	}
	m.Metadata = []byte(metadata)
	return m, decodeMemory(&m, labels, provenance, from)
}

// decodeMemory spares the parser for the usual empty values.
func decodeMemory(m *memoryd.Memory, labels, provenance, from string) error {
	m.Labels, m.ConsolidatedFrom = map[string]string{}, []string{}
	if labels != "{}" {
		if err := json.Unmarshal([]byte(labels), &m.Labels); err != nil {
			return fmt.Errorf("labels of memory %s: %w", m.ID, err)
		}
	}
	if from != "null" && from != "[]" {
		if err := json.Unmarshal([]byte(from), &m.ConsolidatedFrom); err != nil {
			return fmt.Errorf("sources of memory %s: %w", m.ID, err)
		}
	}
	if err := json.Unmarshal([]byte(provenance), &m.Provenance); err != nil {
		return fmt.Errorf("provenance of memory %s: %w", m.ID, err)
	}
	return nil
}

func (t memories) Insert(m memoryd.Memory) error {
	args, err := memoryArgs(m)
	if err != nil {
		return err
	}
	part, version, err := t.bump(m.Partition(), 1)
	if err != nil {
		return err
	}
	_, err = t.exec(insertMemory, append(args, placeArgs(m, part, version)...)...)
	return t.twinOr(err)
}

// checkTwin looks before anything is written, so that a refused write does not count the partition up.
func (t memories) checkTwin(m memoryd.Memory, part int64) error {
	if !isLive(m) || part == 0 {
		return nil
	}
	var id string
	found, err := t.row("SELECT id FROM memories WHERE part = ? AND scope = ? AND live = ?", []any{part, string(m.Scope), m.Hash}, &id)
	if err == nil && found && id != m.ID {
		err = memoryd.ErrTwin
	}
	return err
}

// twinOr answers ErrTwin for a broken unique rule: where writers are many, a twin may come between look and write.
func (t memories) twinOr(err error) error {
	if err != nil && t.d.twin(err) {
		return memoryd.ErrTwin
	}
	return err
}

func (t memories) Get(o memoryd.Owner, s memoryd.Scopes, ids ...string) ([]memoryd.Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found := make(map[string]memoryd.Memory, len(ids))
	query := "SELECT " + memoryColumns + " FROM memories WHERE tenant = ? AND id IN (" + marks(padded(len(ids))) + ")"
	err := t.each(query, pad([]any{o.Tenant}, ids), func(r *sql.Rows) error {
		m, err := scanMemory(r)
		if err == nil && sees(o, s, m.Tenant, m.User, m.Scope) {
			found[m.ID] = m
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []memoryd.Memory
	for _, id := range ids {
		if m, ok := found[id]; ok {
			list = append(list, m)
		}
	}
	return list, nil
}

// Update answers ErrNotFound where there is no such memory.
func (t memories) Update(m memoryd.Memory) error {
	args, err := memoryArgs(m)
	if err != nil {
		return err
	}
	var version, from int64
	found, err := t.row("SELECT version, part FROM memories WHERE tenant = ? AND id = ?", []any{m.Tenant, m.ID}, &version, &from)
	switch {
	case err != nil:
		return err
	case !found:
		return memoryd.ErrNotFound
	case version != m.Version-1:
		return memoryd.ErrVersion
	}
	p := m.Partition()
	part, _, err := t.partition(p)
	if err != nil {
		return err
	}
	if err := t.checkTwin(m, part); err != nil {
		return err
	}
	part, change, err := t.bump(p, 1)
	if err != nil {
		return err
	}
	if part != from {
		if err := t.leave(m.ID, from); err != nil {
			return err
		}
	}
	args = append(append(args, placeArgs(m, part, change)...), m.Tenant, m.ID, version)
	n, err := t.exec(updateMemory, args...)
	if err == nil && n == 0 {
		err = memoryd.ErrVersion
	}
	return t.twinOr(err)
}

// leave notes that a memory is gone from a partition.
func (t memories) leave(id string, part int64) error {
	change, err := t.bumpPart(part, 1)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO removed (part, changed, memory, session, seq) VALUES (?, ?, ?, '', 0)", part, change, id)
	return err
}
