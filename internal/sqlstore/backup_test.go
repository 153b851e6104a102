package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"memoryd"
)

// A backup under load holds every write that was acknowledged before it began, and each of the others whole or not at
// all.
func TestBackupUnderLoad(t *testing.T) {
	for _, key := range keys4tests() {
		t.Run(fmt.Sprint("key ", key != ""), func(t *testing.T) { backupUnderLoad(t, key) })
	}
}

func backupUnderLoad(t *testing.T, key string) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "memoryd.db"), EncryptionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newBusy(t, s)
	for i := range 3 {
		before := l.counts()
		path := filepath.Join(t.TempDir(), "backup.db")
		var last, total int64
		err := s.Backup(t.Context(), path, func(done, all int64) { last, total = done, all })
		if err != nil || last != total || total < 2*backupPages {
			t.Fatalf("backup: %v, %d of %d pages", err, last, total)
		}
		after := l.begun()
		restored := Options{Path: filepath.Join(t.TempDir(), "data", "memoryd.db"), EncryptionKey: key}
		if err := Restore(t.Context(), restored, path); err != nil {
			t.Fatal(err)
		}
		l.compare(restored, before, after)
		if names := folder(t, filepath.Dir(path)); len(names) != 1 {
			t.Errorf("beside the backup: %v", names)
		}
		t.Logf("backup %d: %d pages, acknowledged before %v", i, total, before)
	}
	l.stop()
	if err := integrity(s); err != nil {
		t.Error(err)
	}
}

// busy is writers that count: the writer's n-th write puts five rows that say n, beside a long text.
type busy struct {
	t          *testing.T
	s          *Store
	acked, ran [4]atomic.Int64
	done       chan struct{}
	wg         sync.WaitGroup
}

func newBusy(t *testing.T, s *Store) *busy {
	l := &busy{t: t, s: s, done: make(chan struct{})}
	for w := range l.acked {
		l.wg.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-l.done:
					return
				default:
				}
				l.ran[w].Store(n)
				if err := s.Write(context.Background(), func(tx memoryd.Tx) error { return l.put(tx, w, n) }); err != nil {
					t.Error(err)
					return
				}
				l.acked[w].Store(n)
			}
		})
	}
	for l.acked[0].Load() < 200 {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *busy) put(tx memoryd.Tx, w int, n int64) error {
	for row := range 5 {
		if err := tx.Agents.Put("t", fmt.Sprintf("w%d-%d", w, row), fmt.Append(nil, n)); err != nil {
			return err
		}
	}
	m := memory(int(n))
	m.Text = strings.Repeat(m.Text, 30)
	m.ID, m.User, m.Hash = fmt.Sprintf("w%d-%d", w, n), fmt.Sprint("w", w), fmt.Sprint(n)
	return tx.Memories.Insert(m)
}

func (l *busy) stop() {
	close(l.done)
	l.wg.Wait()
}

func counts(of *[4]atomic.Int64) (list [4]int64) {
	for w := range of {
		list[w] = of[w].Load()
	}
	return list
}

func (l *busy) counts() [4]int64 { return counts(&l.acked) }
func (l *busy) begun() [4]int64  { return counts(&l.ran) }

func (l *busy) compare(o Options, before, after [4]int64) {
	l.t.Helper()
	s, err := Open(l.t.Context(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	defer s.Close()
	if err := integrity(s); err != nil {
		l.t.Error(err)
	}
	rows := stored(l.t, s)
	for w := range before {
		var n int64
		fmt.Sscan(string(rows[fmt.Sprintf("w%d-0", w)]), &n)
		if n < before[w] || n > after[w] {
			l.t.Errorf("writer %d: %d in the backup, %d acknowledged before, %d begun after", w, n, before[w], after[w])
		}
		for row := range 5 {
			if got := string(rows[fmt.Sprintf("w%d-%d", w, row)]); got != fmt.Sprint(n) {
				l.t.Errorf("writer %d: row %d says %s, row 0 %d", w, row, got, n)
			}
		}
		err := s.Read(l.t.Context(), func(tx memoryd.Tx) error {
			list, err := tx.Memories.List(memoryd.Owner{Tenant: "t", User: fmt.Sprint("w", w)}, memoryd.AllScopes(), memoryd.MemoryFilter{Limit: 1 << 20})
			if err == nil && len(list) != int(n) {
				err = fmt.Errorf("%d memories for %d writes", len(list), n)
			}
			return err
		})
		if err != nil {
			l.t.Error(err)
		}
	}
}

func folder(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestBackupRefuses(t *testing.T) {
	s := openTest(t)
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), there, nil); memoryd.CodeOf(err) != memoryd.Conflict {
		t.Errorf("over another file: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "no", "folder"), nil); err == nil {
		t.Error("into a folder that is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, filepath.Join(dir, "ended"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if names := folder(t, dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	if text, _ := os.ReadFile(there); string(text) != "mine" {
		t.Error("the other file was changed")
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := openTest(t)
	if err := s.Write(t.Context(), addMany); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good")
	if err := s.Backup(t.Context(), good, nil); err != nil {
		t.Fatal(err)
	}
	live := s.path(t)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flipped := append([]byte(nil), data...)
	flipped[len(flipped)/2] ^= 4
	for name, from := range map[string]string{
		"a store in use":    live,
		"nothing":           filepath.Join(t.TempDir(), "nothing"),
		"an empty file":     file("empty", nil),
		"a text":            file("text", []byte("The quick brown fox jumps over the lazy dog.")),
		"half of a backup":  file("half", data[:len(data)/2/4096*4096]),
		"one with bad bits": file("flipped", flipped),
	} {
		o := Options{Path: filepath.Join(t.TempDir(), "memoryd.db")}
		if err := Restore(t.Context(), o, from); err == nil {
			t.Errorf("%s was restored", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
		if names := folder(t, filepath.Dir(o.Path)); len(names) != 1 || names[0] != "memoryd.lock" {
			t.Errorf("%s: left behind %v", name, names)
		}
	}
	if err := Restore(t.Context(), Options{Path: live}, good); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("into the folder of a running store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), Options{Path: live}, good); memoryd.CodeOf(err) != memoryd.Conflict {
		t.Errorf("over a store: %v", err)
	}
}

func addMany(tx memoryd.Tx) error {
	for i := range 300 {
		if err := addMemory(tx, i); err != nil {
			return err
		}
	}
	return nil
}

// Each page of a backup has its checksum.
func TestBackupHasChecksums(t *testing.T) {
	s := openTest(t)
	if err := s.Write(t.Context(), addMany); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	if err := s.Backup(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(data); at += 4096 * 7 {
		damaged := filepath.Join(t.TempDir(), "damaged")
		data[at+100] ^= 1
		if err := os.WriteFile(damaged, data, 0o600); err != nil {
			t.Fatal(err)
		}
		data[at+100] ^= 1
		if err := Restore(t.Context(), Options{Path: filepath.Join(t.TempDir(), "m.db")}, damaged); err == nil {
			t.Errorf("a flipped bit in page %d is not seen", at/4096+1)
		}
	}
}
