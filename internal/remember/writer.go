package remember

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Writer is the write path. It is safe for concurrent use.
type Writer struct {
	o       Options
	flights flights
}

// New fills in the clock and the bounds of working memory; every other option is needed.
func New(o Options) *Writer {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Working = o.Working.filled()
	return &Writer{o: o}
}

// TrustLowered is the note on a text whose writer may not claim as much trust as it did.
const TrustLowered = "trust_lowered"

// now is as fine as stores keep it, so that what is answered now and read later is equal.
func (w *Writer) now() time.Time { return stored(w.o.Now()) }

func stored(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }

// tries bounds how often a write that lost a race is begun again.
const tries = 4

// raced is an error that means: somebody else was quicker, begin again. The error inside is answered in the end.
type raced struct{ error }

func (r raced) Unwrap() error { return r.error }

// write runs f in a transaction in which the grant's tenant is there.
func (w *Writer) write(ctx context.Context, g access.Grant, what string, f func(memoryd.Tx) error) error {
	now := w.now()
	return w.commit(ctx, what, func(tx memoryd.Tx) error {
		if err := g.Stands(tx, now); err != nil {
			return err
		}
		return f(tx)
	})
}

func (w *Writer) commit(ctx context.Context, what string, f func(memoryd.Tx) error) error {
	var err error
	for range tries {
		err = w.o.Store.Write(ctx, f)
		var again raced
		if !errors.As(err, &again) {
			break
		}
		err = again.error
	}
	var known *memoryd.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("remember: %s: %w", what, err)
}

func (w *Writer) hash(text string) string { return Hash(w.o.Fold, text) }

// Hash is equal for texts that say the same word for word once they are folded.
func Hash(fold func(string) string, text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(fold(text))))
	return hex.EncodeToString(sum[:])
}

// denied is about what the grant knows of, or about what is only to be made; for the rest there is ErrNotFound.
func denied(s memoryd.Scope) error {
	kind, _, _ := strings.Cut(string(s), ":")
	return memoryd.Errorf(memoryd.Denied, "scope-denied", "this credential may not write to the %s scope that was meant", kind)
}

func typeDenied(t memoryd.Type) error {
	return memoryd.Errorf(memoryd.Denied, "type-denied", "this credential may not write memories of type %s", t)
}

// memory is the one of that id that the grant may write.
func memory(tx memoryd.Tx, g access.Grant, id string) (memoryd.Memory, error) {
	list, err := tx.Memories.Get(g.Reach(), memoryd.AllScopes(), id)
	if err != nil {
		return memoryd.Memory{}, err
	}
	switch {
	case len(list) == 0:
		return memoryd.Memory{}, memoryd.ErrNotFound
	case g.Writes().Has(list[0].Scope):
	case g.Reads().Has(list[0].Scope):
		return memoryd.Memory{}, denied(list[0].Scope)
	default:
		return memoryd.Memory{}, memoryd.ErrNotFound
	}
	if !g.AllowsType(list[0].Type) {
		return memoryd.Memory{}, typeDenied(list[0].Type)
	}
	return list[0], nil
}

// shown is what a writer gets to see of a memory. One that may write to a scope but not read it does not learn from
// the answer what others wrote there; text is what it said itself.
func shown(g access.Grant, m memoryd.Memory, text string) memoryd.Memory {
	if g.Reads().Has(m.Scope) {
		return m
	}
	return memoryd.Memory{
		Tenant: m.Tenant, ID: m.ID, User: g.Owner().User, Scope: m.Scope, Text: text, Type: m.Type, Form: m.Form, Trust: m.Trust, Source: m.Source,
		Status: m.Status, Importance: m.Importance, Strength: m.Strength, Recorded: m.Recorded, Version: m.Version, TypedBy: m.TypedBy,
		Labels: map[string]string{}, Metadata: emptyObject(), ConsolidatedFrom: []string{},
	}
}

// union is each note once.
func union(lists ...[]string) []string {
	var out []string
	for _, list := range lists {
		for _, n := range list {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}
