package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"memoryd"
)

// Who only looks leaves the log that a crash left for the next start, which checks it.
func TestLookingChangesNothing(t *testing.T) {
	dir, o := crashed(t, "")
	before := filesOf(t, dir)
	looked := 0
	err := Peek(t.Context(), o, func(tx memoryd.Tx) error {
		list, err := tx.Agents.List("t")
		looked = len(list)
		return err
	})
	if err != nil || looked != 20 {
		t.Errorf("peek: %d rows, %v", looked, err)
	}
	if _, _, err := Status(t.Context(), o); err != nil {
		t.Error(err)
	}
	if found, err := Check(t.Context(), o); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	if err := Backup(t.Context(), o, filepath.Join(t.TempDir(), "backup"), nil); err != nil {
		t.Error(err)
	}
	if after := filesOf(t, dir); before != after {
		t.Errorf("files changed: %v, then %v", before, after)
	}
}

// A database that lacks what it should have is refused as it is.
func TestForeignFiles(t *testing.T) {
	dir, o := crashed(t, "")
	data, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	data[reserved] = 0
	if err := os.WriteFile(o.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	if _, err := Open(t.Context(), o); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("without checksums: %v", err)
	}
	if after := filesOf(t, dir); before != after {
		t.Errorf("files changed: %v, then %v", before, after)
	}
}

// crashed is a folder with a database whose last writes stand in the log only.
func crashed(t *testing.T, key string) (string, Options) {
	t.Helper()
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db"), EncryptionKey: key}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 20 {
		if err := s.Write(t.Context(), put(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"memoryd.db", "memoryd.db-wal"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(o.Path), name))
		if err != nil || len(data) == 0 {
			t.Fatal(name, len(data), err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Path = filepath.Join(dir, "memoryd.db")
	return dir, o
}

// copied is the file alone, in a folder of its own.
func copied(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// filesOf is the names and the bytes of the database's files, for comparing.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	for _, name := range folder(t, dir) {
		if name == "memoryd.lock" || name == "memoryd.db-shm" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text += name + " " + short(string(data)) + "\n"
	}
	return text
}
