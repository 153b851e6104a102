package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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
	if _, err := readConfig("", nil, environment()); err != nil {
		t.Errorf("without any file: %v", err)
	}
	if _, err := readConfig("gone.yaml", nil, environment()); err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("a file that was named but is not there: %v", err)
	}
	write(t, "memoryd.yaml", "log: {level: warn}\n")
	c, err := readConfig("", nil, environment())
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
