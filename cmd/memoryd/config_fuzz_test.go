package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"memoryd/internal/access"
)

// problems is every problem of a configuration by itself.
func problems(err error) []error {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		return []error{err}
	}
	var out []error
	for _, e := range many.Unwrap() {
		out = append(out, problems(e)...)
	}
	return out
}

// inForce checks what must hold of a configuration that is taken.
func inForce(t *testing.T, c config) {
	t.Helper()
	if c.zone == nil || c.HTTP.MaxBody < 1<<10 || c.Sessions.Summary.Tokens > c.Sessions.WindowTokens/2 || c.HTTP.ReadTimeout <= 0 || c.Context.MemoryTokens < 0 {
		t.Fatalf("in force: %+v", c)
	}
	if _, err := access.New(c.access(nil, true)); err != nil {
		t.Fatal(err)
	}
	if err := describeAgents(&strings.Builder{}, c); err != nil {
		t.Fatal(err)
	}
	for _, s := range settings(c) {
		if s.value == "" || strings.ContainsAny(s.value, "\n\x1b") {
			t.Fatalf("%s is shown as %q", s.key, s.value)
		}
	}
}

var atLine = regexp.MustCompile(`(?s)\Aconfig: .*line \d+: |\A(config: )?memoryd\.yaml:\d+: .+`)

// FuzzConfig: a file is taken, or each of its problems names a line and shows no value.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{
		"a", "data: [", "data: hunter2\ndata: hunter2", "log: *hunter2", "\ndata: *hunter2", "a: &a [*a]", "agents: {named: &a {x: *a}}", "agents: {named: {x: {read: &r [*r]}}}", "? [a]: b\n: c",
		"\x00", "data: \"\\x\"", "data: '\x01hunter2'", "data: \xff", "\xff\xfe", "%YAML 9.9\n---\n", "data: !!binary hunter2", "data: !<hunter2> x", "log: {level: !!int hunter2}", "data: |\n hunter2\n\thunter2",
		"listen: hunter2:x\ntimezone: hunter2\nauth: {mode: hunter2, default_tenant: \"hunter2\\n\"}\nhttp: {drain: hunter2, max_body: hunter2}", "agents: {policy: {read: [hunter2], allowed_types: [hunter2]}}",
		"agents: {named: {\"a\\nb\": {read: [x]}, \"\": {}, ..: {}}}", "<<: {data: hunter2}", "*a : 1", "&a data: /x\n*a : hunter2", "sessions: {summary: {tokens: 9000}}", "data: ~", "- hunter2", "agents: {named: {x: }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8000 {
			return
		}
		c, err := readText(t, text)
		if err == nil {
			inForce(t, c)
			return
		}
		for _, e := range problems(err) {
			if !atLine.MatchString(e.Error()) && !strings.HasSuffix(e.Error(), "more than one document") {
				t.Errorf("%q: %v names no line", text, e)
			}
		}
		if strings.Contains(err.Error(), "hunter2") && !named(text, "hunter2") {
			t.Errorf("%q: %v shows a value", text, err)
		}
	})
}

// readText is readConfig of a file that holds the text.
func readText(t *testing.T, text string) (config, error) {
	r := &reader{file: "memoryd.yaml", env: environment("HOME", "/home/x"), where: map[string]string{}, vars: map[string]string{}, asked: map[string]bool{}}
	c := defaults()
	if err := r.parse([]byte(text), &c); err != nil {
		return config{}, err
	}
	r.check(&c)
	return c, errors.Join(r.errs...)
}

// named says whether the word stands in a key or a variable's name, which problems name; what is no YAML has neither.
func named(text, word string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil {
		return false
	}
	seen := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node) bool
	walk = func(n *yaml.Node) bool {
		if n == nil || seen[n] {
			return false
		}
		seen[n] = true
		for i, x := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && strings.Contains(x.Value, word) || walk(x) {
				return true
			}
		}
		return strings.Contains(n.Value, "${") && strings.Contains(n.Value, word) || walk(n.Alias)
	}
	return walk(&doc)
}

