//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A full disk, here a small one in memory: writes answer 507, reads go on, and writes again when there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	f := &fuller{t: t, data: filepath.Join(dir, "data")}
	f.d = start(t, f.data, nil)
	f.fill()
	f.check()
	f.d.stop() // a restart finds the disk as full as it was
	f.d = start(t, f.data, nil)
	f.check()
	if out, err := exec.Command("mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	f.again()
}

// A limit on the size of files, which some systems set, is as a full disk.
func TestFileSizeLimit(t *testing.T) {
	file, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	f := &fuller{t: t, data: t.TempDir()}
	f.d = &daemon{t: t, out: newOutput(), log: newOutput(), exited: make(chan error, 1)}
	c := command(t, nil)
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `ulimit -S -f 4000; exec "$0" serve --listen 127.0.0.1:0 --data "$1"`, file, f.data}
	c.Stdout, c.Stderr = f.d.out, f.d.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	f.d.cmd = c
	go func() { f.d.exited <- c.Wait() }()
	t.Cleanup(f.d.kill)
	f.d.ready()
	f.fill()
	f.check()
	var limit unix.Rlimit
	if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	f.again()
}

// fuller writes until there is no room, and knows what was acknowledged and what was refused.
type fuller struct {
	t    *testing.T
	data string
	d    *daemon

	mu             sync.Mutex
	acked, refused map[string]bool // texts
	n              int
}

// add writes a memory, or a batch of five, and answers the status.
func (f *fuller) add(batch bool) int {
	f.mu.Lock()
	f.n++
	text := fmt.Sprintf("text %d, %s", f.n, strings.Repeat("and so on ", 150))
	f.mu.Unlock()
	texts := []string{text}
	path, body := "/v1/memories", map[string]any{"user": "u", "scope": "global", "text": text}
	if batch {
		texts = nil
		var items []any
		for i := range 5 {
			texts = append(texts, fmt.Sprint(text, i))
			items = append(items, map[string]any{"scope": "global", "text": texts[i]})
		}
		path, body = "/v1/memories:batch", map[string]any{"user": "u", "items": items}
	}
	status, answer := f.d.ask("POST", path, body)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range texts {
		switch status {
		case http.StatusOK, http.StatusCreated:
			f.acked[text] = true
		case http.StatusInsufficientStorage:
			f.refused[text] = true
			if kind, _ := answer["type"].(string); !strings.HasSuffix(kind, "disk-full") {
				f.t.Errorf("507 with %v", answer)
			}
		default:
			f.t.Errorf("%d %v", status, answer)
		}
	}
	return status
}

func (f *fuller) fill() {
	f.t.Helper()
	f.acked, f.refused = map[string]bool{}, map[string]bool{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			full := 0
			for i := 0; full < 5 && i < 5000 && !f.t.Failed(); i++ {
				if f.add(w == 0) == http.StatusInsufficientStorage {
					full++
				}
			}
			if full == 0 {
				f.t.Error("it never got full")
			}
		})
	}
	wg.Wait()
}

// check reads all that was acknowledged, and nothing of what was refused.
func (f *fuller) check() {
	f.t.Helper()
	k := &killer{t: f.t, base: f.d.url}
	got := map[string]bool{}
	for _, e := range k.pages("/v1/memories", url.Values{"user": {"u"}, "limit": {"200"}}, "text") {
		if got[e.text] {
			f.t.Errorf("%.20s is there twice", e.text)
		}
		got[e.text] = true
		if !f.acked[e.text] {
			f.t.Errorf("%.20s is there, refused %v", e.text, f.refused[e.text])
		}
	}
	if len(got) != len(f.acked) {
		f.t.Errorf("%d of %d acknowledged are there", len(got), len(f.acked))
	}
	if status, answer := f.d.ask("POST", "/v1/search", map[string]any{"user": "u", "query": "text 1"}); status != http.StatusOK {
		f.t.Errorf("a search: %d %v", status, answer)
	}
	f.t.Logf("%d acknowledged, %d refused", len(f.acked), len(f.refused))
}

// again demands that writes work now, and that a kill -9 costs nothing.
func (f *fuller) again() {
	f.t.Helper()
	for range 50 {
		if status := f.add(false); status != http.StatusCreated {
			f.t.Fatalf("with room again: %d", status)
		}
	}
	f.check()
	f.d.kill()
	integrity(f.t, f.data)
	f.d = start(f.t, f.data, nil)
	f.check()
	f.d.stop()
	integrity(f.t, f.data)
	if _, err := os.Stat(filepath.Join(f.data, "memoryd.db")); err != nil {
		f.t.Error(err)
	}
}
