package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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
		full := *memoryd.ErrDiskFull
		full.Err = err
		return &full
	case sqlite3.BUSY, sqlite3.LOCKED, sqlite3.IOERR, sqlite3.CANTOPEN, sqlite3.CORRUPT, sqlite3.NOTADB:
		down := memoryd.Errorf(memoryd.Unavailable, "store-down", "the store cannot be read or written now")
		down.Err = err
		return down
	}
	return err
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

// openSQLite opens a database file with the given pragmas on each connection.
func openSQLite(path, pragmas string) (*sql.DB, error) {
	dsn, err := sqliteDSN(path)
	if err != nil {
		return nil, err
	}
	db, err := driver.Open(dsn, func(c *sqlite3.Conn) error {
		// Without it, statements are planned anew for each value bound to some of their places, which took more time
		// than running them, and a rare value could bring a plan of its own.
		if _, err := c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
			return err
		}
		return c.Exec(pragmas)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	return db, nil
}

func sqliteDSN(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlstore: %w", err)
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/data
	}
	// The log beside the database holds the same texts, and must be closed to the same people.
	// SQLite reads + as itself.
	mode := "modeof=" + strings.ReplaceAll(url.QueryEscape(abs), "+", "%20")
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: mode}).String(), nil
}

// makeSQLite creates the folder and the empty file where they are missing, closed to other users of the machine.
func makeSQLite(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return f.Close()
}

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
