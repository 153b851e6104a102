package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"memoryd"
)

// pool is the readers' connections, opened as they come to be needed and used most recent first.
type pool struct {
	db    *sql.DB
	d     *dialect
	slots chan struct{} // one for each connection in use

	closing chan struct{}
	once    sync.Once

	mu   sync.Mutex
	idle []*conn
}

func newPool(db *sql.DB, d *dialect, size int) *pool {
	return &pool{db: db, d: d, slots: make(chan struct{}, size), closing: make(chan struct{})}
}

// stop refuses new reads, and waits for those that run.
func (p *pool) stop() error {
	var errs []error
	p.once.Do(func() {
		close(p.closing)
		for range cap(p.slots) {
			p.slots <- struct{}{}
		}
		for _, c := range p.idle {
			errs = append(errs, c.close())
		}
	})
	return errors.Join(errs...)
}

func (p *pool) read(ctx context.Context, f func(memoryd.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	t := &tx{ctx: ctx, conn: c, d: p.d}
	if _, err := t.exec("BEGIN"); err != nil {
		p.give(c)
		return err
	}
	defer func() {
		t.conn = nil
		p.give(c)
	}()
	return f(t.ports())
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	select { // where both are ready the second select would pick by chance
	case <-p.closing:
		return nil, errClosed()
	default:
	}
	select {
	case <-p.closing:
		return nil, errClosed()
	case <-ctx.Done():
		return nil, fmt.Errorf("sqlstore: %w", ctx.Err())
	case p.slots <- struct{}{}:
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := openConn(ctx, p.db)
	if err != nil {
		<-p.slots
		return nil, (&tx{ctx: ctx, d: p.d}).fault(err)
	}
	return c, nil
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// give ends the connection's transaction and puts it back, or closes it when that fails.
func (p *pool) give(c *conn) {
	if inTransaction(c.c) {
		if _, err := c.exec(context.Background(), "ROLLBACK"); err != nil {
			c.close() // nothing was written that could be lost
			<-p.slots
			return
		}
	}
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	<-p.slots
}
