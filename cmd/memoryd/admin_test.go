package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"memoryd"
)

func TestDirectoryCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "agents: {named: {boss: {read: [global], operator: true}}}\n")
	url := start(t, t.TempDir(), nil, "--config", file).url
	has(t, good(t, url, "", "tenant", "set", "acme", "name=Acme Ltd"), "id=acme", "name=Acme Ltd")
	has(t, good(t, url, "", "tenant", "set", "acme"), "name=Acme Ltd")
	has(t, good(t, url, "", "tenant", "list"), "acme  since 20", "Acme Ltd", "default")
	has(t, good(t, url, "", "tenant", "show", "acme"), "created=")

	in := func(args ...string) []string { return append(args, "--tenant", "acme") }
	good(t, url, "", in("agent", "set", "bot", "read=global,group:*", "long_term=true", "context_rounds=4", "max_trust=high")...)
	out := good(t, url, "", in("agent", "set", "bot", "write=", "allowed_types=fact,lesson", "filter_sensitive=true", "max_trust=default")...)
	want := "id=bot\nallowed_types=fact,lesson\ncontext_rounds=4\nfilter_sensitive=true\nlong_term=true\nmanaged_by=api\nread=global,group:*\nwrite=\n"
	if out != want {
		t.Errorf("set merges:\n%s\nwant\n%s", out, want)
	}
	if out := good(t, url, "", in("agent", "show", "bot")...); out != want {
		t.Errorf("show:\n%s", out)
	}
	has(t, good(t, url, "", in("agent", "list")...), "boss  by config  read global", "bot  by api  read global,group:*")
	if out := good(t, url, "", "agent", "list"); strings.Contains(out, "bot") {
		t.Errorf("another tenant's agent:\n%s", out)
	}
	if r := cli(t, url, "", "agent", "set", "boss", "read=dm"); r.code != exitError || !strings.Contains(r.err, "configuration file") {
		t.Errorf("an agent of the file: %+v", r)
	}
	if r := cli(t, url, "", in("agent", "set", "bot", "read=dm,nowhere")...); r.code != exitError || !strings.Contains(r.err, "read[1]") {
		t.Errorf("a right that is none: %+v", r)
	}
	has(t, good(t, url, "", in("agent", "delete", "bot")...), "deleted bot")
	if r := cli(t, url, "", in("agent", "show", "bot")...); r.code != exitError {
		t.Errorf("deleted: %+v", r)
	}

	good(t, url, "", "add", "Prefers tea", "--user", "amy")
	has(t, good(t, url, "", "user", "list"), "amy  1 memories  0 inactive  0 sessions")
	if out := good(t, url, "", in("user", "list")...); out != "" {
		t.Errorf("another tenant's users: %s", out)
	}
	if r := cli(t, url, "", "tenant", "delete", "default"); r.code != exitError {
		t.Errorf("the default tenant: %+v", r)
	}
	has(t, good(t, url, "", "tenant", "delete", "acme"), "deleted acme")
	has(t, good(t, url, "", "status"), "version  "+release, "store    ok, sqlite, schema ", "index    ", "config   version ")
	for _, args := range [][]string{
		{"agent", "set", "x", "colour=red"}, {"agent", "set", "x", "long_term=maybe"}, {"agent", "set", "x", "context_rounds=few"}, {"agent", "set", "x", "read=dm", "read=dm"},
		{"agent", "set", "x", "read"}, {"agent", "set", "..", "read=dm"}, {"agent", "set"}, {"tenant", "set", "x", "colour=red"}, {"agent", "show"}, {"user", "list", "x"},
	} {
		if r := cli(t, url, "", args...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// There is one configuration at a reload as well; status tells when another one is in force.
func TestConfigVersion(t *testing.T) {
	c := defaults()
	before := configVersion(c)
	if again := configVersion(defaults()); again != before {
		t.Errorf("%s, then %s", before, again)
	}
	c.Agents.Named = map[string]agentConfig{"a": {Read: []string{"dm"}}}
	if configVersion(c) == before {
		t.Error("another agent, yet the same version")
	}
}

func TestConfigPrint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "memoryd.yaml")
	write(t, file, "data: ${WHERE}\nhttp:\n  max_body: 64KiB\nagents:\n  named:\n    bot: {read: [global, \"group:*\"], long_term: true}\n")
	t.Setenv("IGNORED", "x")
	env := environment("WHERE", "/srv/m", "MEMORYD_LOG_LEVEL", "warn", "HOME", dir)
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"config", "print", "--config", file, "--listen", "127.0.0.1:9"}, system{out: &out, err: &errs, env: env}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	for _, want := range []string{
		`listen: "127.0.0.1:9" # --listen`, "data: /srv/m # " + file + ":1, variable WHERE", "http.max_body: 64KiB # " + file + ":3", "log.level: warn # variable MEMORYD_LOG_LEVEL",
		"http.drain: 30s # default", "http.allowed_hosts: [] # default", "auth.rate.per_key_per_second: 100 # default", "index.memory: 256MiB # default",
		`agents.named.bot.read: [global, "group:*"] # ` + file + ":6", "agents.named.bot.long_term: true # " + file + ":6",
	} {
		if squeezed := regexp.MustCompile(` +#`).ReplaceAllString(out.String(), " #"); !strings.Contains(squeezed, want+"\n") {
			t.Errorf("%q is missing in\n%s", want, squeezed)
		}
	}
	if strings.Contains(out.String(), "bot.write") {
		t.Error("a key that was left out is shown")
	}
	for key, secret := range map[string]bool{"store.encryption_key": true, "embedder.api_key": true, "auth.rate.per_key_per_second": false, "context.memory_tokens": false, "notify.secret": true} {
		if isSecret(key, "v") != secret {
			t.Errorf("%s: secret %v", key, !secret)
		}
	}
	if !isSecret("store.dsn", "root:hunter2@tcp(db)/m") || isSecret("store.dsn", "/srv/m.db") {
		t.Error("a password in a DSN is shown, or a path is not")
	}
}

func TestConfigCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, `agents:
  default: {long_term: true}
  named:
    bot: {read: [global, "group:*"], write: [none, dm], max_trust: high}
    quiet: {write: [], allowed_types: []}
    narrow: {allowed_types: [fact, lesson]}
    boss: {operator: true}
`)
	out := good(t, "", "", "config", "check", "--config", file)
	_, bot, _ := strings.Cut(out, "agent bot:\n")
	has(t, bot[:strings.Index(bot, "\n\n")], "reads memories of:  the user (global), its own (agent:bot), every group\n",
		"writes memories to: one-to-one talks (dm) (of any type; trust up to high)\n", "appends to:         one-to-one talks (dm), its own (agent:bot)\n", "long-term memory on")
	has(t, out, "agents that are named nowhere", "writes memories to: nothing (no type is allowed; trust up to medium)", "of type fact, lesson; trust", "its key may make keys")

	write(t, file, "listen: nowhere\nagents:\n  named:\n    bot: {read: [global, everywhere]}\nhttp: {drain: 0s}\n")
	r := cli(t, "", "", "config", "check", "--config", file)
	if r.code != exitError || r.out != "" {
		t.Errorf("%+v", r)
	}
	has(t, r.err, file+":1: listen:", file+":4: agents.named.bot.read[1]:", file+":5: http.drain:")
}

var keyForm = regexp.MustCompile(`^mrd_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}\n$`)

func TestInit(t *testing.T) {
	for _, preset := range []string{"fleet", "platform"} {
		t.Run(preset, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a b")
			file, data := filepath.Join(t.TempDir(), "memoryd.yaml"), filepath.Join(dir, "data")
			r := cli(t, "", "", "init", "--preset", preset, "--config", file, "--data", data)
			if r.code != 0 || !keyForm.MatchString(r.out) || strings.Contains(r.err, strings.TrimSpace(r.out)) {
				t.Fatalf("%+v", r)
			}
			text, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(text), "mrd_") {
				t.Errorf("the file: %v\n%s", err, text)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode: %v %v", info, err)
			}
			has(t, good(t, "", "", "config", "check", "--config", file), "is in order", "data in "+data)
			has(t, good(t, "", "", "key", "list", "--config", file), "operator", "valid")

			again := cli(t, "", "", "init", "--preset", preset, "--config", file, "--data", data)
			if now, _ := os.ReadFile(file); again.code != exitError || string(now) != string(text) || again.out != "" {
				t.Errorf("it writes over a file: %+v", again)
			}
			d := start(t, data, nil, "--config", file)
			has(t, good(t, d.url, "", "status", "--key", strings.TrimSpace(r.out)), "store    ok")
			// The folder is in use now: nothing is left behind.
			other := filepath.Join(t.TempDir(), "other.yaml")
			if r := cli(t, "", "", "init", "--config", other, "--data", data); r.code != exitUnavailable {
				t.Errorf("a folder in use: %+v", r)
			}
			if _, err := os.Stat(other); err == nil {
				t.Error("a file of an init that failed is left")
			}
		})
	}
	if r := cli(t, "", "", "init", "--preset", "cloud", "--data", t.TempDir()); r.code != exitUsage {
		t.Errorf("an unknown preset: %+v", r)
	}
}

