package recall

import (
	"context"

	"memoryd"
	"memoryd/internal/access"
)

// Working is the working memory of a run, by key; empty for a run that has none, and for another's.
func (r *Reader) Working(ctx context.Context, g access.Grant, run string) ([]memoryd.Entry, error) {
	if err := memoryd.CheckID("run", run); err != nil {
		return nil, err
	}
	return r.working(ctx, g, run)
}

// WorkingValue is one value of a run's working memory; ErrNotFound.
func (r *Reader) WorkingValue(ctx context.Context, g access.Grant, run, key string) (memoryd.Entry, error) {
	if err := memoryd.CheckID("run", run); err != nil {
		return memoryd.Entry{}, err
	}
	if err := memoryd.CheckID("key", key); err != nil {
		return memoryd.Entry{}, err
	}
	list, err := r.working(ctx, g, run, key)
	if err == nil && len(list) == 0 {
		err = memoryd.ErrNotFound
	}
	if err != nil {
		return memoryd.Entry{}, err
	}
	return list[0], nil
}

func (r *Reader) working(ctx context.Context, g access.Grant, run string, keys ...string) (list []memoryd.Entry, err error) {
	err = r.read(ctx, "working memory", func(tx memoryd.Tx) (err error) {
		list, err = tx.Scratch.Get(g.Run(run), r.o.Now(), keys...)
		return err
	})
	return list, err
}
