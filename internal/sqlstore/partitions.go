package sqlstore

import (
	"database/sql"
	"errors"
	"slices"

	"memoryd"
)

var _ memoryd.Partitions = partitions{}

type partitions struct{ *tx }

// partition answers the number and the version of a partition, 0 for one that was never written to.
func (t *tx) partition(p memoryd.Partition) (part, version int64, err error) {
	_, err = t.row("SELECT id, version FROM partitions WHERE tenant = ? AND grp = ? AND usr = ?",
		[]any{p.Tenant, p.Group, p.User}, &part, &version)
	return part, version, err
}

// bump counts the partition up by n and answers its number and its new version; with n = 0 it only makes sure that
// there is one. Where writers are many, the update's row lock is what puts them in order.
func (t *tx) bump(p memoryd.Partition, n int) (part, version int64, err error) {
	found, err := t.exec("UPDATE partitions SET version = version + ? WHERE tenant = ? AND grp = ? AND usr = ?",
		n, p.Tenant, p.Group, p.User)
	if err == nil && found == 0 {
		_, err = t.exec("INSERT INTO partitions (tenant, grp, usr, version) VALUES (?, ?, ?, ?)", p.Tenant, p.Group, p.User, n)
	}
	if err != nil {
		return 0, 0, err
	}
	return t.partition(p)
}

// bumpPart is bump for a partition that is known by its number.
func (t *tx) bumpPart(part int64, n int) (version int64, err error) {
	if _, err := t.exec("UPDATE partitions SET version = version + ? WHERE id = ?", n, part); err != nil {
		return 0, err
	}
	_, err = t.row("SELECT version FROM partitions WHERE id = ?", []any{part}, &version)
	return version, err
}

func (t partitions) Versions(parts []memoryd.Partition) ([]int64, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	found := make(map[memoryd.Partition]int64, len(parts))
	var errs []error
	for some := range slices.Chunk(parts, maxRows) {
		errs = append(errs, t.versions(some, found))
	}
	list := make([]int64, len(parts))
	for i, p := range parts {
		list[i] = found[p]
	}
	return list, errors.Join(errs...)
}

// maxRows is how many rows of three values are asked for with one statement: databases bound their parameters.
const maxRows = 2048

func (t partitions) versions(parts []memoryd.Partition, found map[memoryd.Partition]int64) error {
	asked := make([]any, 0, 3*padded(len(parts)))
	for i := range padded(len(parts)) {
		p := parts[min(i, len(parts)-1)]
		asked = append(asked, p.Tenant, p.Group, p.User)
	}
	query := "SELECT tenant, grp, usr, version FROM partitions WHERE (tenant, grp, usr) IN " + t.d.rows(len(asked)/3, 3)
	return t.each(query, asked, func(r *sql.Rows) error {
		var (
			p       memoryd.Partition
			version int64
		)
		err := r.Scan(&p.Tenant, &p.Group, &p.User, &version)
		found[p] = version
		return err
	})
}

func (t partitions) Groups(tenant string) ([]string, error) {
	var list []string
	err := t.each(`SELECT grp FROM partitions WHERE tenant = ? AND grp > '' AND (
EXISTS (SELECT 1 FROM memories WHERE memories.part = partitions.id) OR
EXISTS (SELECT 1 FROM messages WHERE messages.part = partitions.id)) ORDER BY grp`, []any{tenant}, func(r *sql.Rows) error {
		var group string
		err := r.Scan(&group)
		list = append(list, group)
		return err
	})
	return list, err
}

func (t partitions) Changes(p memoryd.Partition, after int64) (memoryd.Changes, error) {
	part, version, err := t.partition(p)
	if err != nil || version <= after {
		return memoryd.Changes{Version: version}, err
	}
	c := memoryd.Changes{Version: version}
	if c.Memories, err = t.changedMemories(part, after); err != nil {
		return memoryd.Changes{}, err
	}
	if c.Turns, err = t.changedTurns(part, after); err != nil {
		return memoryd.Changes{}, err
	}
	if after > 0 { // who starts from nothing has nothing to take away
		c.Removed, err = t.removed(part, after)
	}
	return c, err
}

func (t *tx) changedMemories(part, after int64) ([]memoryd.ChangedMemory, error) {
	var list []memoryd.ChangedMemory
	query := "SELECT " + memoryColumns + ", changed FROM memories WHERE part = ? AND changed > ? ORDER BY changed"
	err := t.each(query, []any{part, after}, func(r *sql.Rows) error {
		var change int64
		m, err := scanMemory(r, &change)
		list = append(list, memoryd.ChangedMemory{Memory: m, Change: change})
		return err
	})
	return list, err
}

func (t *tx) changedTurns(part, after int64) ([]memoryd.ChangedTurn, error) {
	var list []memoryd.ChangedTurn
	query := "SELECT " + turnColumns + ", m.changed FROM " + turnTables +
		" WHERE m.part = ? AND m.changed > ? AND m.searchable = 1 ORDER BY m.changed"
	err := t.each(query, []any{part, after}, func(r *sql.Rows) error {
		var change int64
		turn, err := scanTurn(r, &change)
		list = append(list, memoryd.ChangedTurn{Turn: turn, Change: change})
		return err
	})
	return list, err
}

func (t *tx) removed(part, after int64) ([]memoryd.Removed, error) {
	var list []memoryd.Removed
	query := "SELECT memory, session, seq, changed FROM removed WHERE part = ? AND changed > ? ORDER BY changed"
	err := t.each(query, []any{part, after}, func(r *sql.Rows) error {
		var gone memoryd.Removed
		err := r.Scan(&gone.Memory, &gone.Turn.Session, &gone.Turn.Seq, &gone.Change)
		list = append(list, gone)
		return err
	})
	return list, err
}
