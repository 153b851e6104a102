package remember

import (
	"context"
	"time"

	"memoryd"
)

const (
	sweepEvery = time.Minute
	sweepStep  = 200 // rows removed in one write, so that others need not wait long
)

// Run removes what has expired, working memory and receipts of repeatable writes, once a minute until ctx ends. A
// sweep that fails is told to failed, and the next one tries again; nobody is shown what has expired in any case.
func (w *Writer) Run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := w.sweep(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *Writer) sweep(ctx context.Context) error {
	now := w.now()
	for _, purge := range []func(memoryd.Tx) (int, error){
		func(tx memoryd.Tx) (int, error) { return tx.Scratch.Purge(now, sweepStep) },
		func(tx memoryd.Tx) (int, error) { return tx.Receipts.Purge(now.Add(-memoryd.ReceiptsKept), sweepStep) },
	} {
		for n := sweepStep; n == sweepStep; {
			err := w.commit(ctx, "sweep", func(tx memoryd.Tx) (err error) {
				n, err = purge(tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
