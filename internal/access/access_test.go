package access_test

import (
	"context"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/sqlstore"
)

type world struct {
	*access.Access
	store memoryd.Store
	now   time.Time
}

func newWorld(t *testing.T, o access.Options) *world {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Options{Driver: "sqlite", Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &world{store: store, now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	o.Store, o.Now = store, func() time.Time { return w.now }
	if w.Access, err = access.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) key(t *testing.T, n access.NewKey) (string, memoryd.Key) {
	t.Helper()
	secret, k, err := w.CreateKey(t.Context(), w.Local(), n)
	if err != nil {
		t.Fatal(err)
	}
	return secret, k
}

// grant authenticates and narrows.
func (w *world) grant(t *testing.T, secret string, ask access.Ask) access.Grant {
	t.Helper()
	id, err := w.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Grant(t.Context(), id, ask)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantError wants an *memoryd.Error of that code and slug; path "" for none.
func wantError(t *testing.T, err error, code memoryd.Code, slug, path string) {
	t.Helper()
	if !is(err, code, slug) {
		t.Fatalf("got %v, want %s %s", err, code, slug)
	}
	if path != "" && !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name %s", err, path)
	}
}

func is(err error, code memoryd.Code, slug string) bool {
	for e := err; e != nil; {
		if m, ok := e.(*memoryd.Error); ok {
			return m.Code == code && m.Slug == slug
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		e = u.Unwrap()
	}
	return false
}

func TestKeyIsShownOnceAndHashed(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	secret, k := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme", Name: "backend"})
	if !regexp.MustCompile(`^mrd_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$`).MatchString(secret) {
		t.Errorf("key %q", secret)
	}
	if secret[4:12] != k.ID {
		t.Errorf("id %q of key %q", k.ID, secret)
	}
	list, err := w.Keys(t.Context(), w.Local())
	if err != nil || len(list) != 1 || list[0].ID != k.ID || list[0].Tenant != "acme" || list[0].Name != "backend" {
		t.Fatalf("Keys = %+v, %v", list, err)
	}
	if strings.Contains(string(list[0].Hash), secret[13:]) || len(list[0].Hash) != 32 {
		t.Error("the store holds the secret")
	}
	err = w.store.Read(t.Context(), func(tx memoryd.Tx) error { _, err := tx.Tenants.Get("acme"); return err })
	if err != nil {
		t.Errorf("the key's tenant: %v", err)
	}
	other, _ := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme"})
	if other == secret {
		t.Error("two keys are equal")
	}
}

func TestAuthenticate(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	soon := w.now.Add(time.Hour)
	good, k := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "writer", User: "amy"})
	short, _ := w.key(t, access.NewKey{Kind: "tenant", Expires: &soon})
	revoked, rk := w.key(t, access.NewKey{Kind: "operator"})
	if err := w.Revoke(t.Context(), w.Local(), rk.ID); err != nil {
		t.Fatal(err)
	}
	id, err := w.Authenticate(t.Context(), good)
	if err != nil || id.Writer() != "key:"+k.ID {
		t.Fatalf("Authenticate = %+v, %v", id, err)
	}
	w.now = soon
	wrong := good[:len(good)-1] + "A"
	if wrong == good {
		wrong = good[:len(good)-1] + "B"
	}
	texts := map[string]bool{}
	for name, c := range map[string]struct{ credential, slug string }{
		"none":                           {"", "no-key"},
		"expired":                        {short, "expired-key"},
		"wrong":                          {wrong, "bad-key"},
		"unknown":                        {"mrd_00000000_" + strings.Repeat("0", 32), "bad-key"},
		"revoked":                        {revoked, "bad-key"},
		"malformed":                      {"sk-" + good, "bad-key"},
		"cut":                            {good[:20], "bad-key"},
		"longer":                         {good + "0", "bad-key"},
		"expired, with the wrong secret": {short[:13] + strings.Repeat("0", 32), "bad-key"},
	} {
		id, err := w.Authenticate(t.Context(), c.credential)
		if !is(err, memoryd.Unauthenticated, c.slug) || !id.IsZero() {
			t.Errorf("%s: %+v, %v", name, id, err)
			continue
		}
		if c.credential != "" && strings.Contains(err.Error(), c.credential) {
			t.Errorf("%s: the error holds the key", name)
		}
		if c.slug == "bad-key" {
			texts[err.Error()] = true
		}
	}
	if len(texts) != 1 {
		t.Errorf("bad keys are told apart: %v", texts)
	}
	if _, err := w.Grant(t.Context(), access.Identity{}, access.Ask{}); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Errorf("nobody's grant: %v", err)
	}
}

