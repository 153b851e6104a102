package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// caller speaks REST to a server under test as one credential.
type caller struct {
	t      testing.TB
	base   string
	key    string
	tenant string // named by an operator
}

// reply is one answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

type obj = map[string]any

func (c caller) as(key string) caller { c.key = key; return c }

func (c caller) in(tenant string) caller { c.tenant = tenant; return c }

func (c caller) do(method, path string, body any) reply {
	c.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		enc, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(enc)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.tenant != "" {
		req.Header.Set("X-Memoryd-Tenant", c.tenant)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, out}
}

// want does a call that must answer with the status, and reads its JSON.
func (c caller) want(status int, method, path string, body any) obj {
	c.t.Helper()
	r := c.do(method, path, body)
	if r.status != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, r.status, status, r.body)
	}
	var out obj
	if err := json.Unmarshal(r.body, &out); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, r.body)
	}
	return out
}

// add keeps a memory and answers its id.
func (c caller) add(fields obj) string {
	c.t.Helper()
	return c.want(201, "POST", "/v1/memories", fields)["memory"].(obj)["id"].(string)
}

// append stores messages, given as role and content in turn, and answers the last seq.
func (c caller) append(session string, extra obj, pairs ...string) int {
	c.t.Helper()
	var list []obj
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, obj{"role": pairs[i], "content": pairs[i+1]})
	}
	body := obj{"messages": list}
	for k, v := range extra {
		body[k] = v
	}
	out := c.want(201, "POST", "/v1/sessions/"+url.PathEscape(session)+"/messages", body)
	return int(out["last_seq"].(float64))
}

// texts is one field of each item of a list answer.
func texts(out obj, field string) []string {
	list := []string{}
	for _, it := range out["items"].([]any) {
		list = append(list, fmt.Sprint(it.(obj)[field]))
	}
	return list
}

// fieldNames is the last parts of the paths that a problem names.
func (r reply) fieldNames(t testing.TB) []string {
	t.Helper()
	var p struct {
		Fields []struct{ Path string } `json:"fields"`
	}
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatalf("not a problem: %s", r.body)
	}
	var out []string
	for _, f := range p.Fields {
		out = append(out, f.Path[strings.LastIndexByte(f.Path, '.')+1:])
	}
	return out
}

// startServer runs the whole program behind a listener of the test, with the given configuration and an empty store.
func startServer(t testing.TB, yaml string) caller {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(file, map[string]string{"data": t.TempDir()}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	a, err := build(t.Context(), c, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(a.Handler())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return caller{t: t, base: s.URL}
}
