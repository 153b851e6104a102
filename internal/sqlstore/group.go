package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"memoryd"
)

// group is the one writer: it commits the functions of many callers together, each behind a savepoint of its own, and
// answers them once the commit is on disk. A function runs on its caller's goroutine, while run waits for it, so that
// a panic in it is the caller's. The transaction knows no caller's context: ending one would roll back everybody.
type group struct {
	db   *sql.DB
	d    *dialect
	conn *conn // nil until the first write and after a failure

	mu     sync.Mutex
	queue  []*call
	closed bool
	wake   chan struct{} // holds one: the queue or closed changed
	done   chan struct{} // closed when run has returned

	writes, commits atomic.Int64 // acknowledged functions, and the commits that they took
}

const (
	// A transaction takes no more functions than this, and starts none once it has run this long: short writes
	// should not wait behind many long ones.
	maxGroup     = 256
	maxGroupTime = 20 * time.Millisecond
)

// call is one function that waits to be written.
type call struct {
	claimed atomic.Bool // by the group, to run it, or by its caller, to leave
	turn    chan turn   // the caller may run its function now
	ran     chan error  // what the function answered
	done    chan error  // what became of it
}

type turn struct {
	tx  *tx
	err error // the transaction could not begin
}

// errUnwound is what a function answers that panicked or ended its goroutine.
var errUnwound = errors.New("sqlstore: the function did not return")

func newGroup(db *sql.DB, d *dialect) *group {
	g := &group{db: db, d: d, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go g.run()
	return g
}

// stop refuses new calls, finishes those that were accepted, and waits for the writer.
func (g *group) stop() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
	<-g.done
	if g.conn == nil {
		return nil
	}
	return g.conn.close()
}

func (g *group) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *group) write(ctx context.Context, f func(memoryd.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	c := &call{turn: make(chan turn, 1), ran: make(chan error, 1), done: make(chan error, 1)}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return errClosed()
	}
	g.queue = append(g.queue, c)
	g.mu.Unlock()
	g.signal()

	var now turn
	select {
	case now = <-c.turn:
	case <-ctx.Done():
		if c.claimed.CompareAndSwap(false, true) {
			return fmt.Errorf("sqlstore: %w", ctx.Err())
		}
		now = <-c.turn
	}
	if now.err != nil {
		return now.err
	}
	c.run(now.tx, f)
	return <-c.done
}

// run gives the turn back however f ends.
func (c *call) run(t *tx, f func(memoryd.Tx) error) {
	err := errUnwound
	defer func() {
		t.conn = nil
		c.ran <- err
	}()
	err = f(t.ports())
}

func (g *group) run() {
	defer close(g.done)
	for {
		runtime.Gosched() // callers that were just answered come back with more: it doubles what one commit holds
		calls, closed := g.take()
		if len(calls) > 0 {
			g.serve(calls)
			continue
		}
		if closed {
			return
		}
		<-g.wake
	}
}

func (g *group) take() (calls []*call, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls, g.queue = g.queue, nil
	return calls, g.closed
}

// serve runs the calls in one transaction or, where they are many or long, in several.
func (g *group) serve(calls []*call) {
	for len(calls) > 0 {
		n := g.transact(calls)
		calls = calls[n:]
	}
}

// transact runs calls in one transaction and says how many it took.
func (g *group) transact(calls []*call) (taken int) {
	var (
		began time.Time
		ran   []*call
	)
	for _, c := range calls {
		if len(ran) == maxGroup || !began.IsZero() && time.Since(began) > maxGroupTime {
			break
		}
		taken++
		if !c.claimed.CompareAndSwap(false, true) {
			continue
		}
		if began.IsZero() {
			if err := g.begin(); err != nil {
				c.turn <- turn{err: err}
				continue
			}
			began = time.Now()
		}
		err, lost := g.one(c)
		if lost != nil {
			finish(ran, lost)
			c.done <- err
			return taken
		}
		if err != nil {
			c.done <- err
			continue
		}
		ran = append(ran, c)
	}
	if !began.IsZero() {
		err := g.commit()
		if err == nil {
			g.commits.Add(1)
			g.writes.Add(int64(len(ran)))
		}
		finish(ran, err)
	}
	return taken
}

func finish(calls []*call, err error) {
	for _, c := range calls {
		c.done <- err
	}
}

// one runs one call behind a savepoint. When the transaction is lost, with all that it held, lost says why; err is then
// never nil.
func (g *group) one(c *call) (err, lost error) {
	if lost := g.exec("SAVEPOINT one"); lost != nil {
		c.turn <- turn{err: lost}
		g.abandon()
		return lost, lost
	}
	c.turn <- turn{tx: &tx{ctx: context.Background(), conn: g.conn, d: g.d}}
	err = <-c.ran
	if err != nil {
		lost = g.exec("ROLLBACK TO one")
	}
	if lost == nil {
		lost = g.exec("RELEASE one")
	}
	if lost == nil {
		return err, nil
	}
	g.abandon()
	var cause *sqlite3.Error
	switch {
	case errors.As(err, &cause):
		return err, err // a failing disk, which rolled everything back
	case err == nil:
		return down(lost), down(lost)
	}
	return err, down(lost)
}

func (g *group) begin() error {
	if g.conn == nil {
		c, err := openConn(context.Background(), g.db)
		if err != nil {
			return fmt.Errorf("sqlstore: begin: %w", g.d.fault(err))
		}
		g.conn = c
	}
	err := g.exec("BEGIN IMMEDIATE")
	if err != nil {
		g.drop()
	}
	return err
}

func (g *group) commit() error {
	err := g.exec("COMMIT")
	if err != nil {
		g.abandon()
	}
	return err
}

// abandon ends what is left of a failed transaction. A connection that cannot do even that is replaced.
func (g *group) abandon() {
	if !inTransaction(g.conn.c) {
		return
	}
	if err := g.exec("ROLLBACK"); err != nil {
		g.drop()
	}
}

// drop closes the connection; the next write opens another. The error that led here is the one that callers get.
func (g *group) drop() {
	g.conn.close()
	g.conn = nil
}

func (g *group) exec(query string) error {
	if _, err := g.conn.exec(context.Background(), query); err != nil {
		return fmt.Errorf("sqlstore: %s: %w", query, g.d.fault(err))
	}
	return nil
}

func errClosed() error {
	return memoryd.Errorf(memoryd.Unavailable, "draining", "the store is closing")
}
