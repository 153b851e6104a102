package sqlstore

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"memoryd"
)

func sqlite() *dialect {
	return &dialect{
		name:     "sqlite",
		contains: func(column string) string { return "instr(" + column + ", ?) > 0" },
		labels: func(column string) string {
			return "NOT EXISTS (SELECT 1 FROM json_each(?) AS want WHERE NOT EXISTS (SELECT 1 FROM json_each(" + column +
				") AS have WHERE have.key = want.key AND have.value = want.value))"
		},
		rows: func(n, width int) string {
			row := "(" + marks(width) + ")"
			return "(VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", n), ", ") + ")"
		},
		twin:  func(err error) bool { return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) },
		fault: sqliteFault,
	}
}

// sqliteFault keeps the driver's error as the cause, which reaches the log only.
func sqliteFault(err error) error {
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) {
		return err
	}
	switch code {
	case sqlite3.FULL:
		return full(err)
	case sqlite3.IOERR, sqlite3.CANTOPEN:
		if noRoom(err) || errors.Is(err, sqlite3.IOERR_SHMSIZE) {
			return full(err)
		}
		if errors.Is(err, sqlite3.IOERR_DATA) {
			return damaged(err)
		}
		return down(err)
	case sqlite3.BUSY, sqlite3.LOCKED:
		return down(err)
	case sqlite3.CORRUPT, sqlite3.NOTADB:
		return damaged(err)
	}
	return err
}

func full(err error) error {
	full := *memoryd.ErrDiskFull
	full.Err = err
	return &full
}

func down(err error) error { return store("the store cannot be read or written now", err) }

func damaged(err error) error {
	return store("a file of the store is damaged; restore a backup", err)
}

func store(detail string, err error) error {
	e := memoryd.Errorf(memoryd.Unavailable, "store-down", "%s", detail)
	e.Err = err
	return e
}

// The first pragmas must be these: the busy time-out guards the rest. Readers need no journal mode: it is the file's.
const (
	writerPragmas = `PRAGMA busy_timeout = 5000;
PRAGMA journal_mode = wal;
PRAGMA synchronous = full;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA temp_store = memory;
PRAGMA cache_size = -16000;
PRAGMA journal_size_limit = 67108864;`
	readerPragmas = `PRAGMA busy_timeout = 5000;
PRAGMA temp_store = memory;
PRAGMA cache_size = -4000;
PRAGMA query_only = on;`
)

// inTransaction says whether SQLite still holds the transaction: it rolls one back by itself when the disk is full or
// fails.
func inTransaction(c *sql.Conn) bool {
	open := false
	err := c.Raw(func(dc any) error {
		open = !dc.(driver.Conn).Raw().GetAutocommit()
		return nil
	})
	return err == nil && open
}
