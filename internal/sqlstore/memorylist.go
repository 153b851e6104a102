package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"memoryd"
)

// conditions collects what a row must fulfil.
type conditions struct {
	sql  strings.Builder
	args []any
}

func (c *conditions) and(condition string, args ...any) {
	c.sql.WriteString(" AND " + condition)
	c.args = append(c.args, args...)
}

func oneOf[T ~string](c *conditions, column string, list []T) {
	if len(list) == 0 {
		return
	}
	args := make([]any, len(list))
	for i, x := range list {
		args[i] = string(x)
	}
	c.and(column+" IN ("+marks(len(args))+")", args...)
}

// List asks each area by itself, so that each is read in the order of its index and no further than the limit, and
// merges the answers.
func (t memories) List(o memoryd.Owner, s memoryd.Scopes, f memoryd.MemoryFilter) ([]memoryd.Memory, error) {
	column, err := sortColumn(f.Sort)
	if err != nil {
		return nil, err
	}
	if f.Limit <= 0 {
		f.Limit = math.MaxInt32
	}
	areas, err := t.areas(o, s)
	if err != nil {
		return nil, err
	}
	rest, err := t.conditions(f, column)
	if err != nil {
		return nil, err
	}
	var list []memoryd.Memory
	for _, a := range areas {
		query := "SELECT " + memoryColumns + " FROM memories WHERE " + a.where + rest.sql.String() +
			" ORDER BY " + column + " DESC, id DESC LIMIT ?"
		err := t.each(query, slices.Concat(a.args, rest.args, []any{f.Limit}), func(r *sql.Rows) error {
			m, err := scanMemory(r)
			list = append(list, m)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b memoryd.Memory) int {
		return cmp.Or(cmp.Compare(sortValue(b, f.Sort), sortValue(a, f.Sort)), cmp.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), f.Limit)], nil
}

func sortColumn(s memoryd.Sort) (string, error) {
	switch s {
	case memoryd.ByRecorded, "":
		return "recorded", nil
	case memoryd.ByLastUsed:
		return "last_used", nil
	case memoryd.ByImportance:
		return "importance", nil
	}
	return "", fmt.Errorf("sqlstore: there is no sort %q", s)
}

// sortValue is a memory's MemoryPos.Value; one that was never used sorts as 0.
func sortValue(m memoryd.Memory, s memoryd.Sort) int64 {
	switch s {
	case memoryd.ByLastUsed:
		if m.LastUsed == nil {
			return 0
		}
		return micros(*m.LastUsed)
	case memoryd.ByImportance:
		return int64(m.Importance)
	}
	return micros(m.Recorded)
}

func (t memories) conditions(f memoryd.MemoryFilter, column string) (*conditions, error) {
	c := &conditions{}
	if len(f.Statuses) == 0 {
		f.Statuses = []memoryd.Status{memoryd.Active}
	}
	oneOf(c, "status", f.Statuses)
	oneOf(c, "type", f.Types)
	oneOf(c, "form", f.Forms)
	oneOf(c, "trust", f.Trusts)
	if f.Agent != "" {
		c.and("agent = ?", f.Agent)
	}
	if len(f.Labels) > 0 {
		pairs, err := json.Marshal(f.Labels)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: labels: %w", err)
		}
		c.and(t.d.labels("labels"), string(pairs))
	}
	if f.Contains != "" {
		c.and(t.d.contains("text"), f.Contains)
	}
	if !f.Since.IsZero() {
		c.and("recorded >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		c.and("recorded < ?", micros(f.Until))
	}
	if f.Hash != "" {
		c.and("hash = ?", f.Hash)
		if slices.Equal(f.Statuses, []memoryd.Status{memoryd.Active}) {
			c.and("live = ?", f.Hash) // the same rows, by the unique index
		}
	}
	if !f.Unexpired.IsZero() {
		c.and("(expires IS NULL OR expires > ? OR status <> 'active')", micros(f.Unexpired))
	}
	if f.After != nil { // written so that every database can start its index there
		c.and(column+" <= ? AND ("+column+" < ? OR id < ?)", f.After.Value, f.After.Value, f.After.ID)
	}
	return c, nil
}