func TestModes(t *testing.T) {
	for name, c := range map[string]struct {
		mode              string
		loopback, withKey bool
		open, refuses     bool
	}{
		"auto, loopback":           {"auto", true, false, true, false},
		"auto, loopback, key":      {"", true, true, false, false},
		"auto, everywhere":         {"auto", false, false, false, true},
		"auto, everywhere, key":    {"auto", false, true, false, false},
		"keys, loopback":           {"keys", true, false, false, false},
		"keys, everywhere":         {"keys", false, false, false, false},
		"off, loopback":            {"off", true, false, true, false},
		"off, loopback, with keys": {"off", true, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, access.Options{Mode: c.mode, Loopback: c.loopback, DefaultTenant: "home"})
			if c.withKey {
				w.key(t, access.NewKey{Kind: "agent", Agent: "a"})
			}
			open, err := w.Open(t.Context())
			if open != c.open || (err != nil) != c.refuses {
				t.Errorf("Open = %v, %v", open, err)
			}
			if c.refuses && !strings.Contains(err.Error(), "memoryd key create") {
				t.Errorf("%v does not say what to do", err)
			}
			for _, credential := range []string{"", "whatever a client must send"} {
				id, err := w.Authenticate(t.Context(), credential)
				if (err == nil) != c.open {
					t.Fatalf("Authenticate(%q) = %+v, %v", credential, id, err)
				}
				if c.open && id.Writer() != "loopback" {
					t.Errorf("identity %+v", id)
				}
			}
			if c.open {
				if g := w.grant(t, "", access.Ask{}); g.Tenant() != "home" || !g.Operator() || g.Writer() != "loopback" {
					t.Errorf("grant %+v", g)
				}
			}
		})
	}
	if _, err := access.New(access.Options{Mode: "off"}); !is(err, memoryd.Invalid, "bad-field") {
		t.Errorf("off, everywhere: %v", err)
	}
	if _, err := access.New(access.Options{Mode: "none", Loopback: true}); !is(err, memoryd.Invalid, "bad-field") {
		t.Errorf("unknown mode: %v", err)
	}
}

