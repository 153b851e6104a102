package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memoryd"
)

func TestPeek(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db")}
	if err := Peek(t.Context(), o, func(memoryd.Tx) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a store: %v", err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), put("a")); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		found := false
		err := Peek(t.Context(), o, func(tx memoryd.Tx) error {
			list, err := tx.Agents.List("t")
			found = list["a"] != nil
			return errors.Join(err, unwritable(tx))
		})
		if err != nil || !found {
			t.Errorf("%s: %v, found %v", when, err, found)
		}
		if found, err := Check(t.Context(), o); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", when, found, err)
		}
	}
	look("while it is open")
	if s.Bytes() < 4096 {
		t.Errorf("%d bytes", s.Bytes())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")

	raw, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(raw); i += 512 {
		raw[i] ^= 0xff
	}
	if err := os.WriteFile(o.Path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Check(t.Context(), o); err == nil && len(found) == 0 {
		t.Error("a broken file is sound")
	}
}

// unwritable fails where a write is let through.
func unwritable(tx memoryd.Tx) error {
	if tx.Tenants.Ensure(memoryd.Tenant{ID: "b"}) == nil {
		return errors.New("a peek wrote")
	}
	return nil
}