// keysOf is every key that takes one value or a list.
func keysOf(key string, v reflect.Value) []string {
	if v.Kind() != reflect.Struct {
		return []string{key}
	}
	var out []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
			out = append(out, keysOf(join(key, name), v.Field(i))...)
		}
	}
	return out
}

// FuzzConfigValue: whatever stands as a value, in the file, a variable or a flag, its problem names the key and not the
// value, and what is taken is shown as it was given.
func FuzzConfigValue(f *testing.F) {
	c := defaults()
	keys := slices.DeleteFunc(keysOf("", reflect.ValueOf(c)), func(k string) bool { return k == "agents.named" })
	values := []string{"x", "true", "1", "0.5", "1h", "4MiB", "none", "${X}", "-1", "a:1", ""}
	for i := range keys {
		f.Add(byte(i), "")
		f.Add(byte(i), values[i%len(values)])
	}
	for i, v := range []string{"group:*", "9999999999999999999999", "1e400", "nan", "0x10", "~/x", "Local", "../../etc/passwd", "[::1]:0", "\x00", "\xff", "a\nb", "1_000", "${", "01h", "9223372036854775807GiB", " 1"} {
		f.Add(byte(i*7), v)
	}
	f.Fuzz(func(t *testing.T, at byte, value string) {
		key := keys[int(at)%len(keys)]
		// What is looked for in errors must be found nowhere else.
		secret := value + "hunter2"
		for _, given := range []string{value, secret} {
			list := place(reflect.ValueOf(c), key).Kind() == reflect.Slice
			env := "MEMORYD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
			for _, way := range []string{"file", "variable", "flag"} {
				var got config
				var err error
				switch set := map[string]string{"data": "/srv"}; {
				case way == "file":
					got, err = readText(t, nested(t, key, given, list))
				case list || strings.Contains(given, "\x00") || way == "flag" && strings.Contains(key, "."):
					continue
				case way == "variable":
					if given == "" {
						continue // as one that is not set
					}
					delete(set, key)
					got, err = readConfig(noFile(t), set, environment(env, given, "HOME", "/home/x"))
				default:
					set[key] = given
					got, err = readConfig(noFile(t), set, environment("HOME", "/home/x"))
				}
				if err == nil {
					inForce(t, got)
					shownAsGiven(t, got, key, given)
					continue
				}
				if given == secret && strings.Contains(err.Error(), "hunter2") && !strings.Contains(value, "${") {
					t.Fatalf("%s of %s: %v shows %q", way, key, err, given)
				}
				for _, e := range problems(err) {
					notYAML := way == "file" && strings.HasPrefix(e.Error(), "config: ") && atLine.MatchString(e.Error())
					if !strings.Contains(e.Error(), key) && !notYAML && !(key == "sessions.window_tokens" && strings.Contains(e.Error(), "sessions.summary.tokens")) {
						t.Fatalf("%s %q: %v does not name %s", way, given, e, key)
					}
				}
			}
		}
	})
}

func noFile(t *testing.T) string {
	t.Helper()
	return "testdata/empty.good.yaml"
}

