package remember

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Once is the write path of one request that its sender may repeat: it is done once, and what was done is told again,
// as it stands by then. What is refused or fails leaves no trace and may be tried again.
type Once struct {
	w        *Writer
	r        memoryd.Repeat
	replayed bool
}

// Once is the write path of that request; of one without a key it is the Writer itself.
func (w *Writer) Once(r memoryd.Repeat) *Once { return &Once{w: w, r: r} }

// Replayed says whether the last answer was made of what an earlier request did.
func (o *Once) Replayed() bool { return o.replayed }

// Add is Writer.Add.
func (o *Once) Add(ctx context.Context, g access.Grant, r AddRequest) (out Added, err error) {
	err = o.run(ctx, g, func(tx memoryd.Tx, result []byte) (err error) {
		out, err = o.w.addedAgain(tx, g, r, result)
		return err
	}, func(k keep) (err error) {
		out, err = o.w.add(ctx, g, r, k)
		return err
	})
	return out, err
}

// AddBatch is Writer.AddBatch.
func (o *Once) AddBatch(ctx context.Context, g access.Grant, list []AddRequest) (out []BatchItem, err error) {
	err = o.run(ctx, g, func(tx memoryd.Tx, result []byte) (err error) {
		out, err = o.w.batchAgain(tx, g, list, result)
		return err
	}, func(k keep) (err error) {
		out, err = o.w.addBatch(ctx, g, list, k)
		return err
	})
	return out, err
}

// Restore is Writer.Restore.
func (o *Once) Restore(ctx context.Context, g access.Grant, id string) (out memoryd.Memory, err error) {
	err = o.run(ctx, g, func(tx memoryd.Tx, result []byte) error {
		list, err := tx.Memories.Get(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), id)
		if err == nil && len(list) == 0 {
			err = errGone()
		}
		if err == nil {
			out = shown(g, list[0], "")
		}
		return err
	}, func(k keep) (err error) {
		out, err = o.w.restore(ctx, g, id, k)
		return err
	})
	return out, err
}

// Append is Writer.Append.
func (o *Once) Append(ctx context.Context, g access.Grant, session string, r AppendRequest) (out Appended, err error) {
	err = o.run(ctx, g, func(tx memoryd.Tx, result []byte) (err error) {
		out, err = appendedAgain(tx, g, session, result)
		return err
	}, func(k keep) (err error) {
		out, err = o.w.append(ctx, g, session, r, k)
		return err
	})
	return out, err
}

// keep leaves the receipt in the transaction of the write. The one that is nil leaves none.
type keep func(tx memoryd.Tx, result any) error

func (k keep) result(tx memoryd.Tx, result any) error {
	if k == nil {
		return nil
	}
	return k(tx, result)
}

// errKept says that another process did the same request meanwhile.
var errKept = errors.New("remember: the request was done meanwhile")

// run answers by again what was done before, else does it.
func (o *Once) run(ctx context.Context, g access.Grant, again func(memoryd.Tx, []byte) error, do func(keep) error) error {
	if o.r.Key == "" {
		return do(nil)
	}
	want := o.r.Receipt(g.Tenant(), g.Writer())
	leave, err := o.w.flights.enter(string(want.ID))
	if err != nil {
		return err
	}
	defer leave()
	if err = o.tell(ctx, o.w.o.Store.Read, want, again); err != nil || o.replayed {
		return err
	}
	for range tries {
		if err = do(o.keeper(want)); !errors.Is(err, errKept) {
			return err
		}
		// The other's receipt may be in the commit that is under way, where only a write sees it, and waits for it.
		if err = o.tell(ctx, o.w.o.Store.Write, want, again); err != nil || o.replayed {
			return err
		}
	}
	return errKept
}

// keeper leaves want, with the result in it.
func (o *Once) keeper(want memoryd.Receipt) keep {
	return func(tx memoryd.Tx, result any) error {
		raw, err := json.Marshal(result)
		if err != nil {
			return err
		}
		r := want
		r.Result, r.Made = raw, o.w.now()
		kept, err := tx.Receipts.Put(r, r.Made.Add(-memoryd.ReceiptsKept))
		if err == nil && !kept {
			err = errKept
		}
		return err
	}
}

// tell answers what was done, where it was. in is how the store is asked.
func (o *Once) tell(ctx context.Context, in func(context.Context, func(memoryd.Tx) error) error, want memoryd.Receipt, again func(memoryd.Tx, []byte) error) error {
	err := in(ctx, func(tx memoryd.Tx) error {
		o.replayed = false
		old, err := tx.Receipts.Get(want.ID)
		switch {
		case errors.Is(err, memoryd.ErrNotFound) || err == nil && old.Made.Before(o.w.now().Add(-memoryd.ReceiptsKept)):
			return nil
		case err != nil:
			return err
		case !bytes.Equal(old.Digest, want.Digest):
			return memoryd.ErrOtherRequest
		}
		o.replayed = true
		return again(tx, old.Result)
	})
	var known *memoryd.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("remember: repeat: %w", err)
}

func errGone() error {
	return memoryd.Errorf(memoryd.Conflict, "idempotency", "this request was done before, and what it wrote has been erased since")
}

// flights are the repeatable requests under way in this process.
type flights struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (f *flights) enter(id string) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids[id] {
		return nil, &memoryd.Error{
			Code: memoryd.Conflict, Slug: "idempotency", RetryAfter: time.Second,
			Detail: "a request with this idempotency key is under way; its answer can be asked for once it is done",
		}
	}
	if f.ids == nil {
		f.ids = map[string]bool{}
	}
	f.ids[id] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.ids, id)
	}, nil
}
