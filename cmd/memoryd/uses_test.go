package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was shown is counted once for each session and day, and the counts outlive the process.
func TestUsesAreCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(file, map[string]string{"data": t.TempDir()}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	run := func(f func(caller)) {
		a, err := build(context.Background(), c, true, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(a.Handler())
		f(caller{t: t, base: s.URL})
		s.Close()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var shown, other string
	run(func(c caller) {
		shown = c.add(obj{"text": "the ferry leaves at nine", "scope": "global", "type": "fact"})
		other = c.add(obj{"text": "a key hangs behind the boiler", "scope": "global", "type": "fact"})
		for range 3 {
			c.want(200, "POST", "/v1/search", obj{"query": "when does the ferry leave"})
		}
		if got := c.want(200, "POST", "/v1/context", obj{"query": "when does the ferry leave", "session": "s"}); !strings.Contains(got["rendered"].(string), "ferry") {
			t.Fatalf("%v", got)
		}
	})
	run(func(c caller) {
		m := c.want(200, "GET", "/v1/memories/"+shown, nil)
		if m["uses"] != 2.0 || m["last_used"] == nil || m["version"] != 1.0 {
			t.Errorf("shown: %v", m)
		}
		if m := c.want(200, "GET", "/v1/memories/"+other, nil); m["uses"] != 0.0 || m["last_used"] != nil {
			t.Errorf("not shown: %v", m)
		}
		if got := texts(c.want(200, "GET", "/v1/memories?sort=last_used", nil), "id"); got[0] != shown {
			t.Errorf("by last use: %v", got)
		}
	})
}