// nested is a file that holds one value.
func nested(t *testing.T, key, value string, list bool) string {
	t.Helper()
	var doc any = value
	if list {
		doc = []string{value}
	}
	for _, name := range slices.Backward(strings.Split(key, ".")) {
		doc = map[string]any{name: doc}
	}
	if !isUTF8(value) { // the encoder would write it as !!binary
		return strings.ReplaceAll(nested(t, key, "@@", list), "@@", value)
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func isUTF8(text string) bool { return strings.ToValidUTF8(text, "") == text }

// place is the value of a key with points in it.
func place(v reflect.Value, key string) reflect.Value {
	for name := range strings.SplitSeq(key, ".") {
		v = field(v, name)
	}
	return v
}

// shownAsGiven checks that a value came through.
func shownAsGiven(t *testing.T, c config, key, given string) {
	t.Helper()
	v := place(reflect.ValueOf(c), key)
	same := true
	switch x := v.Interface().(type) {
	case string:
		same = x == given || key == "data" && given == ""
	case time.Duration:
		d, err := time.ParseDuration(given)
		same = err == nil && d == x
	case size:
		n, err := parseSize(given)
		same = err == nil && n == x
	case []string:
		same = slices.Equal(x, []string{given})
	}
	if !same && !strings.Contains(given, "${") {
		t.Fatalf("%s is %v, given as %q", key, v, given)
	}
}

// FuzzSize: a size is read back as it is written, and is what its digits and unit say.
func FuzzSize(f *testing.F) {
	for _, s := range []string{"0", "1", "64KiB", "4MiB", "1GiB", "8B", "-1", "+5KiB", "1kib", "1.5MiB", "9223372036854775807", "4294967296GiB", "4294967297GiB", "KiB", "1BB", "1 KiB", "0x10", "1_0", "007B", "1MiBKiB"} {
		f.Add(s)
	}
	units := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "": 1}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if err != nil {
			if n != 0 {
				t.Fatalf("%q: %d, %v", text, n, err)
			}
			return
		}
		unit := strings.TrimLeft(text, "+-0123456789")
		times, ok := units[unit]
		digits := strings.TrimLeft(strings.TrimSuffix(text, unit), "+-")
		sum := 0.0
		for _, d := range digits {
			sum = sum*10 + float64(d-'0')
		}
		if !ok || digits == "" || n < 0 || n > 1<<62 || float64(n) < sum*times*0.999 || float64(n) > sum*times*1.001 {
			t.Fatalf("%q is %d", text, n)
		}
		if again, err := parseSize(n.String()); err != nil || again != n {
			t.Fatalf("%d is written as %s: %d, %v", n, n, again, err)
		}
	})
}

// FuzzWords: what a person types on the command line is read or refused, never half.
func FuzzWords(f *testing.F) {
	f.Add("720h", "read=group:*,none", "a=b")
	f.Add("2030-01-31T00:00:00Z", "long_term=true", "=x")
	f.Add("-1h", "context_rounds=1e3", "a")
	f.Add("0s", "filter_sensitive=auto", "a=b=c")
	f.Add("1h", `{"detail":"d","title":1,"fields":[{"path":"a"}]}`, "a=")
	f.Add("1h", `{"title":"t","fields":[null]}`, "a=")
	f.Add("9999999999h", "read=", "é=\xff")
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, when, change, label string) {
		if at, err := moment("expires", when, now); err == nil {
			if d, bad := time.ParseDuration(when); bad == nil && !at.Equal(now.Add(d)) {
				t.Fatalf("%q is %v", when, at)
			}
		} else if !strings.Contains(err.Error(), "--expires") || !at.IsZero() {
			t.Fatalf("%q: %v, %v", when, at, err)
		}
		body := fields{}
		name, value, ok := strings.Cut(label, "=")
		if err := body.labels([]string{label}); (err == nil) != (ok && name != "") {
			t.Fatalf("%q: %v", label, err)
		} else if err == nil && !maps.Equal(body["labels"].(map[string]string), map[string]string{name: value}) {
			t.Fatalf("%q: %v", label, body)
		}
		if got := line(change); strings.ContainsAny(got, "\n\r\x1b\x00\u009b") {
			t.Fatalf("%q drives a terminal: %q", change, got)
		}
		if err := problem(500, "500 Server Error", []byte(change)); err == nil || err.Error() == "" {
			t.Fatalf("the answer %q is no problem", change)
		}
		if quoted, err := json.Marshal(change); err != nil || isUTF8(change) && contentText(quoted) != change {
			t.Fatalf("%q reads as %q", quoted, contentText(quoted))
		}
		if path, err := idPath("/v1/agents/%s", change); err == nil && (strings.Count(path, "/") != 3 || strings.ContainsAny(path, "?# \n")) {
			t.Fatalf("%q is at %q", change, path)
		}
	})
}
