package sqlstore

import (
	"database/sql"
	"time"

	"memoryd"
)

var _ memoryd.Versions = versions{}

type versions struct{ *tx }

func (t versions) Add(old memoryd.Memory, by string, at time.Time) error {
	args, err := memoryArgs(old)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO versions ("+memoryColumns+", replaced_by, replaced_at) VALUES ("+marks(37)+")",
		append(args, by, micros(at))...)
	return err
}

func (t versions) List(tenant, memory string) ([]memoryd.Version, error) {
	var list []memoryd.Version
	query := "SELECT " + memoryColumns + ", replaced_by, replaced_at FROM versions WHERE tenant = ? AND id = ? ORDER BY version"
	err := t.each(query, []any{tenant, memory}, func(r *sql.Rows) error {
		var (
			v   memoryd.Version
			at  int64
			err error
		)
		v.Memory, err = scanMemory(r, &v.ReplacedBy, &at)
		v.ReplacedAt = timeOf(at)
		list = append(list, v)
		return err
	})
	return list, err
}
