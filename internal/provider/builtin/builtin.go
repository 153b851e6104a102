// Package builtin is the provider that searches memoryd's own rows: it keeps indexes of the partitions that are asked
// for in RAM, patches them from the store before every search, and reads what was found from the store again. It
// writes nothing; how texts are ranked is internal/index's affair.
package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"memoryd"
	"memoryd/internal/index"
)

var _ memoryd.Provider = (*Provider)(nil)

// Options is what New needs.
type Options struct {
	Store memoryd.Store
	// Bytes bounds the indexes that are kept, 0 for DefaultBytes. Those that a search needs are loaded all the same.
	Bytes int64
	// TrustFactor scales the scores of memories; a level that is missing counts 1.
	TrustFactor map[memoryd.Trust]float64
	// Zone is where the days of turns begin whose time names no zone but UTC; nil: UTC.
	Zone *time.Location
}

// DefaultBytes is enough for about half a million memories or turns.
const DefaultBytes = 256 << 20

// Provider searches the rows of a Store. It may be used concurrently.
type Provider struct {
	store  memoryd.Store
	cache  *cache
	factor [4]float64
}

// New loads nothing yet.
func New(o Options) *Provider {
	p := &Provider{store: o.Store, cache: newCache(o), factor: [4]float64{1, 1, 1, 1}}
	for level, factor := range o.TrustFactor {
		p.factor[level.Rank()] = factor
	}
	return p
}

// Close ends what is being loaded and waits for it. Searches fail from then on.
func (p *Provider) Close() { p.cache.close() }

// Search implements memoryd.Provider.
func (p *Provider) Search(ctx context.Context, q memoryd.Query) (memoryd.Found, error) {
	if err := check(q); err != nil {
		return memoryd.Found{}, err
	}
	a := ask{Query: q, words: index.Read(q.Text)}
	if q.Preferences <= 0 && (a.words.Empty() || !q.Memories && !q.Turns) {
		return memoryd.Found{}, ctx.Err()
	}
	parts, versions, err := p.partitions(ctx, q)
	if err == nil && len(parts) > 0 {
		err = p.rank(ctx, &a, parts, versions)
	}
	if err != nil {
		return memoryd.Found{}, fmt.Errorf("builtin: %w", err)
	}
	found, err := p.load(ctx, &a)
	if err != nil {
		return memoryd.Found{}, fmt.Errorf("builtin: rows: %w", err)
	}
	return found, nil
}

func check(q memoryd.Query) error {
	s := everywhere(q)
	own := s.Agents || slices.ContainsFunc(s.Exact, func(s memoryd.Scope) bool { return s.Group() == "" })
	if own && q.Owner.User == "" {
		// The rows of all users are no partition; an answer without them would look complete.
		return memoryd.BadField("user", "is empty; scopes other than groups are one user's")
	}
	return nil
}

// everywhere is the scopes of memories and turns together. Which of them a row may be found in is the ranking's affair.
func everywhere(q memoryd.Query) memoryd.Scopes {
	s, t := q.Scopes, turnScopes(&q)
	s.Groups, s.Agents = s.Groups || t.Groups, s.Agents || t.Agents
	for _, x := range t.Exact {
		s = s.With(x)
	}
	return s
}

// partitions answers those that the query names and that hold rows, each once, with their versions.
func (p *Provider) partitions(ctx context.Context, q memoryd.Query) (parts []memoryd.Partition, versions []int64, err error) {
	add := func(s memoryd.Scope) {
		if part := memoryd.PartitionOf(q.Owner.Tenant, q.Owner.User, s); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	scopes := everywhere(q)
	if scopes.Agents {
		add(memoryd.Global)
	}
	for _, s := range scopes.Exact {
		add(s)
	}
	err = p.store.Read(ctx, func(tx memoryd.Tx) error {
		if scopes.Groups {
			groups, err := tx.Partitions.Groups(q.Owner.Tenant)
			if err != nil {
				return fmt.Errorf("groups: %w", err)
			}
			parts = slices.DeleteFunc(parts, func(part memoryd.Partition) bool { return part.Group != "" })
			for _, g := range groups {
				parts = append(parts, memoryd.Partition{Tenant: q.Owner.Tenant, Group: g})
			}
		}
		// One order for all searches: they lock several indexes at once.
		slices.SortFunc(parts, func(a, b memoryd.Partition) int {
			return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(a.Group, b.Group))
		})
		var err error
		versions, err = tx.Partitions.Versions(parts)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("versions: %w", err)
	}
	kept := 0
	for i, v := range versions {
		if v > 0 {
			parts[kept], versions[kept] = parts[i], v
			kept++
		}
	}
	return parts[:kept], versions[:kept], nil
}

// rank brings the partitions' indexes up to the versions and leaves in a what they find.
func (p *Provider) rank(ctx context.Context, a *ask, parts []memoryd.Partition, versions []int64) error {
	entries, err := p.cache.open(ctx, parts, versions)
	if err != nil {
		return err
	}
	indexes := make([]*index.Partition, len(entries))
	for i, e := range entries {
		e.mu.RLock()
		defer e.mu.RUnlock()
		if indexes[i], err = e.at(versions[i]); err != nil {
			return err
		}
	}
	a.done = func() bool { return ctx.Err() != nil }
	a.search(indexes, p.factor)
	return ctx.Err()
}
