package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

// The three lines that serve prints work when they are pasted, and are three.
func TestPastedLines(t *testing.T) {
	d := start(t, t.TempDir(), nil)
	if !strings.Contains(d.out.String(), "auth: no key: everything on this machine is operator of tenant default") {
		t.Errorf("the banner does not say who may do what:\n%s", d.out)
	}
	answers := paste(t, d, nil)
	if answers[0]["state"] != "stored" {
		t.Errorf("the first line answered %v", answers[0])
	}
	if items, _ := answers[1]["items"].([]any); len(items) == 0 {
		t.Errorf("the second line found nothing: %v", answers[1])
	}
	if text, _ := answers[2]["rendered"].(string); !strings.Contains(text, "short answers") {
		t.Errorf("the third line answered %v", answers[2])
	}
}

// paste runs the lines behind "Try it:" through a shell.
func paste(t *testing.T, d *daemon, env []string) []map[string]any {
	t.Helper()
	_, tail, _ := strings.Cut(d.out.String(), "Try it:\n")
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	if len(lines) != 3 {
		t.Fatalf("want exactly three lines to try, got:\n%s", tail)
	}
	var answers []map[string]any
	for _, line := range lines {
		c := exec.Command("bash", "-c", line)
		c.Env = append(os.Environ(), env...)
		out, err := c.CombinedOutput()
		var answer map[string]any
		if err != nil || json.Unmarshal(out, &answer) != nil {
			t.Fatalf("%s\n%v\n%s", line, err, out)
		}
		answers = append(answers, answer)
	}
	return answers
}

func TestKeysClose(t *testing.T) {
	data := t.TempDir()
	key := strings.TrimSpace(good(t, "", "", "key", "create", "--kind", "operator", "--data", data))
	d := start(t, data, nil)
	if status, _ := d.ask("GET", "/v1/memories", nil); status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", status)
	}
	if answers := paste(t, d, []string{"MEMORYD_KEY=" + key}); answers[0]["state"] != "stored" {
		t.Errorf("the printed lines with a key: %v", answers)
	}
	if r := cli(t, d.url, "", "key", "list", "--data", data); r.code != exitUnavailable || !strings.Contains(r.err, "in use") {
		t.Errorf("the store of a running server: %+v", r)
	}
	if strings.Contains(d.log.String(), key) {
		t.Error("the log holds the key")
	}
	d.stop()
}

func TestNoKeyNoNetwork(t *testing.T) {
	data := t.TempDir()
	out, err := command(t, nil, "serve", "--listen", "0.0.0.0:0", "--data", data).CombinedOutput()
	if code := exitCode(err); code != exitError || !strings.Contains(string(out), "memoryd key create --kind operator --data "+data) {
		t.Errorf("open to the network without a key: exit %d\n%s", code, out)
	}
	out, err = command(t, []string{"MEMORYD_AUTH_MODE=off"}, "serve", "--listen", "0.0.0.0:0", "--data", data).CombinedOutput()
	if code := exitCode(err); code != exitError || !strings.Contains(string(out), "loopback") {
		t.Errorf("auth off on the network: exit %d\n%s", code, out)
	}
	good(t, "", "", "key", "create", "--kind", "operator", "--data", data)
	d := start(t, data, nil, "--listen", "0.0.0.0:0")
	if !strings.HasPrefix(d.url, "http://127.0.0.1:") {
		t.Errorf("the banner's address is %s", d.url)
	}
	if first, _, _ := strings.Cut(d.out.String(), "\n"); !strings.Contains(first, "all addresses of this machine") {
		t.Errorf("the banner hides who else can come: %s", first)
	}
}

func TestPortTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r := cli(t, "", "", "serve", "--data", t.TempDir(), "--listen", ln.Addr().String())
	if r.code != exitError || !strings.Contains(r.err, "is taken by another program") {
		t.Errorf("%+v", r)
	}
}

