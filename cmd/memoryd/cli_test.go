package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}`)

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func TestMemoryCommands(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	out := good(t, url, "", "add", "Prefers tea without sugar", "--type", "preference", "--label", "area=kitchen")
	has(t, out, "stored", "global", "preference")
	id := uuidPattern.FindString(out)
	has(t, good(t, url, "", "add", "Prefers tea without sugar"), "duplicate", id)
	good(t, url, "The spare key hangs behind the door.\n", "add", "-", "--scope", "group:house")

	has(t, good(t, url, "", "search", "tea"), "global", "Prefers tea without sugar")
	has(t, good(t, url, "", "search", "spare key", "--scope", "group:house", "--limit", "1", "--min-trust", "low"), "group:house", "behind the door")
	if r := cli(t, url, "", "search", "tea", "--type", "fact"); r.code != 0 || r.out != "" || r.err != "nothing found\n" {
		t.Errorf("no fact was added, yet: %+v", r)
	}
	if r := cli(t, url, "", "search", "tea", "--type", "fact", "--json"); r.err != "" {
		t.Errorf("with --json: %+v", r)
	}
	has(t, good(t, url, "", "context", "Which drink should I bring?"), "tea without sugar")
	has(t, good(t, url, "", "memory", "get", id), id, "active", "version 2", "Prefers tea without sugar")
	has(t, good(t, url, "", "memory", "list", "--type", "preference", "--contains", "tea"), id)

	has(t, good(t, url, "", "memory", "set", id, "--text", "Prefers coffee", "--expires", "24h", "--label", "area=office", "--metadata", `{"n":1}`, "--version", "2"),
		"version 3", "Prefers coffee")
	if r := cli(t, url, "", "memory", "set", id, "--text", "Prefers milk", "--version", "2"); r.code != exitError {
		t.Errorf("an old version: %+v", r)
	}
	good(t, url, "", "memory", "set", id, "--expires", "never")
	has(t, good(t, url, "", "memory", "get", id, "--json"), `"labels":{"area":"office"}`)
	good(t, url, "", "memory", "set", id, "--no-labels")
	has(t, good(t, url, "", "memory", "get", id, "--json"), `"labels":{}`)
	has(t, good(t, url, "", "memory", "history", id), "Prefers tea without sugar", "Prefers coffee", "now")
	good(t, url, "", "memory", "rm", id)
	has(t, good(t, url, "", "memory", "list", "--status", "archived"), id)
	good(t, url, "", "memory", "restore", id)
	has(t, good(t, url, "", "memory", "get", id), "active")
}

// --user goes where each route reads it, and binds.
func TestMemoryOfUser(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	id := uuidPattern.FindString(good(t, url, "", "add", "Amy sleeps late", "--user", "amy"))
	for _, command := range []string{"get", "rm", "restore"} {
		if r := cli(t, url, "", "memory", command, id, "--user", "bob"); r.code != exitError || !strings.Contains(r.err, "no such thing") {
			t.Errorf("%s as another user: %+v", command, r)
		}
		has(t, good(t, url, "", "memory", command, id, "--user", "amy"), "Amy sleeps late")
	}
	has(t, good(t, url, "", "memory", "get", id), "active")
}

// A search that could not look everywhere does not say that there is nothing.
func TestNothingFoundIsCertain(t *testing.T) {
	part := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[],"degraded":[{"part":"long_term","reason":"timeout"}],"notes":[],"took_ms":1}`)
	}))
	defer part.Close()
	if r := cli(t, part.URL, "", "search", "tea"); strings.Contains(r.err, "nothing found") || !strings.Contains(r.err, "degraded: long_term") {
		t.Errorf("%+v", r)
	}
}

func TestSessionCommands(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	has(t, good(t, url, "", "session", "append", "chat 1", "Hello there", "--name", "Amy"), "1 ")
	lines := `{"role":"assistant","content":"Hello Amy"}` + "\n\n" + `{"id":"m3","role":"user","content":"What is left of the budget?"}`
	has(t, good(t, url, lines, "session", "append", "chat 1"), "2 ", "3 m3")
	has(t, good(t, url, `{"id":"m3","role":"user","content":"What is left of the budget?"}`, "session", "append", "chat 1"), "3 m3 duplicate")
	has(t, good(t, url, "", "session", "show", "chat 1"), "user (Amy): Hello there", "assistant: Hello Amy")
	has(t, good(t, url, "", "session", "show", "chat 1", "--limit", "1"), "budget")
	has(t, good(t, url, "", "session", "show", "chat 1", "--window"), "Hello Amy")
	has(t, good(t, url, "", "session", "list"), "chat 1", "3 messages")
	has(t, good(t, url, "", "context", "and now?", "--session", "chat 1", "--rounds", "1", "--tokens", "500"), "budget")
	has(t, good(t, url, "", "search", "budget", "--include", "turn"), "dm", "user: What is left of the budget?")
	has(t, good(t, url, "", "session", "delete", "chat 1"), "3 messages")
	if r := cli(t, url, "", "session", "show", "chat 1"); r.code != exitError {
		t.Errorf("a session that is gone: %+v", r)
	}
}

