package remember_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

type world struct {
	*remember.Writer
	t      *testing.T
	store  memoryd.Store
	access *access.Access
	now    time.Time
}

// agents of the tests: w writes everywhere and is believed a little, own keeps to itself, reader reads all, drop
// writes to global without reading it, facts writes facts.
func agents() map[string]access.AgentConfig {
	all := []string{"global", "dm", "group:*", "agent:*"}
	return map[string]access.AgentConfig{
		"w":      {Read: all, Write: all},
		"low":    {Read: all, Write: all, MaxTrust: memoryd.Low},
		"own":    {},
		"reader": {Read: all},
		"drop":   {Write: []string{"global"}},
		"post":   {Write: []string{"group:*"}},
		"facts":  {Read: all, Write: all, AllowedTypes: []memoryd.Type{memoryd.Fact}},
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Options{Driver: "sqlite", Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &world{t: t, store: store, now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	var id atomic.Int64
	w.Writer = remember.New(remember.Options{
		Store: store, Guard: guard.Cleaner{}, Count: utf8.RuneCountInString, Fold: strings.ToLower,
		Now: func() time.Time { return w.now }, NewID: func() string { return fmt.Sprintf("id-%06d", id.Add(1)) },
	})
	if w.access, err = access.New(access.Options{Store: store, Loopback: true, Named: agents()}); err != nil {
		t.Fatal(err)
	}
	return w
}

// grant is what the open loopback may do for that user and agent.
func (w *world) grant(user, agent string) access.Grant {
	w.t.Helper()
	g, err := w.access.Grant(w.t.Context(), w.access.LocalIdentity(), access.Ask{User: user, Agent: agent})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// tenant is a grant in another tenant.
func (w *world) tenant(tenant string) access.Grant {
	w.t.Helper()
	a, err := access.New(access.Options{Store: w.store, DefaultTenant: tenant})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Local()
}

func (w *world) add(g access.Grant, r remember.AddRequest) remember.Added {
	w.t.Helper()
	out, err := w.Add(w.t.Context(), g, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) append(g access.Grant, session string, list ...remember.NewMessage) remember.Appended {
	w.t.Helper()
	out, err := w.Append(w.t.Context(), g, session, remember.AppendRequest{Messages: list})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) read(f func(memoryd.Tx) error) {
	w.t.Helper()
	if err := w.store.Read(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// memories is all of a tenant's.
func (w *world) memories(tenant string) (list []memoryd.Memory) {
	w.t.Helper()
	w.read(func(tx memoryd.Tx) (err error) {
		list, err = tx.Memories.List(memoryd.Owner{Tenant: tenant}, memoryd.AllScopes(), memoryd.MemoryFilter{Statuses: memoryd.Statuses, Limit: 10_000})
		return err
	})
	return list
}

func (w *world) get(id string) memoryd.Memory {
	w.t.Helper()
	for _, m := range w.memories("default") {
		if m.ID == id {
			return m
		}
	}
	w.t.Fatalf("no memory %s", id)
	return memoryd.Memory{}
}

func (w *world) versions(id string) (list []memoryd.Version) {
	w.t.Helper()
	w.read(func(tx memoryd.Tx) (err error) { list, err = tx.Versions.List("default", id); return err })
	return list
}

func (w *world) session(id string) (s memoryd.Session) {
	w.t.Helper()
	w.read(func(tx memoryd.Tx) (err error) {
		s, err = tx.Sessions.Get(memoryd.Owner{Tenant: "default"}, memoryd.AllScopes(), id)
		return err
	})
	return s
}

func (w *world) messages(id string) (list []memoryd.Message) {
	w.t.Helper()
	s := w.session(id)
	w.read(func(tx memoryd.Tx) (err error) { list, err = tx.Messages.Newest(s, 0, 10_000); return err })
	return list
}

// all is everything that is stored, to see that a refusal changed nothing.
func (w *world) all() string {
	w.t.Helper()
	var out struct {
		Memories []memoryd.Memory
		Versions [][]memoryd.Version
		Sessions []memoryd.Session
		Messages [][]memoryd.Message
	}
	out.Memories = w.memories("default")
	for _, m := range out.Memories {
		out.Versions = append(out.Versions, w.versions(m.ID))
	}
	w.read(func(tx memoryd.Tx) (err error) {
		out.Sessions, err = tx.Sessions.List(memoryd.Owner{Tenant: "default"}, memoryd.AllScopes(), memoryd.SessionFilter{Limit: 1000})
		return err
	})
	for _, s := range out.Sessions {
		out.Messages = append(out.Messages, w.messages(s.ID))
	}
	raw, err := json.Marshal(out)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(raw)
}

// refused wants "code slug", and the path among the fields when one is given.
func refused(t *testing.T, name string, err error, want, path string) {
	t.Helper()
	var e *memoryd.Error
	if !errors.As(err, &e) || string(e.Code)+" "+e.Slug != want {
		t.Errorf("%s: %v, want %s", name, err, want)
		return
	}
	if path != "" && (len(e.Fields) == 0 || e.Fields[0].Path != path) {
		t.Errorf("%s: fields %v, want %s", name, e.Fields, path)
	}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }
