package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"memoryd"
	"memoryd/internal/sqlstore"
)

// A tenant that nobody made has no row between its memories and those of the tenant before.
func TestAgainWithTenantsSideBySide(t *testing.T) {
	s := openStore(t)
	err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		_, err := tx.Tenants.Put(memoryd.Tenant{ID: "acme", Created: now})
		return errors.Join(err, tx.Load.Memories([]memoryd.Memory{
			memory("acme", "amy", "1", memoryd.Global, "tea"), memory("acme", "amy", "2", memoryd.DM, "tea"), memory("default", "amy", "1", memoryd.Global, "milk"),
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	path := toFile(t, export(t, s, ExportOptions{}))
	for _, dry := range []bool{true, false} {
		if got, err := importFile(t, s, path, dry); err != nil || got.Duplicate != 4 || got.Added != 0 {
			t.Errorf("dry run %t: %+v, %v", dry, got, err)
		}
	}
}

// randomRows puts sessions and memories of several tenants and users into a store; ids and texts meet across them.
func randomRows(t *rapid.T, tx memoryd.Tx) error {
	var all []error
	users := rapid.SampledFrom([]string{"amy", "bo"})
	for _, tenant := range []string{"acme", "b", "default", "z"} {
		if rapid.Bool().Draw(t, "tenant") {
			_, err := tx.Tenants.Put(memoryd.Tenant{ID: tenant, Created: now})
			all = append(all, err)
		}
		if rapid.Bool().Draw(t, "agent") {
			all = append(all, tx.Agents.Put(tenant, "main", []byte(`{"read":["global"]}`)))
		}
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 0, 3, rapid.ID).Draw(t, "sessions") {
			x := session(tenant, users.Draw(t, "user"), id)
			if rapid.Bool().Draw(t, "grouped") {
				x.Group = "g"
			}
			x.LastSeq = rapid.Int64Range(0, 5).Draw(t, "messages")
			x.JudgedSeq = rapid.Int64Range(0, x.LastSeq).Draw(t, "judged")
			var list []memoryd.Message
			for i := range int(x.LastSeq) {
				if rapid.IntRange(0, 4).Draw(t, "gap") > 0 {
					list = append(list, message(i+1, "hello"))
				}
			}
			all = append(all, tx.Load.Session(x), tx.Load.Messages(x, list))
		}
		all = append(all, randomMemories(t, tx, tenant))
	}
	return errors.Join(all...)
}

func randomMemories(t *rapid.T, tx memoryd.Tx, tenant string) error {
	var all []error
	seen := map[twinKey]bool{}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}), 0, 5, rapid.ID).Draw(t, "memories") {
		m := memory(tenant, rapid.SampledFrom([]string{"amy", "bo"}).Draw(t, "user"), id,
			rapid.SampledFrom([]memoryd.Scope{memoryd.Global, memoryd.DM, memoryd.GroupScope("g")}).Draw(t, "scope"), rapid.SampledFrom([]string{"tea", "milk"}).Draw(t, "text"))
		m.Status = rapid.SampledFrom([]memoryd.Status{memoryd.Active, memoryd.Active, memoryd.Superseded, memoryd.Quarantined}).Draw(t, "status")
		k := twinKey{m.Partition(), m.Scope, m.Hash}
		if m.Status == memoryd.Active && seen[k] {
			continue
		}
		seen[k] = seen[k] || m.Status == memoryd.Active
		m.Version = rapid.Int64Range(1, 4).Draw(t, "version")
		all = append(all, tx.Load.Memories([]memoryd.Memory{m}))
		for v := int64(1); v < m.Version; v++ {
			old := m
			old.Version, old.Text = v, fmt.Sprintf("v%d", v)
			all = append(all, tx.Versions.Add(old, "k", now))
		}
	}
	return errors.Join(all...)
}

// TestAgain: an import that is repeated, in batches of any size, adds nothing; one that stopped after any batch and is
// gone on with makes the store whose export it was; and a dry run says what the import then does.
func TestAgain(t *testing.T) {
	empty := t.TempDir() // migrated once, which takes longer than all that is done with it
	openAt := func(dir string) *sqlstore.Store {
		s, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: filepath.Join(dir, "memoryd.db")})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := openAt(empty).Close(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		open := func() *sqlstore.Store {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(empty)); err != nil {
				rt.Fatal(err)
			}
			return openAt(dir)
		}
		a, b := open(), open()
		defer func() { _, _ = a.Close(), b.Close() }()
		if err := a.Write(t.Context(), func(tx memoryd.Tx) error { return randomRows(rt, tx) }); err != nil {
			rt.Fatal(err)
		}
		text := export(t, a, ExportOptions{})
		path, sizes := toFile(t, text), rapid.IntRange(1, 30)
		run := func(s memoryd.Store, dry bool) Imported {
			got, err := importBy(t, s, path, dry, sizes.Draw(rt, "rows"))
			if err != nil && !errors.Is(err, errPower) {
				rt.Fatal(err)
			}
			return got
		}
		run(&failing{b, rapid.IntRange(0, 8).Draw(rt, "batches")}, false)
		dry, got := run(b, true), run(b, false)
		if dry.Added != got.Added || dry.Duplicate != got.Duplicate || dry.Quarantined != got.Quarantined || got.RefusedRows+dry.RefusedRows != 0 {
			rt.Fatalf("dry run %+v, import %+v", dry, got)
		}
		if back := export(t, b, ExportOptions{}); !bytes.Equal(back, text) {
			rt.Fatalf("gone on with, the store differs: %s", firstDifference(text, back))
		}
		for _, dry := range []bool{true, false} {
			if got := run(b, dry); got.Duplicate != got.Rows {
				rt.Fatalf("again, dry run %t: %+v", dry, got)
			}
		}
		if back := export(t, b, ExportOptions{}); !bytes.Equal(back, text) {
			rt.Fatal("the repeated import changed the store")
		}
	})
}
