package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"memoryd"
)

func TestOpenMakesTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "100%?#é", "memoryd.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), put("a")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{filepath.Dir(path): os.ModeDir | 0o700, path: 0o600, path + "-wal": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), Options{Path: path, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	if stored(t, s)["a"] == nil {
		t.Error("a row is gone after reopening")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Driver: "oracle", Path: filepath.Join(t.TempDir(), "m.db")}} {
		if _, err := Open(t.Context(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, []byte("not a database, but long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: filepath.Join(blocked, "m.db")}); err == nil {
		t.Error("a file was taken for a folder")
	}
	if _, err := Open(t.Context(), Options{Path: blocked}); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("a text was taken for a database: %v", err)
	}
}

func TestOneProcessOwnsTheFolder(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db")}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("a second store: %v", err)
	}
	if err := Migrate(t.Context(), o); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("a migration beside a store: %v", err)
	}
	if _, _, err := Status(t.Context(), o); err != nil {
		t.Errorf("status beside a store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), o); err != nil {
		t.Errorf("after the store was closed: %v", err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db")}
	var wg sync.WaitGroup
	stores := make([]*Store, 6)
	for i := range stores {
		wg.Go(func() {
			s, err := Open(context.Background(), o)
			if err != nil && memoryd.CodeOf(err) != memoryd.Unavailable {
				t.Error(err)
			}
			stores[i] = s
		})
	}
	wg.Wait()
	opened := 0
	for _, s := range stores {
		if s != nil {
			opened++
			if err := errors.Join(s.Write(t.Context(), put("a")), s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	if opened != 1 {
		t.Errorf("%d stores own one folder", opened)
	}
}

func TestMigrations(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "data", "memoryd.db"), Manual: true}
	current, latest, err := Status(t.Context(), o)
	if err != nil || current != 0 || latest < 1 {
		t.Errorf("status of nothing: %d %d %v", current, latest, err)
	}
	if _, err := os.Stat(filepath.Dir(o.Path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("status made something: %v", err)
	}
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrBehind) {
		t.Errorf("an empty store without migration: %v", err)
	}
	for range 2 {
		if err := Migrate(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if current, _, err := Status(t.Context(), o); err != nil || current != latest {
		t.Errorf("status after migration: %d %v", current, err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	raw(t, s, func(c *sqlite3.Conn) error {
		return c.Exec(fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", latest+7))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, manual := range []bool{true, false} {
		o.Manual = manual
		if _, err := Open(t.Context(), o); !errors.Is(err, ErrNewer) {
			t.Errorf("a newer schema: %v", err)
		}
	}
	if err := Migrate(t.Context(), o); !errors.Is(err, ErrNewer) {
		t.Errorf("a migration of a newer schema: %v", err)
	}
}

// Filters make many different statements; a connection keeps a bounded number.
func TestStatementsAreBounded(t *testing.T) {
	s := openTest(t)
	err := s.Read(t.Context(), func(tx memoryd.Tx) error {
		scopes := memoryd.Scopes{}
		for i := range 40 {
			scopes = scopes.With(memoryd.AgentScope(fmt.Sprint(i)))
			for statuses := range 5 {
				for types := range 8 {
					f := memoryd.MemoryFilter{Statuses: memoryd.Statuses[:statuses], Types: memoryd.Types[:types]}
					if _, err := tx.Memories.List(memoryd.Owner{Tenant: "t"}, scopes, f); err != nil {
						return err
					}
				}
			}
		}
		if n := len(tx.Memories.(memories).conn.stmts); n > maxStmts {
			return fmt.Errorf("%d statements are kept", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
