package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The docs and the program say the same, both ways: routes, commands with their flags, configuration keys.

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDocsNameEveryRoute(t *testing.T) {
	c := startServer(t, "")
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(c.do("GET", "/v1/openapi.json", nil).body, &api); err != nil {
		t.Fatal(err)
	}
	var served []string
	for path, methods := range api.Paths {
		for m := range methods {
			served = append(served, strings.ToUpper(m)+" "+path)
		}
	}
	var written []string
	for _, m := range regexp.MustCompile(`(?m)^\| (GET|POST|PUT|PATCH|DELETE) (/\S+) \|`).FindAllStringSubmatch(page(t, "rest.md"), -1) {
		if !strings.HasPrefix(m[2], "/v1/") || m[2] == "/v1/openapi.json" || m[2] == "/v1/docs" { // not in the OpenAPI
			if r := c.do("GET", strings.Replace(m[2], "{slug}", "bad-field", 1), nil); r.status != 200 {
				t.Errorf("GET %s: %d", m[2], r.status)
			}
			continue
		}
		written = append(written, m[1]+" "+m[2])
	}
	same(t, "routes", served, written)
}

func TestDocsNameEveryCommand(t *testing.T) {
	var have []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.HasSubCommands() || c.Name() == "help" || c.Parent() != nil && c.Parent().Name() == "completion" {
			return
		}
		row := strings.TrimPrefix(c.CommandPath(), "memoryd ")
		for _, flags := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { have = append(have, row+" --"+f.Name) })
		}
		have = append(have, row)
	}
	root := rootCommand(system{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}, env: func(string) (string, bool) { return "", false }})
	walk(root)

	var written []string
	common := map[string]string{"client": "--server --key --json", "store": "--config --data"}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z ]+)[^`|]*` \\|([^|]*)\\|").FindAllStringSubmatch(page(t, "cli.md"), -1) {
		row := strings.TrimSpace(m[1])
		written = append(written, row)
		flags := m[2]
		for word, list := range common {
			if slices.Contains(strings.Fields(flags), word) {
				flags += " " + list
			}
		}
		for _, f := range regexp.MustCompile(`--[a-z-]+`).FindAllString(flags, -1) {
			written = append(written, row+" "+f)
		}
	}
	same(t, "commands", have, written)
}

func TestDocsNameEveryKey(t *testing.T) {
	_, rest, ok := strings.Cut(page(t, "configuration.md"), "```yaml\n")
	block, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("configuration.md has no yaml block")
	}
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	noEnv := environment("HOME", "/home/x")
	written, err := readConfig(file, nil, noEnv)
	if err != nil {
		t.Fatalf("the documented configuration is refused: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defaults, err := readConfig(empty, nil, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(written, defaults) {
		t.Errorf("the documented configuration is not the defaults:\n%+v\n%+v", written, defaults)
	}
	for _, key := range yamlKeys(reflect.TypeOf(defaults)) {
		if !regexp.MustCompile(`(?m)(^|[\s{,])` + regexp.QuoteMeta(key) + `:`).MatchString(block) {
			t.Errorf("configuration.md does not name the key %s", key)
		}
	}
}

// yamlKeys is every key of the configuration's structs.
func yamlKeys(t reflect.Type) []string {
	var out []string
	if t.Kind() == reflect.Map || t.Kind() == reflect.Pointer {
		return yamlKeys(t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
		out = append(out, yamlKeys(f.Type)...)
	}
	return out
}

func same(t *testing.T, what string, have, written []string) {
	t.Helper()
	for _, x := range have {
		if !slices.Contains(written, x) {
			t.Errorf("%s: the docs do not name %q", what, x)
		}
	}
	for _, x := range written {
		if !slices.Contains(have, x) {
			t.Errorf("%s: the docs name %q, which is not there", what, x)
		}
	}
}
