package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"memoryd"
)

// Modes of demanding keys.
const (
	Auto = "auto" // on a loopback address, nobody needs a key until the store holds one
	Keys = "keys" // always
	Off  = "off"  // never; on a loopback address only
)

// Writers that stand in provenance where no key does. A key's is "key:" and its id, so that none can pose as these.
const (
	WriterLoopback = "loopback"
	WriterLocal    = "cli"
	writerKey      = "key:"
)

// DefaultTenant is the tenant of those who name none, unless the options say otherwise.
const DefaultTenant = "default"

// openFor is how long "the store holds no key" is believed, so that a key which another process creates closes the
// door soon. That there are keys is believed until Revoke runs here: the safe side may be stale.
const openFor = time.Second

// Options is what New needs.
type Options struct {
	Store         memoryd.Store
	Now           func() time.Time
	Mode          string // Auto, Keys, Off; "" is Auto
	Loopback      bool   // the address that is listened on reaches this machine only
	DefaultTenant string // "" is DefaultTenant

	Default AgentConfig            // settings of agents that do not say otherwise; it names no rights
	Policy  AgentConfig            // of agents that are named nowhere; what it leaves open: read global, write nothing
	Named   map[string]AgentConfig // settings and rights of the agents of the configuration file
}

// Access knows the keys and the agents. It is safe for concurrent use.
type Access struct {
	store    memoryd.Store
	now      func() time.Time
	mode     string
	loopback bool
	tenant   string

	base     AgentConfig
	defaults Settings
	policy   agent
	named    map[string]agent
	file     map[string]AgentConfig // what named was made of

	mu      sync.Mutex
	door    door
	doorAt  time.Time
	doorGen int // counted up by each change to the keys here, so that an answer read before it is not kept
}

type door int

const (
	unknown door = iota
	open         // no key in the store
	closed
)

// New checks the configuration; errors name the bad key of it (agents.named.writer.read[0]).
func New(o Options) (*Access, error) {
	a := &Access{store: o.Store, now: o.Now, mode: o.Mode, loopback: o.Loopback, tenant: o.DefaultTenant, base: o.Default, file: o.Named}
	if a.now == nil {
		a.now = time.Now
	}
	if a.mode == "" {
		a.mode = Auto
	}
	if a.tenant == "" {
		a.tenant = DefaultTenant
	}
	if err := memoryd.CheckID("auth.default_tenant", a.tenant); err != nil {
		return nil, err
	}
	switch a.mode {
	case Auto, Keys:
	case Off:
		if !a.loopback {
			return nil, memoryd.BadField("auth.mode", `"off" works on a loopback address only; use "keys" and create one with: memoryd key create --kind operator`)
		}
	default:
		return nil, memoryd.BadField("auth.mode", "want auto, keys or off")
	}
	return a, a.resolveAll(o)
}

func (a *Access) resolveAll(o Options) error {
	if o.Default.grants() {
		return memoryd.BadField("agents.default", "takes no read, write, allowed_types or operator: rights are named agent by agent")
	}
	base, err := resolve("agents.default", AgentConfig{}, o.Default)
	if err != nil {
		return err
	}
	a.defaults = base.settings
	policy := o.Policy
	// What the policy leaves open must not read as an agent that is named with rights of its own.
	if policy.Read == nil {
		policy.Read = []string{string(memoryd.Global)}
	}
	if policy.Write == nil {
		policy.Write = []string{"none"}
	}
	if policy.AllowedTypes == nil {
		policy.AllowedTypes = []memoryd.Type{}
	}
	if policy.Operator != nil && *policy.Operator {
		return memoryd.BadField("agents.policy.operator", "an agent that is named nowhere cannot be an operator")
	}
	if a.policy, err = resolve("agents.policy", o.Default, policy); err != nil {
		return err
	}
	a.named = make(map[string]agent, len(o.Named))
	for name, c := range o.Named {
		path := "agents.named." + name
		if err := memoryd.CheckID(path, name); err != nil {
			return err
		}
		if a.named[name], err = resolve(path, o.Default, c); err != nil {
			return err
		}
	}
	return nil
}

