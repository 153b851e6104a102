package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"memoryd"
)

// conn is one connection, kept for the life of the store, with its prepared statements. One goroutine uses it at a
// time.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

// maxStmts bounds the statements kept on a connection: filters of lists make many different ones.
const maxStmts = 200

func openConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(c.stmts) >= maxStmts {
		c.evict()
	}
	c.stmts[query] = s
	return s, nil
}

// evict closes some statement. None is in use: rows are always read to their end before the next statement.
func (c *conn) evict() {
	for query, s := range c.stmts {
		delete(c.stmts, query)
		s.Close()
		return
	}
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// close ends the connection, and with it what is left of a transaction. Without the error database/sql would keep it to
// hand it out again, as it is.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	if err := c.c.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tx is one transaction as the ports see it.
type tx struct {
	ctx  context.Context
	conn *conn // nil once the function that the ports were given to has returned
	d    *dialect
}

var errEnded = errors.New("sqlstore: a port was used after its transaction")

func (t *tx) ports() memoryd.Tx {
	return memoryd.Tx{
		Tenants:    tenants{t},
		Agents:     agents{t},
		Keys:       keys{t},
		Sessions:   sessions{t},
		Messages:   messages{t},
		Memories:   memories{t},
		Versions:   versions{t},
		Partitions: partitions{t},
		Receipts:   receipts{t},
		Scratch:    scratch{t},
		Contents:   contents{t},
		Dump:       dump{t},
		Load:       load{t},
		Uses:       uses{t},
	}
}

// exec answers how many rows the statement found to change.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if t.conn == nil {
		return 0, errEnded
	}
	res, err := t.conn.exec(t.ctx, query, args...)
	if err != nil {
		return 0, t.fault(err)
	}
	return res.RowsAffected()
}

// each calls scan for each row of the answer and stops at its first error. Only one answer may be open at a time.
func (t *tx) each(query string, args []any, scan func(*sql.Rows) error) error {
	if t.conn == nil {
		return errEnded
	}
	s, err := t.conn.prepare(t.ctx, query)
	if err != nil {
		return t.fault(err)
	}
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return t.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("sqlstore: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return t.fault(err)
	}
	return nil
}

// row scans the first row of the answer and says whether there was one.
func (t *tx) row(query string, args []any, dest ...any) (bool, error) {
	found := false
	err := t.each(query, args, func(r *sql.Rows) error {
		found = true
		return r.Scan(dest...)
	})
	return found && err == nil, err
}

// fault is what callers see of a failed statement. An interrupted one is answered as its context's error.
func (t *tx) fault(err error) error {
	if ended := t.ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("sqlstore: %w: %w", ended, err)
	}
	return fmt.Errorf("sqlstore: %w", t.d.fault(err))
}