// More messages than go in one request keep their order.
func TestSessionAppendMany(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	var in strings.Builder
	for i := range 2*appendChunk + 5 {
		fmt.Fprintf(&in, `{"role":"user","content":"line %d"}`+"\n", i+1)
	}
	out := strings.Split(strings.TrimSpace(good(t, url, in.String(), "session", "append", "long")), "\n")
	if len(out) != 2*appendChunk+5 || !strings.HasPrefix(out[len(out)-1], "205 ") {
		t.Errorf("%d lines, the last %q", len(out), out[len(out)-1])
	}
	r := cli(t, url, `{"role":"user","content":"fine"}`+"\nnot json\n", "session", "append", "bad")
	if r.code != exitUsage || !strings.Contains(r.err, "line 2") {
		t.Errorf("%+v", r)
	}
}

func TestKeyCommands(t *testing.T) {
	d := start(t, t.TempDir(), nil)
	operator := strings.TrimSpace(good(t, d.url, "", "key", "create", "--kind", "operator", "--name", "mine"))
	if r := cli(t, d.url, "", "memory", "list"); r.code != exitDenied {
		t.Errorf("once there is a key, without one: %+v", r)
	}
	with := func(args ...string) []string { return append(args, "--key", operator) }
	agent := strings.TrimSpace(good(t, d.url, "", with("key", "create", "--kind", "agent", "--agent", "coder", "--user", "amy", "--expires", "720h")...))
	list := good(t, d.url, "", with("key", "list")...)
	has(t, list, "operator", "name mine", "agent coder", "user amy", "until ")
	if strings.Contains(list, operator) || strings.Contains(list, agent) {
		t.Error("the list shows a whole key")
	}
	if r := cli(t, d.url, "", "key", "list", "--key", agent); r.code != exitDenied {
		t.Errorf("an agent lists the keys: %+v", r)
	}
	id := strings.Split(agent, "_")[1]
	good(t, d.url, "", with("key", "revoke", id)...)
	has(t, good(t, d.url, "", with("key", "list")...), "revoked")
	if r := cli(t, d.url, "", "memory", "list", "--key", agent); r.code != exitDenied {
		t.Errorf("a revoked key: %+v", r)
	}
}

func TestOfflineKeys(t *testing.T) {
	data := t.TempDir()
	var made struct{ ID, Key, Kind string }
	out := good(t, "", "", "key", "create", "--kind", "tenant", "--tenant", "acme", "--data", data, "--json")
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Kind != "tenant" || !strings.HasPrefix(made.Key, "mrd_"+made.ID) {
		t.Fatalf("%v: %s", err, out)
	}
	has(t, good(t, "", "", "key", "list", "--data", data), made.ID, "tenant acme", "valid")
	has(t, good(t, "", "", "key", "revoke", made.ID, "--data", data), "revoked")
	has(t, good(t, "", "", "key", "list", "--data", data), "revoked")
	if r := cli(t, "", "", "key", "revoke", "nobody", "--data", data); r.code != exitError {
		t.Errorf("an unknown key: %+v", r)
	}
	if r := cli(t, "", "", "key", "create", "--kind", "agent", "--data", data); r.code != exitError || !strings.Contains(r.err, "agent") {
		t.Errorf("an agent key without its agent: %+v", r)
	}
}

func TestMigrateCommands(t *testing.T) {
	data := t.TempDir()
	if r := cli(t, "", "", "migrate", "status", "--data", data); r.code != exitError || !strings.Contains(r.err, "no store") {
		t.Errorf("without a store: %+v", r)
	}
	has(t, good(t, "", "", "migrate", "up", "--data", data), "up to date")
	has(t, good(t, "", "", "migrate", "status", "--data", data), "up to date")
}