func TestBadConfigStopsServe(t *testing.T) {
	r := cli(t, "", "", "serve", "--config", "testdata/unknown-key.bad.yaml")
	if r.code != exitError || !strings.Contains(r.err, "log.levle") {
		t.Errorf("%+v", r)
	}
}

// halfSent is an add whose handler waits for the second half of its body.
type halfSent struct {
	conn net.Conn
	in   *bufio.Reader
	rest string
}

// sendHalf returns once the server reads the body: that is when it answers "100 Continue".
func sendHalf(t *testing.T, d *daemon, text string) *halfSent {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf(`{"scope":"global","text":%q}`, text)
	fmt.Fprintf(conn, "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	h := &halfSent{conn: conn, in: bufio.NewReader(conn), rest: body[8:]}
	if line, err := h.in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := h.in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, body[:8])
	return h
}

// A request that runs when SIGTERM comes is answered, and what was acknowledged is there afterwards.
func TestDrain(t *testing.T) {
	data := t.TempDir()
	d := start(t, data, nil)
	half := sendHalf(t, d, "The drain lets this one through.")
	d.signal(syscall.SIGTERM)
	d.log.wait(t, "stopping")
	fmt.Fprint(half.conn, half.rest)
	resp, err := http.ReadResponse(half.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("the request that ran was answered %s", resp.Status)
	}
	if err := d.wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, d.log)
	}
	d = start(t, data, nil)
	if out := good(t, d.url, "", "memory", "list"); !strings.Contains(out, "lets this one through") {
		t.Errorf("after a restart: %s", out)
	}
}

func TestDrainEnds(t *testing.T) {
	d := start(t, t.TempDir(), []string{"MEMORYD_HTTP_DRAIN=50ms"})
	sendHalf(t, d, "Nobody finishes this.")
	d.signal(syscall.SIGTERM)
	if code := exitCode(d.wait()); code != exitError || !strings.Contains(d.log.String(), "http.drain is over") {
		t.Errorf("exit %d\n%s", code, d.log)
	}
}

func TestSecondSignalKills(t *testing.T) {
	d := start(t, t.TempDir(), nil)
	sendHalf(t, d, "Nobody finishes this.")
	d.signal(syscall.SIGTERM)
	d.log.wait(t, "stopping")
	d.signal(syscall.SIGTERM)
	_ = d.wait()
	if ws, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() {
		t.Errorf("it ended by itself: %v\n%s", d.cmd.ProcessState, d.log)
	}
}

// SIGHUP takes over agents, and keeps the old ones when the file is bad.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	agents := func(read string) string {
		return "agents:\n  named:\n    writer: {read: " + read + ", write: []}\n"
	}
	write(t, file, agents("[]"))
	d := start(t, t.TempDir(), nil, "--config", file)
	search := func() int {
		status, _ := d.ask("POST", "/v1/search", map[string]any{"query": "tea", "agent": "writer", "scope": "group:kitchen"})
		return status
	}
	started := func() any {
		_, status := d.ask("GET", "/v1/status", nil)
		return status["started"]
	}
	since := started()
	if got := search(); got != http.StatusForbidden {
		t.Fatalf("before: %d", got)
	}
	write(t, file, agents(`["group:*"]`)+"search: {top_k: 3}\n")
	d.signal(syscall.SIGHUP)
	d.log.wait(t, "they count from the next start on")
	if got := search(); got != http.StatusOK {
		t.Errorf("after the reload: %d", got)
	}
	if got := started(); got != since || got == nil {
		t.Errorf("the reload made a start of %v into %v", since, got)
	}
	write(t, file, agents("[nonsense]"))
	d.signal(syscall.SIGHUP)
	d.log.wait(t, "the old agents and policies stay")
	if got := search(); got != http.StatusOK {
		t.Errorf("after a bad reload: %d", got)
	}
	d.stop()
}

