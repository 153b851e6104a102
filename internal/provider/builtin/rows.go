package builtin

import (
	"context"
	"slices"

	"memoryd"
	"memoryd/internal/index"
)

// chunk is how many rows are read with one statement.
const chunk = 500

// load reads the rows of what was found, under the asker's rights and filters once more: the index may be a moment
// older or newer than the rows. What is gone is left out.
func (p *Provider) load(ctx context.Context, a *ask) (memoryd.Found, error) {
	var found memoryd.Found
	if len(a.hits) == 0 && len(a.preferences) == 0 {
		return found, ctx.Err()
	}
	var (
		memories map[string]*memoryd.Memory
		turns    map[memoryd.TurnKey]*memoryd.Turn
	)
	err := p.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		if memories, err = a.readMemories(tx); err == nil {
			turns, err = a.readTurns(tx)
		}
		return err
	})
	if err != nil {
		return found, err
	}
	q, tq := a.query(), a.turnQuery()
	for _, h := range a.hits {
		if h.ID == "" {
			if t := turns[h.Turn()]; t != nil && tq.PassesTurn(t) {
				found.Hits = append(found.Hits, memoryd.Hit{Score: h.Score, Turn: t})
			}
		} else if m := memories[h.ID]; m != nil && q.Passes(m) {
			found.Hits = append(found.Hits, memoryd.Hit{Score: h.Score, Memory: m})
		}
	}
	q = a.preferenceQuery()
	for _, h := range a.preferences {
		if m := memories[h.ID]; m != nil && q.Passes(m) {
			found.Preferences = append(found.Preferences, memoryd.Hit{Score: h.Score, Memory: m})
		}
	}
	return found, nil
}

func (a *ask) readMemories(tx memoryd.Tx) (map[string]*memoryd.Memory, error) {
	var ids []string
	asked := map[string]bool{}
	for _, hits := range [][]index.Hit{a.hits, a.preferences} {
		for _, h := range hits {
			if h.ID != "" && !asked[h.ID] {
				asked[h.ID] = true
				ids = append(ids, h.ID)
			}
		}
	}
	found := make(map[string]*memoryd.Memory, len(ids))
	for some := range slices.Chunk(ids, chunk) {
		list, err := tx.Memories.Get(a.Owner, a.Scopes, some...)
		if err != nil {
			return nil, err
		}
		for i := range list {
			found[list[i].ID] = &list[i]
		}
	}
	return found, nil
}

func (a *ask) readTurns(tx memoryd.Tx) (map[memoryd.TurnKey]*memoryd.Turn, error) {
	var keys []memoryd.TurnKey
	for _, h := range a.hits {
		if h.ID == "" {
			keys = append(keys, h.Turn())
		}
	}
	found := make(map[memoryd.TurnKey]*memoryd.Turn, len(keys))
	for some := range slices.Chunk(keys, chunk) {
		list, err := tx.Messages.Turns(a.Owner, turnScopes(&a.Query), some)
		if err != nil {
			return nil, err
		}
		for i := range list {
			found[memoryd.TurnKey{Session: list[i].Session, Seq: list[i].Seq}] = &list[i]
		}
	}
	return found, nil
}
