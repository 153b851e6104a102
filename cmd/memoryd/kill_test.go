package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
)

// killer writes from several clients and remembers what was acknowledged.
type killer struct {
	t     *testing.T
	base  string
	acked atomic.Int64

	mu       sync.Mutex
	memories map[string]map[string]string // user → id → text
	messages map[string]map[string]string // session → id → text
	changes  map[string]map[string]string // owner → path → tag; only counted
	changers [4]*changer
}

// kills is how often the server is killed: by MEMORYD_KILLS, else ten times.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("MEMORYD_KILLS"), "10"))
	if err != nil || n < 1 {
		t.Fatalf("MEMORYD_KILLS: %v", err)
	}
	return n
}

// Whatever was acknowledged before a kill -9 is there afterwards, once, and the database is whole.
func TestKill(t *testing.T) {
	data := t.TempDir()
	k := &killer{t: t, memories: map[string]map[string]string{}, messages: map[string]map[string]string{}, changes: map[string]map[string]string{}}
	for i := range k.changers {
		k.changers[i] = &changer{k: k, owner: fmt.Sprintf("changer-%d", i)}
	}
	if _, err := builtOnce(); err != nil { // not to be measured below
		t.Fatal(err)
	}
	var recovery []time.Duration
	rounds := kills(t)
	for round := range rounds {
		began := time.Now()
		d := start(t, data, nil)
		recovery = append(recovery, time.Since(began))
		k.base = d.url
		k.check()
		k.round(d, round)
		integrity(t, data)
	}
	d := start(t, data, nil)
	k.base = d.url
	k.check()
	d.stop()
	integrity(t, data)
	slices.Sort(recovery)
	t.Logf("%d acknowledged writes over %d kills; started again in p50 %v, p99 %v",
		k.acked.Load(), rounds, recovery[len(recovery)/2], recovery[len(recovery)*99/100])
}

