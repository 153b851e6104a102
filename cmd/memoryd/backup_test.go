package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"memoryd"
	"memoryd/internal/sqlstore"
)

// load writes to a server and remembers what was acknowledged.
type load struct {
	t     *testing.T
	base  string
	stop  context.CancelFunc
	done  sync.WaitGroup
	begun chan struct{} // closed once some writes are through

	mu    sync.Mutex
	acked map[string]bool // texts of memories and messages
}

const loadWriters = 4

func startLoad(t *testing.T, base string) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{t: t, base: base, stop: stop, begun: make(chan struct{}), acked: map[string]bool{}}
	for w := range loadWriters {
		l.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.write(w, n)
			}
		})
	}
	return l
}

func (l *load) write(w, n int) {
	text := fmt.Sprintf("writer %d, statement %d", w, n)
	path, body, want := "/v1/memories", map[string]any{"scope": "global", "text": text, "user": fmt.Sprint(w)}, http.StatusCreated
	if w%2 == 1 {
		path, body = fmt.Sprintf("/v1/sessions/chat-%d/messages", w), map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}}
	}
	status, answer, err := request(l.base, "POST", path, body)
	if err != nil || status != want {
		l.t.Errorf("%s: %d, %v, %v", path, status, answer, err)
		l.stop()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked[text] = true; len(l.acked) == 20 {
		close(l.begun)
	}
}

func (l *load) acknowledged() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.acked)
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// A backup of a store that a server writes to holds all that was acknowledged before it began, and the server does not
// mind.
func TestBackupUnderLoad(t *testing.T) {
	data := t.TempDir()
	onStore(t, data, func(tx memoryd.Tx) error { // enough for a backup of several steps
		list := make([]memoryd.Memory, 10_000)
		for i := range list {
			list[i] = stored(fmt.Sprintf("%06d", i), "old", memoryd.Global, fmt.Sprintf("old statement number %d %s", i, strings.Repeat("x", 500)))
		}
		return tx.Load.Memories(list)
	})
	d := start(t, data, nil)
	l := startLoad(t, d.url)
	defer l.end()
	<-l.begun
	var files []string
	var before []map[string]bool
	for i := range 3 {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("backup-%d.db", i))
		before = append(before, l.acknowledged())
		good(t, "", "", "backup", file, "--data", data)
		files = append(files, file)
	}
	l.end()
	t.Logf("%d writes were acknowledged before the last backup, %d in all", len(before[2]), len(l.acknowledged()))
	d.stop()
	integrity(t, data)
	for i, file := range files {
		fresh := filepath.Join(t.TempDir(), "data")
		has(t, good(t, "", "", "restore", file, "--data", fresh), "memoryd.db", "schema")
		integrity(t, fresh)
		texts := textsIn(t, fresh)
		for text := range before[i] {
			if texts[text] != 1 {
				t.Errorf("backup %d holds %q %d times", i, text, texts[text])
			}
		}
		for text, n := range texts {
			if n != 1 {
				t.Errorf("backup %d holds %q %d times", i, text, n)
			}
		}
		if len(texts) < 10_000+len(before[i]) {
			t.Errorf("backup %d holds %d rows", i, len(texts))
		}
	}
	d = start(t, filepath.Dir(restored(t, files[2])), nil)
	c := caller{t: t, base: d.url}
	c.add(obj{"scope": "global", "text": "written after the restore"})
	if got := texts(c.want(200, "POST", "/v1/search", obj{"query": "old statement number 77", "user": "old"}), "text"); len(got) == 0 || !strings.HasPrefix(got[0], "old statement number 77 ") {
		t.Errorf("the restored store finds %.80q", got)
	}
	d.stop()
}

func restored(t *testing.T, file string) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	good(t, "", "", "restore", file, "--data", data)
	return filepath.Join(data, "memoryd.db")
}

// textsIn counts the texts of memories and messages.
func textsIn(t *testing.T, data string) map[string]int {
	t.Helper()
	texts := map[string]int{}
	err := sqlstore.Peek(t.Context(), sqlstore.Options{Path: filepath.Join(data, "memoryd.db")}, func(tx memoryd.Tx) error {
		o := memoryd.Owner{Tenant: "default"}
		memories, err := tx.Dump.Memories(o, "", 1e6)
		for _, m := range memories {
			texts[m.Text]++
		}
		sessions, err2 := tx.Dump.Sessions(o, "", 1e6)
		for _, s := range sessions {
			list, err3 := tx.Dump.Messages(s, 0, 1e6)
			for _, m := range list {
				texts[m.Text]++
			}
			err2 = errors.Join(err2, err3)
			if int64(len(list)) != s.LastSeq {
				t.Errorf("session %s has last_seq %d and %d messages", s.ID, s.LastSeq, len(list))
			}
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestBackupCommandsSayWhatIsWrong(t *testing.T) {
	data, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	onStore(t, data, func(tx memoryd.Tx) error { return tx.Memories.Insert(stored("1", "amy", memoryd.Global, "tea")) })
	file := filepath.Join(t.TempDir(), "backup.db")
	has(t, good(t, "", "", "backup", file, "--data", data, "--json"), `"schema":`, `"bytes":`)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, c := range []struct {
		what string
		args []string
		code int
		says string
	}{
		{"a second backup there", []string{"backup", file, "--data", data}, exitError, "there already"},
		{"a backup of nothing", []string{"backup", file + "2", "--data", none}, exitError, "no store"},
		{"a restore over a store", []string{"restore", file, "--data", data}, exitError, "there already"},
		{"a restore of nothing", []string{"restore", file + "2", "--data", none}, exitError, "no such file"},
	} {
		if r := cli(t, "", "", c.args...); r.code != c.code || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: %+v", c.what, r)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.db")
	if err := os.WriteFile(half, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if r := cli(t, "", "", "restore", half, "--data", none); r.code == 0 {
		t.Errorf("half a backup: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(none, "memoryd.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused restore left a store: %v", err)
	}
	d := start(t, data, nil)
	if r := cli(t, "", "", "restore", file, "--data", data); r.code != exitUnavailable || !strings.Contains(r.err, "in use") {
		t.Errorf("a restore under a server: %+v", r)
	}
	d.stop()
}