// doctorSays runs doctor and answers its exit code and the state of each check, the worst where there are several.
func doctorSays(t *testing.T, url string, args ...string) (int, map[string]string, string) {
	t.Helper()
	r := cli(t, url, "", append([]string{"doctor", "--json"}, args...)...)
	var out struct{ Items []finding }
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	states := map[string]string{}
	for _, f := range out.Items {
		if states[f.Check] != checkWrong {
			states[f.Check] = f.State
		}
	}
	return r.code, states, r.out
}

func TestDoctor(t *testing.T) {
	nobody := "http://127.0.0.1:1"
	data := filepath.Join(t.TempDir(), "data")
	want := func(when, url string, code int, states map[string]string, args ...string) {
		t.Helper()
		got, all, text := doctorSays(t, url, append(args, "--data", data)...)
		if got != code {
			t.Errorf("%s: exit %d, want %d\n%s", when, got, code, text)
		}
		for check, state := range states {
			if all[check] != state {
				t.Errorf("%s: %s is %q, want %q\n%s", when, check, all[check], state, text)
			}
		}
	}
	want("before the first start", nobody, 0, map[string]string{"config": checkOK, "data": checkNote, "store": checkNote, "keys": checkNote, "server": checkNote})
	if _, err := os.Stat(data); err == nil {
		t.Error("doctor made the folder")
	}
	d := start(t, data, nil)
	want("while it runs", d.url, 0, map[string]string{"data": checkOK, "store": checkOK, "integrity": checkOK, "keys": checkNote, "clock": checkOK, "server": checkOK})
	key := strings.TrimSpace(good(t, d.url, "", "key", "create", "--kind", "operator"))
	want("with a key", d.url, 0, map[string]string{"keys": checkOK, "server": checkOK}, "--key", key)
	want("without one", d.url, 0, map[string]string{"server": checkOK})
	want("with a wrong one", d.url, 1, map[string]string{"server": checkWrong}, "--key", "mrd_nonsense")
	d.stop()
	want("when it is off", nobody, 0, map[string]string{"store": checkOK, "integrity": checkOK, "server": checkNote})

	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "http: {drain: soon}\n")
	want("a bad configuration", nobody, 1, map[string]string{"config": checkWrong}, "--config", file)

	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer sick.Close()
	want("a server that is not ready", sick.URL, 1, map[string]string{"server": checkWrong})

	db := filepath.Join(data, "memoryd.db")
	if err := os.Chmod(db, 0o644); err != nil {
		t.Fatal(err)
	}
	want("open to others", nobody, 1, map[string]string{"store": checkWrong, "integrity": checkOK})
	raw, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(raw); i += 64 {
		raw[i] ^= 0x5a
	}
	if err := os.WriteFile(db, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, text := doctorSays(t, nobody, "--data", data); code != 1 {
		t.Errorf("a damaged database: exit %d\n%s", code, text)
	}
}

func TestDoctorFindsAClockThatIsBehind(t *testing.T) {
	data := t.TempDir()
	c, err := readConfig("", map[string]string{"data": data}, environment("HOME", data))
	if err != nil {
		t.Fatal(err)
	}
	good(t, "", "", "migrate", "up", "--data", data)
	store, err := openStore(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Write(t.Context(), putSessionAt("late", time.Now().Add(time.Hour)))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, states, text := doctorSays(t, "http://127.0.0.1:1", "--data", data); code != 1 || states["clock"] != checkWrong {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// A rate that is set in the file holds for agent keys, through the whole program.
func TestRateIsConfigured(t *testing.T) {
	c := startServer(t, "auth: {rate: {per_key_per_second: 0.01, burst: 2}}\n")
	op := c.as(c.want(201, "POST", "/v1/keys", obj{"kind": "operator"})["key"].(string))
	bot := c.as(op.want(201, "POST", "/v1/keys", obj{"kind": "agent", "agent": "bot"})["key"].(string))
	var got []string
	for range 3 {
		got = append(got, fmt.Sprint(bot.do("GET", "/v1/status", nil).status))
		op.want(200, "GET", "/v1/status", nil)
	}
	if strings.Join(got, " ") != "200 200 429" {
		t.Errorf("got %v", got)
	}
	if s := bot.do("GET", "/v1/status", nil).header.Get("Retry-After"); s != "100" {
		t.Errorf("Retry-After %s", s)
	}
}

func putSessionAt(id string, at time.Time) func(memoryd.Tx) error {
	return func(tx memoryd.Tx) error {
		_, err := tx.Sessions.Put(memoryd.Session{Tenant: "default", ID: id, User: "amy", State: "open", Created: at, Updated: at})
		return err
	}
}