// round writes until the server is killed, which is after a random number of acknowledgements.
func (k *killer) round(d *daemon, round int) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	enough := make(chan struct{})
	limit := k.acked.Load() + 20 + rand.Int64N(200)
	var once sync.Once
	acknowledged := func(into map[string]map[string]string, owner string, texts map[string]string) {
		k.mu.Lock()
		if into[owner] == nil {
			into[owner] = map[string]string{}
		}
		for id, text := range texts {
			into[owner][id] = text
		}
		k.mu.Unlock()
		if k.acked.Add(int64(len(texts))) >= limit {
			once.Do(func() { close(enough) })
		}
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				tag := fmt.Sprintf("round %d writer %d step %d", round, w, n)
				var err error
				switch {
				case w >= 6:
					err = k.changers[w-4].session(tag, acknowledged)
				case w >= 4:
					err = k.changers[w-4].memory(tag, acknowledged)
				case w == 0:
					err = k.add(fmt.Sprintf("user-%d", w), tag, acknowledged)
				case w == 1:
					err = k.batch(fmt.Sprintf("user-%d", w), tag, acknowledged)
				default:
					err = k.append(fmt.Sprintf("chat-%d", w), tag, acknowledged)
				}
				if err != nil {
					return
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	select {
	case <-enough:
	case <-finished:
		k.t.Error("the writers stopped before the kill")
	}
	d.kill()
	cancel()
	<-finished
}

type acknowledge func(into map[string]map[string]string, owner string, texts map[string]string)

func (k *killer) add(user, tag string, done acknowledge) error {
	status, answer, err := request(k.base, "POST", "/v1/memories", map[string]any{"user": user, "scope": "global", "text": tag})
	if err != nil {
		return err
	}
	if status != http.StatusCreated || answer["state"] != "stored" {
		k.t.Errorf("add: %d %v", status, answer)
		return io.EOF
	}
	done(k.memories, user, map[string]string{answer["memory"].(map[string]any)["id"].(string): tag})
	return nil
}

func (k *killer) batch(user, tag string, done acknowledge) error {
	var items []any
	for i := range 5 {
		items = append(items, map[string]any{"scope": "global", "text": fmt.Sprintf("%s item %d", tag, i)})
	}
	status, answer, err := request(k.base, "POST", "/v1/memories:batch", map[string]any{"user": user, "items": items})
	if err != nil {
		return err
	}
	list, _ := answer["items"].([]any)
	if status != http.StatusOK || len(list) != len(items) {
		k.t.Errorf("batch: %d %v", status, answer)
		return io.EOF
	}
	texts := map[string]string{}
	for i, item := range list {
		m, ok := item.(map[string]any)["memory"].(map[string]any)
		if !ok {
			k.t.Errorf("batch: item %d: %v", i, item)
			return io.EOF
		}
		texts[m["id"].(string)] = items[i].(map[string]any)["text"].(string)
	}
	done(k.memories, user, texts)
	return nil
}

func (k *killer) append(session, tag string, done acknowledge) error {
	list := []any{
		map[string]any{"id": tag + " a", "role": "user", "content": tag + " a"},
		map[string]any{"id": tag + " b", "role": "assistant", "content": tag + " b"},
	}
	status, answer, err := request(k.base, "POST", "/v1/sessions/"+session+"/messages", map[string]any{"messages": list})
	if err != nil {
		return err
	}
	if items, _ := answer["items"].([]any); status != http.StatusCreated || len(items) != len(list) {
		k.t.Errorf("append: %d %v", status, answer)
		return io.EOF
	}
	done(k.messages, session, map[string]string{tag + " a": tag + " a", tag + " b": tag + " b"})
	return nil
}

// check reads everything back. What was not acknowledged may be there or not, but never twice.
func (k *killer) check() {
	k.t.Helper()
	for user, want := range k.memories {
		k.compare(user, want, k.pages("/v1/memories", url.Values{"user": {user}, "limit": {"200"}}, "text"))
	}
	for _, c := range k.changers {
		c.check()
	}
	for session, want := range k.messages {
		k.compare(session, want, k.pages("/v1/sessions/"+session+"/messages", url.Values{"limit": {"200"}}, "content"))
	}
}

type entry struct{ id, text string }

func (k *killer) compare(owner string, want map[string]string, got []entry) {
	k.t.Helper()
	ids, texts := map[string]string{}, map[string]bool{}
	for _, e := range got {
		if _, twice := ids[e.id]; twice || texts[e.text] {
			k.t.Errorf("%s: %q is there twice", owner, e.text)
		}
		ids[e.id], texts[e.text] = e.text, true
	}
	for id, text := range want {
		if ids[id] != text {
			k.t.Errorf("%s: acknowledged %s %q came back as %q", owner, id, text, ids[id])
		}
	}
}

func (k *killer) pages(path string, query url.Values, field string) []entry {
	k.t.Helper()
	var out []entry
	seqs := map[float64]bool{}
	for {
		status, answer, err := request(k.base, "GET", path+"?"+query.Encode(), nil)
		if err != nil || status != http.StatusOK {
			k.t.Fatalf("%s: %d, %v, %v", path, status, answer, err)
		}
		for _, item := range answer["items"].([]any) {
			m := item.(map[string]any)
			out = append(out, entry{m["id"].(string), m[field].(string)})
			if seq, ok := m["seq"].(float64); ok {
				seqs[seq] = true
			}
		}
		next, _ := answer["next_cursor"].(string)
		if next == "" {
			break
		}
		query.Set("cursor", next)
	}
	for i := range seqs {
		if i > 1 && !seqs[i-1] {
			k.t.Errorf("%s: seq %v is missing", path, i-1)
		}
	}
	return out
}

// integrity checks a copy of the files as they lie there, so that the server itself has to recover the real ones.
func integrity(t *testing.T, data string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"memoryd.db", "memoryd.db-wal"} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err == nil {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "memoryd.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %q, %v", verdict, err)
	}
}