func TestTheFirstKeyClosesTheDoorAtOnce(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	if _, err := w.Authenticate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	past := w.now.Add(time.Minute)
	_, k := w.key(t, access.NewKey{Kind: "operator", Expires: &past})
	if _, err := w.Authenticate(t.Context(), ""); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Fatalf("with a key: %v", err)
	}
	w.now = past.Add(time.Hour)
	if _, err := w.Authenticate(t.Context(), ""); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Fatalf("the door opened when the key expired: %v", err)
	}
	restarted, err := access.New(access.Options{Store: w.store, Now: func() time.Time { return w.now }, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restarted.Authenticate(t.Context(), ""); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Fatalf("the door opened at a restart, when the key had expired: %v", err)
	}
	if err := w.Revoke(t.Context(), w.Local(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(t.Context(), ""); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Fatalf("the door opened when the key was revoked: %v", err)
	}
}

// Nobody can lock all operators out of a running server: whoever has the store itself still can.
func TestAnOperatorIsLeft(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	open := w.grant(t, "", access.Ask{})
	_, _, err := w.CreateKey(t.Context(), open, access.NewKey{Kind: "agent", Agent: "writer"})
	wantError(t, err, memoryd.Conflict, "conflict", "operator")
	first, k, err := w.CreateKey(t.Context(), open, access.NewKey{Kind: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	g := w.grant(t, first, access.Ask{})
	wantError(t, w.Revoke(t.Context(), g, k.ID), memoryd.Conflict, "conflict", "operator")
	if _, _, err := w.CreateKey(t.Context(), g, access.NewKey{Kind: "agent", Agent: "writer"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreateKey(t.Context(), g, access.NewKey{Kind: "operator"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), g, k.ID); err != nil {
		t.Errorf("with another operator: %v", err)
	}
}

func TestAKeyOfAnotherProcessClosesTheDoor(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	if _, err := w.Authenticate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := access.New(access.Options{Store: w.store, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := elsewhere.CreateKey(t.Context(), elsewhere.Local(), access.NewKey{Kind: "operator"}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Second)
	if _, err := w.Authenticate(t.Context(), ""); !is(err, memoryd.Unauthenticated, "no-key") {
		t.Fatalf("a second later: %v", err)
	}
}

func TestCreateKeyRefuses(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	past := w.now
	for name, c := range map[string]struct {
		n    access.NewKey
		path string
	}{
		"no kind":                {access.NewKey{}, "kind"},
		"unknown kind":           {access.NewKey{Kind: "root"}, "kind"},
		"agent without a name":   {access.NewKey{Kind: "agent"}, "agent"},
		"agent name too long":    {access.NewKey{Kind: "agent", Agent: strings.Repeat("x", 129)}, "agent"},
		"tenant with an agent":   {access.NewKey{Kind: "tenant", Agent: "x"}, "agent"},
		"tenant with a user":     {access.NewKey{Kind: "tenant", User: "x"}, "user"},
		"operator with a tenant": {access.NewKey{Kind: "operator", Tenant: "x"}, "tenant"},
		"operator with a user":   {access.NewKey{Kind: "operator", User: "x"}, "user"},
		"NUL in a user":          {access.NewKey{Kind: "agent", Agent: "x", User: "a\x00"}, "user"},
		"NUL in a tenant":        {access.NewKey{Kind: "tenant", Tenant: "a\x00"}, "tenant"},
		"NUL in a name":          {access.NewKey{Kind: "operator", Name: "a\x00"}, "name"},
		"long name":              {access.NewKey{Kind: "operator", Name: strings.Repeat("名", 129)}, "name"},
		"expired":                {access.NewKey{Kind: "operator", Expires: &past}, "expires"},
	} {
		_, _, err := w.CreateKey(t.Context(), w.Local(), c.n)
		if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), c.path+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := w.Keys(t.Context(), w.Local()); err != nil || len(list) > 0 {
		t.Errorf("keys %+v, %v", list, err)
	}
	err := w.store.Read(t.Context(), func(tx memoryd.Tx) error {
		list, err := tx.Tenants.List()
		if len(list) > 0 {
			t.Errorf("tenants %+v", list)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyOperatorsHandleKeys(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true, Named: map[string]access.AgentConfig{
		"ops":   {Operator: ptr(true)},
		"plain": {},
	}})
	tenantKey, tk := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme"})
	agentKey, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "plain"})
	opsKey, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "ops"})
	operatorKey, _ := w.key(t, access.NewKey{Kind: "operator"})
	for name, c := range map[string]struct {
		g  access.Grant
		ok bool
	}{
		"tenant":                    {w.grant(t, tenantKey, access.Ask{}), false},
		"tenant as ops":             {w.grant(t, tenantKey, access.Ask{Agent: "ops"}), false},
		"agent":                     {w.grant(t, agentKey, access.Ask{}), false},
		"agent that is an operator": {w.grant(t, opsKey, access.Ask{}), true},
		"operator":                  {w.grant(t, operatorKey, access.Ask{}), true},
		"operator as plain":         {w.grant(t, operatorKey, access.Ask{Agent: "plain"}), false},
		"operator as ops":           {w.grant(t, operatorKey, access.Ask{Agent: "ops"}), true},
		"operator as unknown":       {w.grant(t, operatorKey, access.Ask{Agent: "x"}), true},
		"zero":                      {access.Grant{}, false},
	} {
		_, listErr := w.Keys(t.Context(), c.g)
		revokeErr := w.Revoke(t.Context(), c.g, "nosuchid")
		_, _, createErr := w.CreateKey(t.Context(), c.g, access.NewKey{Kind: "bad"})
		if c.ok {
			if listErr != nil || !is(revokeErr, memoryd.NotFound, "not-found") || !is(createErr, memoryd.Invalid, "bad-field") {
				t.Errorf("%s: %v, %v, %v", name, listErr, revokeErr, createErr)
			}
			continue
		}
		for _, err := range []error{listErr, revokeErr, createErr} {
			if !is(err, memoryd.Denied, "not-operator") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := w.Authenticate(t.Context(), tenantKey); err != nil {
		t.Errorf("key %s after the refusals: %v", tk.ID, err)
	}
}

func TestAsk(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: true})
	operator, _ := w.key(t, access.NewKey{Kind: "operator"})
	tenant, _ := w.key(t, access.NewKey{Kind: "tenant", Tenant: "acme"})
	agent, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "writer"})
	bound, _ := w.key(t, access.NewKey{Kind: "agent", Tenant: "acme", Agent: "writer", User: "amy"})
	type A = access.Ask
	for name, c := range map[string]struct {
		secret string
		ask    A
		err    string // "code slug"
		want   []string
	}{
		"operator, nothing named":    {operator, A{}, "", []string{"default", "", ""}},
		"operator, default tenant":   {operator, A{Tenant: "default"}, "", []string{"default", "", ""}},
		"operator, a tenant":         {operator, A{Tenant: "acme", User: "bob"}, "", []string{"acme", "bob", ""}},
		"operator, unknown tenant":   {operator, A{Tenant: "nobody"}, "not_found not-found", nil},
		"tenant, its own":            {tenant, A{Tenant: "acme", User: "bob", Agent: "x"}, "", []string{"acme", "bob", "x"}},
		"tenant, another":            {tenant, A{Tenant: "default"}, "denied scope-denied", nil},
		"tenant, one that is not":    {tenant, A{Tenant: "nobody"}, "denied scope-denied", nil},
		"agent, nothing named":       {agent, A{}, "", []string{"acme", "", "writer"}},
		"agent, itself":              {agent, A{Tenant: "acme", Agent: "writer", User: "bob"}, "", []string{"acme", "bob", "writer"}},
		"agent, another":             {agent, A{Agent: "ops"}, "denied scope-denied", nil},
		"agent, another tenant":      {agent, A{Tenant: "default"}, "denied scope-denied", nil},
		"bound, nothing named":       {bound, A{}, "", []string{"acme", "amy", "writer"}},
		"bound, itself":              {bound, A{User: "amy"}, "", []string{"acme", "amy", "writer"}},
		"bound, another user":        {bound, A{User: "bob"}, "denied scope-denied", nil},
		"bound, another case":        {bound, A{User: "Amy"}, "denied scope-denied", nil},
		"NUL in a user":              {operator, A{User: "a\x00"}, "invalid bad-field", nil},
		"long agent":                 {operator, A{Agent: strings.Repeat("x", 129)}, "invalid too-long", nil},
		"bad tenant":                 {operator, A{Tenant: ".."}, "invalid bad-field", nil},
		"agent, NUL in another name": {agent, A{Agent: "a\x00"}, "invalid bad-field", nil},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := w.Authenticate(t.Context(), c.secret)
			if err != nil {
				t.Fatal(err)
			}
			g, err := w.Grant(t.Context(), id, c.ask)
			if c.err != "" {
				code, slug, _ := strings.Cut(c.err, " ")
				wantError(t, err, memoryd.Code(code), slug, "")
				if !reflect.DeepEqual(g, access.Grant{}) {
					t.Errorf("a refusal grants %+v", g)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := []string{g.Tenant(), g.User(), g.Agent()}; !slices.Equal(got, c.want) {
				t.Errorf("tenant, user, agent = %q, want %q", got, c.want)
			}
			if o := g.Owner(); o.Tenant != g.Tenant() || o.User == "" {
				t.Errorf("owner %+v", o)
			}
		})
	}
}

func TestLocal(t *testing.T) {
	w := newWorld(t, access.Options{Loopback: false})
	g := w.Local()
	if !g.Operator() || g.Writer() != "cli" || g.Tenant() != "default" || !g.Writes().Has(memoryd.DM) || g.MaxTrust() != memoryd.High || !g.AllowsType(memoryd.Fact) {
		t.Errorf("%+v", g)
	}
	as, err := w.Grant(context.Background(), w.LocalIdentity(), access.Ask{User: "amy"})
	if err != nil || as.User() != "amy" || as.Writer() != "cli" {
		t.Errorf("%+v, %v", as, err)
	}
}

func ptr[T any](v T) *T { return &v }
