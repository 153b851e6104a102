package sqlstore

import (
	"strings"

	"memoryd"
)

// area is a condition on the rows of sessions or memories that an index answers in order: those of one partition, or
// of a tenant's groups, or of all its users.
type area struct {
	where string
	args  []any
}

// areas is what an owner and a set of scopes may see, as areas that do not overlap.
func (t *tx) areas(o memoryd.Owner, s memoryd.Scopes) ([]area, error) {
	var own, groups []memoryd.Scope
	for _, x := range s.Exact {
		if x.Group() != "" {
			groups = append(groups, x)
		} else {
			own = append(own, x)
		}
	}
	list, err := t.ownAreas(o, own, s.Agents)
	if err != nil {
		return nil, err
	}
	if s.Groups {
		return append(list, area{"tenant = ? AND grouped = 1", []any{o.Tenant}}), nil
	}
	taken := map[memoryd.Scope]bool{}
	for _, x := range groups {
		if taken[x] {
			continue
		}
		taken[x] = true
		part, _, err := t.partition(memoryd.PartitionOf(o.Tenant, "", x))
		if err != nil {
			return nil, err
		}
		if part != 0 {
			// The partition holds this scope alone; saying so opens the index of the hashes.
			list = append(list, area{"part = ? AND scope = ?", []any{part, string(x)}})
		}
	}
	return list, nil
}

// ownAreas is the rows outside groups.
func (t *tx) ownAreas(o memoryd.Owner, exact []memoryd.Scope, agents bool) ([]area, error) {
	if len(exact) == 0 && !agents {
		return nil, nil
	}
	a := area{"tenant = ? AND grouped = 0", []any{o.Tenant}}
	if o.User != "" {
		part, _, err := t.partition(memoryd.Partition{Tenant: o.Tenant, User: o.User})
		if err != nil || part == 0 {
			return nil, err
		}
		a = area{"part = ?", []any{part}}
	}
	var scopes []string
	if len(exact) > 0 {
		scopes = append(scopes, "scope IN ("+marks(padded(len(exact)))+")")
		a.args = pad(a.args, exact)
	}
	if agents {
		scopes = append(scopes, "scope >= 'agent:' AND scope < 'agent;'") // the character behind the colon
	}
	a.where += " AND (" + strings.Join(scopes, " OR ") + ")"
	return []area{a}, nil
}