// Open says whether requests run without a key now. It answers an error that says what to do when the server may not
// start like this: reachable from elsewhere, and no key in the store.
func (a *Access) Open(ctx context.Context) (bool, error) {
	if a.mode == Off {
		return true, nil
	}
	keys, err := a.hasKeys(ctx)
	if err != nil || keys {
		return false, err
	}
	if !a.loopback && a.mode == Auto {
		return false, memoryd.Errorf(memoryd.Invalid, "no-key",
			"others can reach this address and the store holds no key; create one with: memoryd key create --kind operator, or listen on 127.0.0.1")
	}
	return a.mode == Auto, nil
}

// hasKeys says whether the store holds a key. One that is expired or revoked counts: a door must open neither by
// waiting nor by throwing the key away.
func (a *Access) hasKeys(ctx context.Context) (bool, error) {
	a.mu.Lock()
	state, gen := a.door, a.doorGen
	if state == open {
		if age := a.now().Sub(a.doorAt); age < 0 || age >= openFor {
			state = unknown
		}
	}
	a.mu.Unlock()
	if state != unknown {
		return state == closed, nil
	}
	at, found := a.now(), open
	err := a.store.Read(ctx, func(tx memoryd.Tx) error {
		found = open
		list, err := tx.Keys.List("")
		if len(list) > 0 {
			found = closed
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("access: keys: %w", err)
	}
	a.mu.Lock()
	if a.doorGen == gen {
		a.door, a.doorAt = found, at
	}
	a.mu.Unlock()
	return found == closed, nil
}

func (a *Access) keysChanged() {
	a.mu.Lock()
	a.door, a.doorGen = unknown, a.doorGen+1
	a.mu.Unlock()
}

// Identity is who a credential speaks for. The zero Identity is nobody.
type Identity struct {
	kind   string
	tenant string
	agent  string
	user   string
	writer string
}

// Writer is what logs and provenance call the identity; never the key itself.
func (id Identity) Writer() string { return id.writer }

// Kind is operator, tenant or agent.
func (id Identity) Kind() string { return id.kind }

// IsZero says whether the identity is nobody.
func (id Identity) IsZero() bool { return id.kind == "" }

// Local is the grant of commands that work on the store itself: whoever can open its file may do everything.
func (a *Access) Local() Grant {
	g, _ := a.unnarrowed(a.LocalIdentity(), a.tenant)
	return g
}

// LocalIdentity is who commands on the store itself run as, for those that name a tenant, user or agent.
func (a *Access) LocalIdentity() Identity {
	return Identity{kind: kindOperator, tenant: a.tenant, writer: WriterLocal}
}

// Authenticate answers who a credential speaks for. "" is none. Where no key is demanded, a credential is not looked
// at, since many clients cannot be configured without one.
func (a *Access) Authenticate(ctx context.Context, credential string) (Identity, error) {
	openNow := a.mode == Off
	if a.mode == Auto && a.loopback {
		keys, err := a.hasKeys(ctx)
		if err != nil {
			return Identity{}, err
		}
		openNow = !keys
	}
	if openNow {
		return Identity{kind: kindOperator, tenant: a.tenant, writer: WriterLoopback}, nil
	}
	if credential == "" {
		return Identity{}, memoryd.Errorf(memoryd.Unauthenticated, "no-key", "a key is needed: send it as Authorization: Bearer mrd_…")
	}
	return a.identify(ctx, credential)
}

func (a *Access) identify(ctx context.Context, credential string) (Identity, error) {
	bad := memoryd.Errorf(memoryd.Unauthenticated, "bad-key", "the key is not valid")
	keyID, ok := parseKey(credential)
	if !ok {
		return Identity{}, bad
	}
	var k memoryd.Key
	err := a.store.Read(ctx, func(tx memoryd.Tx) (err error) {
		k, err = tx.Keys.Get(keyID)
		return err
	})
	if err != nil && !errors.Is(err, memoryd.ErrNotFound) {
		return Identity{}, fmt.Errorf("access: key: %w", err)
	}
	if !sameKey(credential, k.Hash) || err != nil || k.Revoked != nil {
		return Identity{}, bad
	}
	if k.Expires != nil && !k.Expires.After(a.now()) {
		return Identity{}, memoryd.Errorf(memoryd.Unauthenticated, "expired-key", "the key has expired")
	}
	id := Identity{kind: k.Kind, tenant: k.Tenant, agent: k.Agent, user: k.User, writer: writerKey + k.ID}
	switch k.Kind {
	case kindOperator:
		id.tenant = a.tenant
	case kindTenant, kindAgent:
	default:
		return Identity{}, bad
	}
	return id, nil
}
