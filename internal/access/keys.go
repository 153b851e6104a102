package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"memoryd"
)

// Kinds of keys.
const (
	kindOperator = "operator"
	kindTenant   = "tenant"
	kindAgent    = "agent"
)

const (
	keyPrefix = "mrd_"
	keyIDLen  = 8
	secretLen = 32
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewKey says what a key is for.
type NewKey struct {
	Kind    string // operator, tenant, agent
	Tenant  string // of a tenant or agent key; "" is the grant's
	Agent   string // of an agent key
	User    string // of an agent key, "" for any
	Name    string // free text, to know it by
	Expires *time.Time

	Repeat memoryd.Repeat // of the request
}

// CreateKey makes a key and, for a tenant or agent key, its tenant. The secret is answered this once and kept nowhere,
// so that a repeated request is a conflict that names the key.
func (a *Access) CreateKey(ctx context.Context, g Grant, n NewKey) (secret string, k memoryd.Key, err error) {
	if !g.operator {
		return "", memoryd.Key{}, errNotOperator()
	}
	if n.Kind != kindOperator && n.Tenant == "" {
		n.Tenant = g.tenant
	}
	now := a.now()
	if err := n.check(now); err != nil {
		return "", memoryd.Key{}, err
	}
	id := randomText(keyIDLen)
	secret = keyPrefix + id + "_" + randomText(secretLen)
	hash := sha256.Sum256([]byte(secret))
	k = memoryd.Key{ID: id, Hash: hash[:], Kind: n.Kind, Tenant: n.Tenant, Agent: n.Agent, User: n.User, Name: n.Name, Created: now, Expires: n.Expires}
	err = a.store.Write(ctx, func(tx memoryd.Tx) error {
		if err := g.Stands(tx, now); err != nil {
			return err
		}
		if err := n.once(tx, g, k); err != nil {
			return err
		}
		if err := leavesOperator(tx, g, k, now); err != nil {
			return err
		}
		if k.Tenant != "" {
			if err := tx.Tenants.Ensure(memoryd.Tenant{ID: k.Tenant, Created: now}); err != nil {
				return err
			}
		}
		return tx.Keys.Insert(k)
	})
	// Even a write that seems to have failed may be durable.
	a.keysChanged()
	if err != nil {
		return "", memoryd.Key{}, fmt.Errorf("access: create key: %w", err)
	}
	return secret, k, nil
}

func (n NewKey) check(now time.Time) error {
	agentOnly := func() error {
		if n.Agent != "" {
			return memoryd.BadField("agent", "belongs to a key of kind agent")
		}
		if n.User != "" {
			return memoryd.BadField("user", "belongs to a key of kind agent")
		}
		return nil
	}
	var err error
	switch n.Kind {
	case kindOperator:
		if n.Tenant != "" {
			return memoryd.BadField("tenant", "an operator's key reaches all tenants and is bound to none")
		}
		err = agentOnly()
	case kindTenant:
		if err = memoryd.CheckID("tenant", n.Tenant); err == nil {
			err = agentOnly()
		}
	case kindAgent:
		err = firstError(memoryd.CheckID("tenant", n.Tenant), memoryd.CheckID("agent", n.Agent), checkOptional("user", n.User))
	default:
		err = memoryd.BadField("kind", "want operator, tenant or agent")
	}
	if err != nil {
		return err
	}
	if err := checkName(n.Name); err != nil {
		return err
	}
	if n.Expires != nil && !n.Expires.After(now) {
		return memoryd.BadField("expires", "lies in the past")
	}
	return nil
}

// KeyPage is a page of Keys, by id.
func (a *Access) KeyPage(ctx context.Context, g Grant, p Page) (page []memoryd.Key, next string, err error) {
	list, err := a.Keys(ctx, g)
	if err != nil {
		return nil, "", err
	}
	return cut(p, "keys", list, func(k memoryd.Key) string { return k.ID })
}

// Keys lists all keys, without their secrets, which nobody knows. Operators only.
func (a *Access) Keys(ctx context.Context, g Grant) ([]memoryd.Key, error) {
	if !g.operator {
		return nil, errNotOperator()
	}
	var list []memoryd.Key
	err := a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		list, err = tx.Keys.List("")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("access: keys: %w", err)
	}
	return list, nil
}

// Revoke ends a key at once; repeating it is no error. Operators only. ErrNotFound for an unknown id.
func (a *Access) Revoke(ctx context.Context, g Grant, id string) error {
	if !g.operator {
		return errNotOperator()
	}
	if err := memoryd.CheckID("id", id); err != nil {
		return err
	}
	now := a.now()
	err := a.store.Write(ctx, func(tx memoryd.Tx) error {
		if err := tx.Keys.Revoke("", id, now); err != nil {
			return err
		}
		return leavesOperator(tx, g, memoryd.Key{}, now)
	})
	a.keysChanged()
	if err != nil {
		return fmt.Errorf("access: revoke: %w", err)
	}
	return nil
}

// leavesOperator refuses what would leave a running server without anybody who can make a key: the first key closes
// the door, so it must be an operator's, and the last operator's key stays. Whoever has the store itself is not bound.
func leavesOperator(tx memoryd.Tx, g Grant, adding memoryd.Key, now time.Time) error {
	if g.writer == WriterLocal || adding.Kind == kindOperator {
		return nil
	}
	list, err := tx.Keys.List("")
	if err != nil {
		return err
	}
	for _, k := range list {
		if k.Kind == kindOperator && k.Revoked == nil && (k.Expires == nil || k.Expires.After(now)) {
			return nil
		}
	}
	return memoryd.Errorf(memoryd.Conflict, "conflict", "no valid operator key would be left, and nobody could make another: make one first, or use memoryd key --data with the server off")
}

func errNotOperator() error {
	return memoryd.Errorf(memoryd.Denied, "not-operator", "only an operator may do this")
}

// parseKey answers the public id of a well-formed key.
func parseKey(s string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(s, keyPrefix)
	if !ok || len(rest) != keyIDLen+1+secretLen || rest[keyIDLen] != '_' {
		return "", false
	}
	for i := range len(rest) {
		if i != keyIDLen && strings.IndexByte(base62, rest[i]) < 0 {
			return "", false
		}
	}
	return rest[:keyIDLen], true
}

// sameKey takes as long for a wrong key as for a right one, and for one that is not there (no hash) as for either.
func sameKey(credential string, hash []byte) bool {
	got := sha256.Sum256([]byte(credential))
	known := len(hash) == len(got)
	if !known {
		hash = make([]byte, len(got))
	}
	return subtle.ConstantTimeCompare(got[:], hash) == 1 && known
}

// randomText is n letters and digits, each as likely as any other.
func randomText(n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, 2*n)
	for len(out) < n {
		rand.Read(buf) // it never fails: it ends the program instead
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte; beyond it some letters would be likelier.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

func checkOptional(path, id string) error {
	if id == "" {
		return nil
	}
	return memoryd.CheckID(path, id)
}

func firstError(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
