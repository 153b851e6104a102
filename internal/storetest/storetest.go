// Package storetest holds the suites that every Store must pass: each sentence of the ports' comments, as tests. It
// serves tests only.
package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"memoryd"
)

// Open makes an empty store that ends with the test.
type Open func(testing.TB) memoryd.Store

// Run runs all suites.
func Run(t *testing.T, open func(testing.TB) memoryd.Store) {
	t.Run("Store", func(t *testing.T) { Transactions(t, open) })
	t.Run("Tenants", func(t *testing.T) { Tenants(t, open) })
	t.Run("Agents", func(t *testing.T) { Agents(t, open) })
	t.Run("Keys", func(t *testing.T) { Keys(t, open) })
	t.Run("Sessions", func(t *testing.T) { Sessions(t, open) })
	t.Run("Messages", func(t *testing.T) { Messages(t, open) })
	t.Run("Memories", func(t *testing.T) { Memories(t, open) })
	t.Run("Lists", func(t *testing.T) { Lists(t, open) })
	t.Run("Versions", func(t *testing.T) { Versions(t, open) })
	t.Run("Contents", func(t *testing.T) { Contents(t, open) })
	t.Run("Dump", func(t *testing.T) { Dump(t, open) })
	t.Run("Load", func(t *testing.T) { Load(t, open) })
	t.Run("Partitions", func(t *testing.T) { Partitions(t, open) })
	t.Run("Receipts", func(t *testing.T) { Receipts(t, open) })
	t.Run("Scratch", func(t *testing.T) { Scratch(t, open) })
	t.Run("Uses", func(t *testing.T) { Uses(t, open) })
}

// each runs every case on a store of its own.
func each(t *testing.T, open Open, cases map[string]func(*testing.T, memoryd.Store)) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// now is a time with microseconds, all that a store keeps.
var now = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// east is a clock that is not UTC.
var east = time.FixedZone("", 8*3600)

// odd are ids that a database might fold, trim, cut or take for a pattern. All are different.
var odd = []string{
	"Ab", "ab", "AB", "ab ", " ab", "é", "e\u0301", "ß", "ss", "ﬁ", "fi", "İ", "i", "%", "_", "*", "?", "a'b", `a"b`, `a\b`, "a;b", "a--b",
	"你好", "妳好", "👍", "👍🏽", "0", "00", "0.0", "1e1", "10", "null", "NULL", "true", "2026-01-02", "2026-01-02T03:04:05Z", "a:b", "agent:x", "$1", "?1", ":a", "/", "a/b",
}

func write(t testing.TB, s memoryd.Store, f func(memoryd.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t testing.TB, s memoryd.Store, f func(memoryd.Tx) error) {
	t.Helper()
	if err := s.Read(t.Context(), f); err != nil {
		t.Fatalf("read: %v", err)
	}
}

// fails writes and demands the error.
func fails(t testing.TB, s memoryd.Store, want error, f func(memoryd.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); !errors.Is(err, want) {
		t.Fatalf("write: got %v, want %v", err, want)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// parallel runs f n times at once and answers the errors.
func parallel(n int, f func(int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errs
}

// whole joins errors that are not expected.
func whole(t testing.TB, errs []error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func uuid(i int) string { return fmt.Sprintf("0198f2a0-0000-7000-8000-%012d", i) }

// memory is a plain active one of user u in tenant t; its hash follows the text.
func memory(i int, scope memoryd.Scope, text string) memoryd.Memory {
	return memoryd.Memory{
		Tenant: "t", User: "u", ID: uuid(i), Scope: scope, Text: text, Hash: "hash of " + text, Tokens: len(text) / 4,
		Type: memoryd.Fact, Form: memoryd.FormText, Trust: memoryd.High, Source: memoryd.UserDirect, Status: memoryd.Active,
		Importance: 5, Strength: 1, Recorded: now.Add(time.Duration(i) * time.Second), Version: 1, TypedBy: "given",
		Labels: map[string]string{}, Metadata: []byte("{}"), ConsolidatedFrom: []string{}, Provenance: memoryd.Provenance{Writer: "key"},
	}
}

func session(id string) memoryd.Session {
	return memoryd.Session{Tenant: "t", ID: id, User: "u", State: "open", Metadata: []byte("{}"), Created: now, Updated: now}
}

func message(i int, text string) memoryd.Message {
	return memoryd.Message{
		ID: uuid(i), Role: memoryd.RoleUser, Content: fmt.Appendf(nil, "%q", text), Text: text, Tokens: len(text) / 4, Trust: memoryd.High,
		Writer: "key", Kind: "chat", Time: now.Add(time.Duration(i) * time.Second), Recorded: now, Searchable: true, Metadata: []byte("{}"),
	}
}

var (
	all  = memoryd.AllScopes()
	own  = memoryd.Owner{Tenant: "t", User: "u"}
	team = memoryd.GroupScope("team")
)

func insert(list ...memoryd.Memory) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error {
		for _, m := range list {
			if err := tx.Memories.Insert(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// put makes the session and appends the messages.
func put(s memoryd.Session, list ...memoryd.Message) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error {
		if _, err := tx.Sessions.Put(s); err != nil {
			return err
		}
		_, err := tx.Messages.Append(s, list)
		return err
	}
}

func ids(list []memoryd.Memory) []string {
	out := make([]string, 0, len(list))
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}
