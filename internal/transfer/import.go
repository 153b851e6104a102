package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// ImportOptions says where to.
type ImportOptions struct {
	Store    memoryd.Store
	Fold     func(string) string // how texts are compared, as in the store's own writes
	DryRun   bool                // say what would happen, and change nothing
	Progress Progress            // in bytes of the file
	Now      func() time.Time    // nil: time.Now

	rows int // for tests: rows of a batch
}

// Imported is what became of the rows: Rows = Added + Duplicate + Quarantined + the refused.
type Imported struct {
	DryRun      bool      `json:"dry_run"`
	SHA256      string    `json:"sha256"`
	Rows        int64     `json:"rows"`
	Added       int64     `json:"added"`
	Duplicate   int64     `json:"duplicate"`   // were there already
	Quarantined int64     `json:"quarantined"` // memories that were added and stand in quarantine, as they did
	RefusedRows int64     `json:"refused_rows"`
	Refused     []Refusal `json:"refused"` // the first of them, by name
}

// Refusal names a row that was not taken, and why.
type Refusal struct {
	Row    string `json:"row"`
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	Line   int64  `json:"line"`
	Why    string `json:"why"`
}

// maxRefused bounds the refusals that are named; all are counted.
const maxRefused = 1000

func (t *Imported) refuse(row, tenant, id string, line int64, why string) {
	t.RefusedRows++
	if len(t.Refused) < maxRefused {
		t.Refused = append(t.Refused, Refusal{row, tenant, id, line, why})
	}
}

func (t *Imported) plus(o Imported) {
	t.Rows += o.Rows
	t.Added += o.Added
	t.Duplicate += o.Duplicate
	t.Quarantined += o.Quarantined
	t.RefusedRows += o.RefusedRows
	t.Refused = append(t.Refused, o.Refused[:min(len(o.Refused), maxRefused-len(t.Refused))]...)
}

// A batch is one transaction; it ends at the first bound that it reaches.
const (
	batchRows  = 1000
	batchBytes = 4 << 20
)

// Import puts the file's rows into a store. Ids are kept, and what is there already stays as it is, so that an import
// that was broken off is completed by another, and one that is repeated adds nothing. A row whose id stands there with
// other content is refused, by name. Each batch is a transaction; an error leaves the whole batches before it, which
// the answer counts.
func (f *File) Import(ctx context.Context, g access.Grant, o ImportOptions) (Imported, error) {
	if err := operatorOnly(g); err != nil {
		return Imported{}, err
	}
	total := Imported{DryRun: o.DryRun, SHA256: f.Manifest.SHA256, Refused: []Refusal{}}
	r, err := f.reader()
	if err != nil {
		return total, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	im := &importer{o: o}
	if o.DryRun {
		im.planned = map[twinKey]bool{}
	}
	for b := (batcher{r: r, rows: cmp.Or(o.rows, batchRows)}); !b.ended; {
		rows, goesOn, err := b.next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		done, err := im.batch(ctx, rows, goesOn)
		if err != nil {
			return total, fmt.Errorf("import: %s:%d-%d: %w", f.path, rows[0].line, rows[len(rows)-1].line, err)
		}
		total.plus(done)
		o.Progress.say(r.under.n, f.size)
	}
	return total, nil
}

// batcher reads one row ahead, so that a batch knows whether its last session goes on in the next.
type batcher struct {
	r     *lines
	rows  int
	ahead *row
	ended bool
}

func (b *batcher) next() (list []row, goesOn bool, err error) {
	if b.ahead != nil {
		list = append(list, *b.ahead)
	}
	size := 0
	for {
		next, err := b.r.next()
		if errors.Is(err, io.EOF) {
			b.ended = true
			return list, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if len(list) >= b.rows || size >= batchBytes {
			b.ahead = &next
			_, goesOn = next.v.(*messageRow)
			return list, goesOn, nil
		}
		list, size = append(list, next), size+next.size
	}
}

// fate is what became of the session or memory that the next rows belong to.
type fate int

const (
	fresh   fate = iota // it was added by this import
	known               // it was there
	twin                // another active memory of its text was there
	refused             // its id stands for something else
)

// state is what one batch hands to the next.
type state struct {
	session memoryd.Session // the file's
	fate    fate            // of the session
	have    int64           // the last seq that the store holds of it
	parted  bool            // the store's session went on differently
	fateOf  fate            // of the memory that came last
}

type twinKey struct {
	p    memoryd.Partition
	s    memoryd.Scope
	hash string
}

type importer struct {
	o       ImportOptions
	st      state
	planned map[twinKey]bool // in a dry run: the active memories that would be there
}

// batch runs one transaction. Its function may run twice, so it starts from the state before each time.
func (im *importer) batch(ctx context.Context, rows []row, goesOn bool) (Imported, error) {
	var out *work
	now := im.o.Now()
	for i := range rows {
		rows[i].why = rows[i].check(now)
	}
	run := func(tx memoryd.Tx) error {
		out = &work{importer: im, tx: tx, st: im.st}
		return out.all(rows, goesOn)
	}
	if len(rows) == 0 {
		return Imported{}, nil
	}
	transact := im.o.Store.Write
	if im.o.DryRun {
		transact = im.o.Store.Read
	}
	if err := transact(ctx, run); err != nil {
		return Imported{}, err
	}
	im.st = out.st
	for _, k := range out.plans {
		im.planned[k] = true
	}
	out.done.Rows = int64(len(rows))
	return out.done, nil
}

// work is one run of a batch's function.
type work struct {
	*importer
	tx    memoryd.Tx
	st    state
	done  Imported
	plans []twinKey
}

func (w *work) all(rows []row, goesOn bool) error {
	for len(rows) > 0 {
		var (
			n   int
			err error
		)
		switch v := rows[0].v.(type) {
		case *tenantRow:
			n, err = 1, w.tenant(v, rows[0])
		case *agentRow:
			n, err = 1, w.agent(v, rows[0])
		case *sessionRow, *messageRow:
			n = 1 + leading(rows[1:], func(v any) bool { _, ok := v.(*messageRow); return ok })
			err = w.part(rows[:n], goesOn && n == len(rows))
		case *memoryRow:
			// One tenant's: another may use the same ids.
			n = leading(rows, func(x any) bool { r, ok := x.(*memoryRow); return ok && r.Tenant == v.Tenant })
			err = w.memories(rows[:n])
		}
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// leading counts the first rows of a kind.
func leading(rows []row, is func(any) bool) int {
	for i, r := range rows {
		if !is(r.v) {
			return i
		}
	}
	return len(rows)
}

// tenant leaves one that is there as it is: it may be older or newer than the file's and is the same tenant.
func (w *work) tenant(r *tenantRow, at row) error {
	if at.why != "" {
		w.done.refuse(rowTenant, r.ID, r.ID, at.line, at.why)
		return nil
	}
	have, err := w.tx.Tenants.Get(r.ID)
	switch {
	case err == nil && have.Name != r.Name:
		w.done.refuse(rowTenant, r.ID, r.ID, at.line, "the tenant is there under another name")
		return nil
	case err == nil:
		w.done.Duplicate++
		return nil
	case !errors.Is(err, memoryd.ErrNotFound):
		return err
	}
	w.done.Added++
	if w.o.DryRun {
		return nil
	}
	return w.tx.Tenants.Ensure(memoryd.Tenant{ID: r.ID, Name: r.Name, Created: r.Created.Time})
}

func (w *work) agent(r *agentRow, at row) error {
	if at.why != "" {
		w.done.refuse(rowAgent, r.Tenant, r.ID, at.line, at.why)
		return nil
	}
	have, err := w.tx.Agents.Get(r.Tenant, r.ID)
	switch {
	case err == nil && !equal(r, &agentRow{Row: rowAgent, Tenant: r.Tenant, ID: r.ID, Settings: have}):
		w.done.refuse(rowAgent, r.Tenant, r.ID, at.line, "the agent is there with other settings")
		return nil
	case err == nil:
		w.done.Duplicate++
		return nil
	case !errors.Is(err, memoryd.ErrNotFound):
		return err
	}
	w.done.Added++
	if w.o.DryRun {
		return nil
	}
	return w.tx.Agents.Put(r.Tenant, r.ID, compact(r.Settings))
}
