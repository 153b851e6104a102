package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"memoryd"
)

// errOverloaded says that an arm got no slot before its deadline.
var errOverloaded = errors.New("no free worker")

// arm is one side of a context at work in the background.
type arm[T any] struct {
	ctx    context.Context
	start  time.Time
	queued atomic.Bool // it waits for a slot
	done   chan outcome[T]
}

type outcome[T any] struct {
	value T
	err   error
	took  time.Duration
}

// launch starts the work with a deadline. The work takes a slot by itself once it needs one.
func launch[T any](ctx context.Context, r *Reader, limit time.Duration, work func(context.Context, *arm[T]) (T, error)) (*arm[T], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, memoryd.Errorf(memoryd.Unavailable, "draining", "the server is stopping")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	a := &arm[T]{ctx: ctx, start: r.o.Now(), done: make(chan outcome[T], 1)}
	r.arms.Go(func() {
		defer cancel()
		var out outcome[T]
		out.value, out.err = safely(func() (T, error) { return work(ctx, a) })
		out.took = r.o.Now().Sub(a.start)
		a.done <- out
	})
	return a, nil
}

// safely turns a panic into an error: one arm's fault must not end the process.
func safely[T any](work func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// slot waits for a free worker and answers how to give it back.
func (a *arm[T]) slot(r *Reader) (release func(), err error) {
	a.queued.Store(true)
	select {
	case r.slots <- struct{}{}:
		a.queued.Store(false)
		return func() { <-r.slots }, nil
	case <-a.ctx.Done():
		return nil, errOverloaded
	}
}

// wait answers what came of the arm, at its deadline at the latest: work that does not heed its context goes on
// alone, holding its slot.
func (a *arm[T]) wait(r *Reader) outcome[T] {
	select {
	case out := <-a.done:
		return out
	case <-a.ctx.Done():
	}
	select {
	case out := <-a.done:
		return out
	default:
	}
	err := a.ctx.Err()
	if a.queued.Load() {
		err = errOverloaded
	}
	return outcome[T]{err: err, took: r.o.Now().Sub(a.start)}
}

// refusal says whether an arm's error is about the request itself and therefore fails it as a whole.
func refusal(err error) bool {
	switch memoryd.CodeOf(err) {
	case memoryd.Invalid, memoryd.Unauthenticated, memoryd.Denied, memoryd.NotFound:
		return true
	}
	return false
}

// missing logs why a part is missing and is what the answer says of it.
func (r *Reader) missing(ctx context.Context, part string, err error) memoryd.Degraded {
	reason := "error"
	switch {
	case errors.Is(err, errOverloaded):
		reason = "overloaded"
	case errors.Is(err, context.DeadlineExceeded):
		reason = "timeout"
	}
	r.o.Log.LogAttrs(ctx, slog.LevelError, "context is incomplete",
		slog.String("part", part), slog.String("reason", reason), slog.Any("error", err))
	return memoryd.Degraded{Part: part, Reason: reason}
}
