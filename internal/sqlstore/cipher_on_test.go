package sqlstore

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memoryd"
)

const (
	testKey    = "6d656d6f727964206b65657073207768617420776173207361696420746f2069"
	passphrase = "correct horse battery staple"
)

// keys4tests is none and one.
func keys4tests() []string { return []string{"", testKey} }

// A write of an encrypted file touches whole blocks; what a cut leaves of one must not cost what stands beside it.
func TestPowerCutsEncrypted(t *testing.T) {
	for _, err := range cutPower(t, Options{EncryptionKey: testKey}, rounds(t, "MEMORYD_POWERCUTS", 40, 200)/2, 10) {
		t.Error(err)
	}
}

// What is stored stands nowhere in the folder, whatever happens to it.
func TestNothingIsReadable(t *testing.T) {
	const secret = "the codeword is Rumpelstilzchen"
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db"), EncryptionKey: passphrase}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := memory(1)
	add := func(tx memoryd.Tx) error {
		for i := range 400 {
			m := memory(i)
			m.Text = fmt.Sprintf("%s %d", secret, i)
			m.User, m.Scope, m.Labels = "Rumpelstilzchen", "group:Rumpelstilzchen", map[string]string{"Rumpelstilzchen": "x"}
			if err := tx.Memories.Insert(m); err != nil {
				return err
			}
		}
		return tx.Agents.Put("Rumpelstilzchen", "a", []byte(`"`+strings.Repeat(secret, 1000)+`"`))
	}
	look := func(when string) {
		t.Helper()
		read := 0
		err := filepath.WalkDir(filepath.Dir(o.Path), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			read += len(data)
			for _, word := range []string{"Rumpel", "codeword", "SQLite format", "CREATE TABLE", "memories", m.Text[:20]} {
				if bytes.Contains(data, []byte(word)) {
					t.Errorf("%s: %s holds %q", when, filepath.Base(path), word)
				}
			}
			return err
		})
		if err != nil || read < 40_000 {
			t.Errorf("%s: %d bytes looked at, %v", when, read, err)
		}
	}
	if err := s.Write(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	look("in the log")
	if err := checkpoint(s, "truncate"); err != nil {
		t.Fatal(err)
	}
	look("after a checkpoint")
	if err := s.Backup(t.Context(), filepath.Join(filepath.Dir(o.Path), "backup"), nil); err != nil {
		t.Fatal(err)
	}
	look("with a backup")
	erase := func(tx memoryd.Tx) error {
		_, err := tx.Memories.(memories).exec("DELETE FROM memories")
		return err
	}
	if err := s.Write(t.Context(), erase); err != nil {
		t.Fatal(err)
	}
	look("after deleting")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")
}

// A key that does not fit is refused, and changes nothing: not the database, and not the log that a crash left.
func TestWrongKeys(t *testing.T) {
	raw := bytes.Repeat([]byte{7}, 32)
	var logged strings.Builder
	for name, c := range map[string]struct{ with, then, says string }{
		"wrong key":            {testKey, hex.EncodeToString(raw), "does not fit"},
		"wrong passphrase":     {passphrase, passphrase + "!", "does not fit"},
		"no key":               {testKey, "", "is encrypted, damaged or no"},
		"a key for a plain":    {"", testKey, "is not encrypted"},
		"too short":            {testKey, "hunter2hunt", "must be 32 bytes"},
		"hex for a passphrase": {passphrase, testKey, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, o := crashed(t, c.with)
			before := filesOf(t, dir)
			o.EncryptionKey, o.Log = c.then, slog.New(slog.NewTextHandler(&logged, nil))
			_, err := Open(t.Context(), o)
			_, _, err2 := Status(t.Context(), o)
			err3 := Migrate(t.Context(), o)
			err4 := Restore(t.Context(), Options{Path: filepath.Join(t.TempDir(), "m.db"), EncryptionKey: c.then}, copied(t, o.Path))
			for _, err := range []error{err, err2, err3, err4} {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				for _, secret := range []string{c.with, c.then} {
					if text := fmt.Sprint(err, logged.String()); secret != "" && strings.Contains(text, secret) {
						t.Error("an error or the log shows a key")
					}
				}
			}
			if after := filesOf(t, dir); before != after {
				t.Errorf("files changed: %v, then %v", before, after)
			}
			o.EncryptionKey = c.with
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n := len(stored(t, s)); n != 20 {
				t.Errorf("with the right key: %d rows", n)
			}
		})
	}
}

func TestKeyForms(t *testing.T) {
	key, err := hex.DecodeString(testKey)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db"), EncryptionKey: testKey}
	forms := []string{testKey, strings.ToUpper(testKey), base64.StdEncoding.EncodeToString(key), base64.RawURLEncoding.EncodeToString(key)}
	for i, form := range forms {
		o.EncryptionKey = form
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatalf("form %d: %v", i, err)
		}
		if err := s.Write(t.Context(), put(fmt.Sprint(i))); err != nil {
			t.Error(err)
		}
		if n := len(stored(t, s)); n != i+1 {
			t.Errorf("form %d: %d rows", i, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