// With --json the server's own answer comes through as it is.
func TestJSON(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	for _, args := range [][]string{
		{"add", "A fact."}, {"search", "fact"}, {"context", "fact"}, {"memory", "list"}, {"session", "append", "s", "hi"},
		{"session", "list"}, {"session", "show", "s"}, {"key", "list"}, {"tenant", "list"}, {"agent", "set", "a"}, {"agent", "list"}, {"user", "list"}, {"status"}, {"session", "delete", "s"},
	} {
		var answer struct {
			Notes *[]string `json:"notes"`
		}
		out := good(t, url, "", append(args, "--json")...)
		if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Notes == nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func TestExitCodes(t *testing.T) {
	d := start(t, t.TempDir(), []string{"MEMORYD_AUTH_MODE=keys"})
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"detail":"the store does not answer","fields":[]}`)
	}))
	defer down.Close()
	for _, test := range []struct {
		name string
		args []string
		code int
		told string
	}{
		{"nothing", nil, exitOK, ""},
		{"help", []string{"serve", "--help"}, exitOK, ""},
		{"completion", []string{"completion", "bash"}, exitOK, ""},
		{"unknown command", []string{"remember"}, exitUsage, `no command "remember"`},
		{"unknown subcommand", []string{"memory", "burn"}, exitUsage, `no command "burn"`},
		{"unknown flag", []string{"add", "x", "--colour", "red"}, exitUsage, "--colour"},
		{"no words", []string{"add"}, exitUsage, "one TEXT"},
		{"too many words", []string{"search", "a", "b"}, exitUsage, "one QUERY"},
		{"bad label", []string{"add", "x", "--label", "k"}, exitUsage, "NAME=VALUE"},
		{"bad expiry", []string{"memory", "set", "x", "--expires", "soon"}, exitUsage, "--expires"},
		{"nothing to set", []string{"memory", "set", "x"}, exitUsage, "nothing to change"},
		{"empty text", []string{"memory", "set", "x", "--text", ""}, exitUsage, "a text cannot be empty"},
		{"labels and none", []string{"memory", "set", "x", "--label", "a=b", "--no-labels"}, exitUsage, "exclude each other"},
		{"no message", []string{"session", "append", "x"}, exitUsage, "no message"},
		{"address with a query", []string{"memory", "list", "--server", "http://127.0.0.1:1/?a=b"}, exitUsage, "--server or MEMORYD_URL"},
		{"address with a password", []string{"memory", "list", "--server", "http://me:hunter2@127.0.0.1:1"}, exitUsage, "--server or MEMORYD_URL"},
		{"port of no address", []string{"memory", "list", "--server", "http://127.0.0.1:99999"}, exitUsage, "--server or MEMORYD_URL"},
		{"address without a host", []string{"memory", "list", "--server", "http://:7788"}, exitUsage, "--server or MEMORYD_URL"},
		{"key with a line end", []string{"memory", "list", "--key", "mrd_nonsense\n"}, exitUsage, "--key or MEMORYD_KEY"},
		{"dots for an id", []string{"memory", "get", ".."}, exitUsage, "not an id"},
		{"no kind", []string{"key", "create"}, exitUsage, "--kind"},
		{"bad address", []string{"memory", "list", "--server", "localhost:7788"}, exitUsage, "http://127.0.0.1:7788"},
		{"no key", []string{"memory", "list", "--server", d.url}, exitDenied, "give a key with --key or MEMORYD_KEY"},
		{"wrong key", []string{"memory", "list", "--server", d.url, "--key", "mrd_nonsense"}, exitDenied, "not valid"},
		{"nobody there", []string{"memory", "list", "--server", "http://127.0.0.1:1"}, exitUnavailable, "start one: memoryd serve"},
		{"store down", []string{"memory", "list", "--server", down.URL}, exitUnavailable, "the store does not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := command(t, nil, test.args...).CombinedOutput()
			if code := exitCode(err); code != test.code || !strings.Contains(string(out), test.told) {
				t.Errorf("exit %d, want %d with %q\n%s", code, test.code, test.told, out)
			}
			if strings.Contains(string(out), "mrd_nonsense") {
				t.Error("the key is shown")
			}
		})
	}
}

// A refusal's fields come through, and what a server says cannot drive the terminal.
func TestProblem(t *testing.T) {
	url := start(t, t.TempDir(), nil).url
	r := cli(t, url, "", "add", "x", "--scope", "everywhere")
	if r.code != exitError || !strings.Contains(r.err, "scope") || r.out != "" {
		t.Errorf("%+v", r)
	}
	if r := cli(t, url, "", "memory", "get", "0198f3a2-7c1d-7b2e-9a77-0c8f5d1e2b3a"); r.code != exitError || !strings.Contains(r.err, "no such thing") {
		t.Errorf("%+v", r)
	}
	err := problem(422, "422 Unprocessable Entity", []byte(`{"detail":"a\u001b[31mred","fields":[{"path":"items[0].scope","message":"want x"}]}`))
	if got := err.Error(); got != "a[31mred\n  items[0].scope: want x" {
		t.Errorf("%q", got)
	}
	err = problem(502, "502 Bad Gateway", []byte("<html>"))
	if got := err.Error(); got != "the server answered 502 Bad Gateway" || err.(*failure).code != exitUnavailable {
		t.Errorf("%q", got)
	}
}

func TestVersion(t *testing.T) {
	has(t, good(t, "", "", "version"), release, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
}
