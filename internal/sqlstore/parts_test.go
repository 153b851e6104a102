package sqlstore

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestBackupRemovesWhatAKilledOneLeft(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	old := time.Now().Add(-2 * time.Hour)
	for name, at := range map[string]time.Time{
		"b.part-ABCDEFG2": old, "b.part-ABCDEFG2-journal": old, // left
		"b.part-ABCDEFG3": time.Now(), "b.part-notes": old, "b.part-": old, "other.part-ABCDEFG2": old, // under way, or not ours
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "b.part-FOLDER"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "b"), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"b", "b.part-", "b.part-ABCDEFG3", "b.part-FOLDER", "b.part-notes", "other.part-ABCDEFG2"}
	list, err := os.ReadDir(dir)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}
