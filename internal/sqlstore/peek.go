package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"memoryd"
)

// Peek runs f on one snapshot of a store that another process may have open. It takes no lock, and neither makes nor
// migrates anything.
func Peek(ctx context.Context, o Options, f func(memoryd.Tx) error) error {
	return o.peek(func(db *sql.DB) error {
		p := newPool(db, sqlite(), 1)
		return errors.Join(p.read(ctx, f), p.stop())
	})
}

// Check reads the whole database and answers what is wrong with its structure: nothing when it is sound. It takes no
// lock, and as long as reading the file takes.
func Check(ctx context.Context, o Options) ([]string, error) {
	var found []string
	err := o.peek(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "PRAGMA quick_check(10)")
		if err != nil {
			return sqliteFault(err)
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return sqliteFault(err)
			}
			if line != "ok" {
				found = append(found, line)
			}
		}
		if err := rows.Err(); err != nil {
			return sqliteFault(err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: check: %w", err)
	}
	return found, nil
}

func (o Options) peek(f func(*sql.DB) error) error {
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	files, err := o.beside()
	if err != nil {
		return err
	}
	defer files.close()
	db, err := files.openReader()
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

// Bytes is what the database takes on disk, its log included.
func (s *Store) Bytes() int64 {
	var sum int64
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.files.path + suffix); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
