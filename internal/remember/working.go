package remember

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
)

// Working bounds the working memory of runs.
type Working struct {
	TTL      time.Duration // of a value, from its last write on; 0: an hour
	MaxValue int           // bytes; 0: 64 KiB
	MaxKeys  int           // of one run; 0: 256
}

// MaxWorkingTTL is the longest life that a request may ask for.
const MaxWorkingTTL = 24 * time.Hour

func (o Working) filled() Working {
	if o.TTL <= 0 {
		o.TTL = time.Hour
	}
	if o.MaxValue <= 0 {
		o.MaxValue = 64 << 10
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = 256
	}
	return o
}

// WorkingRequest is a value to set.
type WorkingRequest struct {
	Value json.RawMessage
	TTL   time.Duration // 0: the configured one
}

// SetWorking sets a value of a run's working memory, which lives anew from then on.
func (w *Writer) SetWorking(ctx context.Context, g access.Grant, run, key string, r WorkingRequest) (e memoryd.Entry, notes []string, err error) {
	if err := checkRun(run, key); err != nil {
		return e, nil, err
	}
	value := bytes.TrimSpace(r.Value)
	if len(value) == 0 {
		return e, nil, memoryd.BadField("value", "is missing")
	}
	doc, err := guard.CleanJSON("value", value)
	switch {
	case err != nil:
		return e, nil, err
	case len(doc.Raw) > w.o.Working.MaxValue:
		return e, nil, memoryd.BadFieldAs("too-long", "value", "is larger than %d bytes of JSON", w.o.Working.MaxValue)
	}
	ttl := w.o.Working.TTL
	if r.TTL != 0 {
		ttl = r.TTL
	}
	if ttl < time.Second || ttl > MaxWorkingTTL {
		return e, nil, memoryd.BadField("ttl_s", "want 1 to %d seconds", int(MaxWorkingTTL.Seconds()))
	}
	now := w.now()
	e = memoryd.Entry{Key: key, Value: doc.Raw, Updated: now, Expires: now.Add(ttl)}
	err = w.write(ctx, g, "set working memory", func(tx memoryd.Tx) error {
		kept, err := tx.Scratch.Put(g.Run(run), e, w.o.Working.MaxKeys)
		if err == nil && !kept {
			err = memoryd.BadFieldAs("too-long", "key", "the run's working memory holds %d keys, which is all it takes", w.o.Working.MaxKeys)
		}
		return err
	})
	if err != nil {
		return memoryd.Entry{}, nil, err
	}
	return e, doc.Notes, nil
}

// DropWorking removes a value of a run's working memory; ErrNotFound.
func (w *Writer) DropWorking(ctx context.Context, g access.Grant, run, key string) error {
	if err := checkRun(run, key); err != nil {
		return err
	}
	now := w.now()
	return w.write(ctx, g, "drop working memory", func(tx memoryd.Tx) error {
		n, err := tx.Scratch.Delete(g.Run(run), now, key)
		if err == nil && n == 0 {
			err = memoryd.ErrNotFound
		}
		return err
	})
}

// EndRun removes a run's working memory, and says how many values that was.
func (w *Writer) EndRun(ctx context.Context, g access.Grant, run string) (n int, err error) {
	if err := memoryd.CheckID("run", run); err != nil {
		return 0, err
	}
	now := w.now()
	err = w.write(ctx, g, "end run", func(tx memoryd.Tx) (err error) {
		n, err = tx.Scratch.Delete(g.Run(run), now)
		return err
	})
	return n, err
}

func checkRun(run, key string) error {
	if err := memoryd.CheckID("run", run); err != nil {
		return err
	}
	return memoryd.CheckID("key", key)
}