// Who needs a key is not for a reload to change.
func TestReloadLeavesTheDoor(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "")
	key := strings.TrimSpace(good(t, "", "", "key", "create", "--kind", "operator", "--data", data))
	d := start(t, data, nil, "--config", file)
	write(t, file, "auth: {mode: \"off\", default_tenant: other}\nagents: {named: {writer: {read: []}}}\n")
	d.signal(syscall.SIGHUP)
	d.log.wait(t, "they count from the next start on")
	if status, _ := d.ask("GET", "/v1/status", nil); status != http.StatusUnauthorized {
		t.Errorf("without a key, after a reload of auth.mode: %d", status)
	}
	good(t, d.url, "", "add", "Said to whom it may concern.", "--key", key)
	if r := (caller{t: t, base: d.url, key: key, tenant: "default"}).do("GET", "/v1/memories", nil); !strings.Contains(string(r.body), "whom it may concern") {
		t.Errorf("the default tenant changed: %s", r.body)
	}
	d.stop()
}

func TestReloadKeepsDraining(t *testing.T) {
	c := defaults()
	c.Data = t.TempDir()
	(&reader{}).check(&c)
	a, err := build(t.Context(), c, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.Drain()
	if err := a.open(c.Agents); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("/readyz after drain and reload: %d", w.Code)
	}
}

// What keeps the store from opening is said in full, with its place, and alike by all commands.
func TestStoreThatCannotOpen(t *testing.T) {
	folder := func(make func(dir string)) string {
		dir := t.TempDir()
		make(dir)
		return dir
	}
	running := t.TempDir()
	start(t, running, nil)
	for what, test := range map[string]struct{ data, told string }{
		"no database":  {folder(func(dir string) { write(t, filepath.Join(dir, "memoryd.db"), strings.Repeat("no database ", 100)) }), "encrypted, damaged or no database"},
		"a folder":     {folder(func(dir string) { _ = os.MkdirAll(filepath.Join(dir, "memoryd.db"), 0o700) }), "is a directory"},
		"no folder":    {filepath.Join(folder(func(dir string) { write(t, filepath.Join(dir, "file"), "") }), "file"), "not a directory"},
		"newer schema": {folder(func(dir string) { newerSchema(t, dir) }), "the schema is newer than this program: it has version 99"},
		"locked":       {running, "in use by another memoryd"},
	} {
		for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"key", "list"}, {"key", "create", "--kind", "operator"}, {"migrate", "up"}} {
			r := cli(t, "", "", append(command, "--data", test.data)...)
			if r.code != exitUnavailable || !strings.Contains(r.err, test.told) || !strings.Contains(r.err, test.data) {
				t.Errorf("%s: %v: exit %d, %s", what, command, r.code, r.err)
			}
			for _, inside := range []string{"sqlstore", "store-down", "unavailable:", "migrate:"} {
				if strings.Contains(r.err, inside) {
					t.Errorf("%s: %v says %q: %s", what, command, inside, r.err)
				}
			}
		}
	}
}

func newerSchema(t *testing.T, dir string) {
	t.Helper()
	good(t, "", "", "migrate", "up", "--data", dir)
	db, err := driver.Open("file:" + filepath.Join(dir, "memoryd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
}

// The whole program in process: it starts, answers, stops when its context ends, and leaves no goroutine (TestMain).
func TestServeInProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, log := newOutput(), newOutput()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()},
			system{in: &bytes.Buffer{}, out: out, err: log, env: environment("HOME", t.TempDir())})
	}()
	out.wait(t, "/v1/context")
	first, _, _ := strings.Cut(out.String(), "\n")
	if status, _, err := request(first[strings.LastIndex(first, " ")+1:], "GET", "/readyz", nil); err != nil || status != http.StatusOK {
		t.Errorf("/readyz: %d, %v", status, err)
	}
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("exit %d\n%s", code, log)
	}
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}
