package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"memoryd/internal/access"
	"memoryd/internal/recall"
)

func environment(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		value, ok := m[name]
		return value, ok
	}
}

func testdata(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

func TestBadConfig(t *testing.T) {
	for _, file := range testdata(t, "*.bad.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(text), "\n")
			want, ok := strings.CutPrefix(head, "# want: ")
			if !ok {
				t.Fatal("its first line does not say what it wants")
			}
			_, err = readConfig(file, nil, environment("SECRET", "hunter2", "HOME", "/home/x"))
			if err == nil {
				t.Fatalf("it is accepted; want %q", want)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q", err, want)
			}
			if !strings.Contains(err.Error(), file) {
				t.Errorf("error %q does not name the file", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q shows a secret", err)
			}
		})
	}
}

func TestGoodConfig(t *testing.T) {
	for _, file := range testdata(t, "*.good.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, err := readConfig(file, nil, environment("TEST_DATA", "/srv/memory")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	c, err := readConfig("testdata/full.good.yaml", nil, environment("TEST_DATA", "/srv/memory"))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(key string, got, def reflect.Value)
	walk = func(key string, got, def reflect.Value) {
		for i := range got.NumField() {
			name := got.Type().Field(i).Tag.Get("yaml")
			if name == "" {
				continue
			}
			sub := join(key, name)
			switch {
			case got.Field(i).Kind() == reflect.Struct:
				walk(sub, got.Field(i), def.Field(i))
			case sub == "store.driver": // there is one only
			case reflect.DeepEqual(got.Field(i).Interface(), def.Field(i).Interface()):
				t.Errorf("full.good.yaml leaves %s at its default", sub)
			}
		}
	}
	walk("", reflect.ValueOf(c), reflect.ValueOf(defaults()))

	w := c.Agents.Named["writer"]
	for i, v := 0, reflect.ValueOf(w); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("full.good.yaml does not say %s of an agent", v.Type().Field(i).Tag.Get("yaml"))
		}
	}
	if w.Read == nil || len(w.Read) != 0 {
		t.Errorf("read: [] came out as %v, want an empty list that is not nil", w.Read)
	}
	if other := c.Agents.Named["张三"]; other.AllowedTypes != nil || other.Write != nil {
		t.Errorf("keys that were left out came out as %+v, want nil", other)
	}
	if c.Data != "/srv/memory" {
		t.Errorf("data is %q", c.Data)
	}
}

func TestConfigOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "listen: \"127.0.0.1:1\"\ndata: /file\nhttp: {max_body: 1MiB, drain: 1s}\n")
	env := environment("MEMORYD_CONFIG", file, "MEMORYD_LISTEN", "127.0.0.1:2", "MEMORYD_HTTP_MAX_BODY", "2MiB",
		"MEMORYD_SESSIONS_SUMMARY_TOKENS", "7", "MEMORYD_AGENTS_DEFAULT_LONG_TERM", "true", "MEMORYD_HTTP_IDLE_TIMEOUT", "")
	c, err := readConfig("", map[string]string{"listen": "127.0.0.1:3"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" || c.Data != "/file" || c.HTTP.MaxBody != 2<<20 || c.HTTP.Drain != time.Second {
		t.Errorf("got listen %s, data %s, http %+v", c.Listen, c.Data, c.HTTP)
	}
	if c.Sessions.Summary.Tokens != 7 || !c.Agents.Default.LongTerm || c.HTTP.IdleTimeout != 120*time.Second {
		t.Errorf("got summary %d, long_term %v, idle %v", c.Sessions.Summary.Tokens, c.Agents.Default.LongTerm, c.HTTP.IdleTimeout)
	}
}

func TestBadOverride(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := readConfig("", nil, environment("MEMORYD_HTTP_MAX_BODY", "hunter2"))
	if err == nil || !strings.Contains(err.Error(), "MEMORYD_HTTP_MAX_BODY: http.max_body: takes a size") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestMissingConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	home := environment("HOME", "/home/x")
	if _, err := readConfig("", nil, home); err != nil {
		t.Errorf("without any file: %v", err)
	}
	if _, err := readConfig("gone.yaml", nil, home); err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("a file that was named but is not there: %v", err)
	}
	write(t, "memoryd.yaml", "log: {level: warn}\n")
	c, err := readConfig("", nil, home)
	if err != nil || c.Log.Level != "warn" {
		t.Errorf("./memoryd.yaml is not read: %v, %v", c.Log.Level, err)
	}
}

func TestDataFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	home := "/home/x/.local/share/memoryd"
	if os.Geteuid() == 0 {
		home = "/var/lib/memoryd"
	}
	for _, test := range []struct {
		name string
		env  func(string) (string, bool)
		want string
	}{
		{"nothing set", environment("HOME", "/home/x"), home},
		{"XDG", environment("HOME", "/home/x", "XDG_DATA_HOME", "/data"), "/data/memoryd"},
		{"relative XDG does not count", environment("HOME", "/home/x", "XDG_DATA_HOME", "data"), home},
		{"MEMORYD_DATA wins", environment("XDG_DATA_HOME", "/data", "MEMORYD_DATA", "/mine"), "/mine"},
	} {
		c, err := readConfig("", nil, test.env)
		if err != nil || c.Data != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, c.Data, err, test.want)
		}
	}
	for _, home := range []string{"", "home/x"} {
		r := &reader{env: environment("HOME", home)}
		if got := r.dataFolder(false); got != "" {
			t.Errorf("with HOME=%q: %q", home, got)
		}
		_, err := readConfig("", nil, environment("HOME", home))
		if told := err != nil && strings.Contains(err.Error(), "MEMORYD_DATA"); told == (os.Geteuid() == 0) {
			t.Errorf("with HOME=%q: %v", home, err)
		}
		if _, err := readConfig("", nil, environment("HOME", home, "MEMORYD_STORE_DSN", "/srv/m.db")); err != nil {
			t.Errorf("with HOME=%q and a store elsewhere: %v", home, err)
		}
	}
}

// A variable that looks like a setting and is none is refused by its name, as an unknown key of the file is.
func TestUnknownVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "data: ${MEMORYD_FOLDER}\n")
	names := []string{
		"MEMORYD_LISTEN", "MEMORYD_FOLDER", "MEMORYD_CONFIG", "MEMORYD_DATA", "MEMORYD_URL", "MEMORYD_KEY", "MEMORYD_TEST_X", "MEMORYD_EVAL", "HOME",
		"MEMORYD_SERVICE_HOST", "MEMORYD_SERVICE_PORT_REST", "MEMORYD_PORT", "MEMORYD_PORT_7788_TCP_ADDR", "MEMORYD_AUTH_MOD", "MEMORYD_AGENTS_NAMED", "MEMORYD_HTTP_PORT", "MEMORYD_EMPTY",
	}
	values := environment("MEMORYD_LISTEN", "127.0.0.1:1", "MEMORYD_FOLDER", "/srv", "MEMORYD_KEY", "hunter2", "MEMORYD_AUTH_MOD", "hunter2", "MEMORYD_AGENTS_NAMED", "x", "MEMORYD_HTTP_PORT", "1",
		"MEMORYD_TEST_X", "1", "MEMORYD_EVAL", "1", "MEMORYD_SERVICE_HOST", "10.0.0.1", "MEMORYD_SERVICE_PORT_REST", "1", "MEMORYD_PORT", "tcp://10.0.0.1:1", "MEMORYD_PORT_7788_TCP_ADDR", "1")
	_, err := readConfig(file, nil, values, names...)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("got %v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"MEMORYD_AUTH_MOD: unknown", "MEMORYD_AGENTS_NAMED: unknown", "MEMORYD_HTTP_PORT: unknown"} {
		if len(lines) != 3 || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("got\n%v\nwant %s", err, want)
		}
	}
	out, err := command(t, []string{"MEMORYD_LISTN=127.0.0.1:0"}, "serve", "--data", t.TempDir()).CombinedOutput()
	if exitCode(err) != exitError || !strings.Contains(string(out), "MEMORYD_LISTN: unknown variable") {
		t.Errorf("exit %v\n%s", err, out)
	}
}

// Requests, agents and the configuration's defaults have the same bounds.
func TestOneSetOfLimits(t *testing.T) {
	if access.MaxRounds != recall.MaxRounds || access.MaxWindowTokens != recall.MaxWindowTokens || access.MaxMemoryTokens != recall.MaxMemoryTokens {
		t.Error("an agent's settings have other bounds than a request")
	}
	for key, most := range map[string]int{
		"MEMORYD_SESSIONS_WINDOW_TOKENS": recall.MaxWindowTokens, "MEMORYD_CONTEXT_MEMORY_TOKENS": recall.MaxMemoryTokens, "MEMORYD_SEARCH_TOP_K": recall.MaxHits,
		"MEMORYD_CONTEXT_QUERY_CONTEXT_CHARS": recall.MaxQuery, "MEMORYD_AGENTS_DEFAULT_CONTEXT_ROUNDS": recall.MaxRounds,
		"MEMORYD_AGENTS_DEFAULT_WINDOW_TOKENS": recall.MaxWindowTokens, "MEMORYD_AGENTS_DEFAULT_MEMORY_TOKENS": recall.MaxMemoryTokens,
	} {
		set := func(n int) error {
			_, err := readConfig("", map[string]string{"data": "/srv"}, environment(key, strconv.Itoa(n)))
			return err
		}
		if err := set(most); err != nil {
			t.Errorf("%d: %v", most, err)
		}
		if err := set(most + 1); err == nil || !strings.Contains(err.Error(), " to "+strconv.Itoa(most)) {
			t.Errorf("%s=%d: %v", key, most+1, err)
		}
	}
}

// The defaults are valid themselves.
func TestDefaults(t *testing.T) {
	c, r := defaults(), &reader{}
	if r.check(&c); len(r.errs) > 0 {
		t.Error(r.errs)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
