package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// size is a number of bytes, written as 4MiB.
type size int64

// reader fills a config from a file and the environment. No message shows a value: it may be a secret.
type reader struct {
	file  string
	env   func(string) (string, bool)
	where map[string]string // key → where its value stands, "memoryd.yaml:7"
	vars  map[string]string // key → the variable that the file names for its value
	asked map[string]bool   // variables that have a meaning here: of a key, or named by the file
	errs  []error

	dataFrom string // the variable that the default folder was made of
}

// readConfig is the configuration of the file (named, or MEMORYD_CONFIG, or ./memoryd.yaml where there is one), then
// of MEMORYD_SECTION_KEY variables, then of set (the command's flags, by key), checked. Of the names in environ, those
// that begin with MEMORYD_ must mean something.
func readConfig(named string, set map[string]string, env func(string) (string, bool), environ ...string) (config, error) {
	c, _, err := loadConfig(named, set, env, environ...)
	return c, err
}

// loadConfig is readConfig that also answers where each value came from.
func loadConfig(named string, set map[string]string, env func(string) (string, bool), environ ...string) (config, *reader, error) {
	c := defaults()
	r := &reader{env: env, where: map[string]string{}, vars: map[string]string{}, asked: map[string]bool{}}
	text, err := r.find(named)
	if err != nil {
		return config{}, r, err
	}
	if err := r.parse(text, &c); err != nil {
		return config{}, r, err
	}
	r.overrides("", reflect.ValueOf(&c).Elem())
	r.unknownVariables(environ)
	for key, value := range set {
		r.where[key] = "--" + key
		r.scalar(key, value, field(reflect.ValueOf(&c).Elem(), key))
	}
	if len(r.errs) == 0 {
		r.check(&c)
	}
	if c.Data == "" {
		c.Data = r.dataFolder(os.Geteuid() == 0)
	}
	if c.Data == "" && c.Store.DSN == "" {
		r.errs = append(r.errs, errors.New("data: nothing says where the data is, and HOME names no folder; give --data, MEMORYD_DATA or the key data"))
	}
	return c, r, errors.Join(r.errs...)
}

func (r *reader) find(named string) ([]byte, error) {
	r.file = named
	if r.file == "" {
		r.file, _ = r.env("MEMORYD_CONFIG")
	}
	if r.file == "" {
		r.file = "memoryd.yaml"
		if _, err := os.Stat(r.file); errors.Is(err, os.ErrNotExist) {
			r.file = ""
			return nil, nil
		}
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return text, nil
}

func (r *reader) parse(text []byte, c *config) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return r.notYAML(text, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("config: %s: holds more than one document", r.file)
	}
	if len(doc.Content) == 1 {
		r.value("", doc.Content[0], reflect.ValueOf(c).Elem())
	}
	return errors.Join(r.errs...)
}

// notYAML is what the parser says of a file, with the line. The parser leaves the line out where it is the first, for what
// is no text, and for an unknown alias, which it shows instead: that may well be a value which begins with an asterisk.
func (r *reader) notYAML(text []byte, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(what, "line ") {
		return fmt.Errorf("config: %s: %w", r.file, err)
	}
	at := bytes.IndexFunc(text, func(c rune) bool { return c == utf8.RuneError || unicode.IsControl(c) && !unicode.IsSpace(c) })
	if name, ok := strings.CutPrefix(what, "unknown anchor '"); ok {
		at = bytes.Index(text, []byte("*"+strings.TrimSuffix(name, "' referenced")))
		what = "an asterisk stands before the name of an anchor, and there is none of that name; a value that begins with one takes quotes"
	}
	return fmt.Errorf("config: %s:%d: %s", r.file, 1+bytes.Count(text[:max(at, 0)], []byte("\n")), what)
}

func (r *reader) fail(key, format string, args ...any) {
	at := r.where[key]
	if at != "" {
		at += ": "
	}
	if key == "" {
		key = "the file"
	}
	r.errs = append(r.errs, fmt.Errorf("%s%s: %s", at, key, fmt.Sprintf(format, args...)))
}

// value reads n into v, whose type says what may stand there.
func (r *reader) value(key string, n *yaml.Node, v reflect.Value) {
	line := n.Line
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	r.where[key] = fmt.Sprintf("%s:%d", r.file, line)
	null := n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	switch kind := v.Kind(); {
	case kind == reflect.Struct || kind == reflect.Map:
		switch {
		case null: // a section whose keys are all commented out
		case n.Kind != yaml.MappingNode:
			r.fail(key, "is a section with keys of its own")
		default:
			r.mapping(key, n, v)
		}
	case null:
		r.fail(key, "has no value; leave the key out for its default")
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(key, n, v.Elem())
	case kind == reflect.Slice:
		r.list(key, n, v)
	case n.Kind != yaml.ScalarNode:
		r.fail(key, "takes one value")
	default:
		if text, ok := r.expand(key, n.Value); ok {
			r.scalar(key, text, v)
		}
	}
}

func (r *reader) mapping(key string, n *yaml.Node, v reflect.Value) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, at := n.Content[i].Value, fmt.Sprintf("%s:%d", r.file, n.Content[i].Line)
		sub := join(key, name)
		if seen[name] {
			r.where[sub] = at
			r.fail(sub, "stands there twice")
			continue
		}
		seen[name] = true
		if v.Kind() == reflect.Map {
			r.entry(sub, name, n.Content[i+1], v)
			continue
		}
		f := field(v, name)
		if !f.IsValid() {
			r.where[sub] = at
			r.fail(sub, "unknown key")
			continue
		}
		r.value(sub, n.Content[i+1], f)
	}
}

func (r *reader) entry(key, name string, n *yaml.Node, m reflect.Value) {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	v := reflect.New(m.Type().Elem()).Elem()
	r.value(key, n, v)
	m.SetMapIndex(reflect.ValueOf(name), v)
}

func (r *reader) list(key string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		r.fail(key, "takes a list, such as [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		r.value(fmt.Sprintf("%s[%d]", key, i), item, out.Index(i))
	}
	v.Set(out)
}

var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// expand replaces a value that is one ${VAR}.
func (r *reader) expand(key, text string) (string, bool) {
	m := variable.FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, "${") {
			r.fail(key, "${VAR} can only be the whole value")
			return "", false
		}
		return text, true
	}
	r.vars[key] = m[1]
	r.asked[m[1]] = true
	value, ok := r.env(m[1])
	if !ok {
		r.fail(key, "the variable %s is not set", m[1])
	}
	return value, ok
}

// overrides applies MEMORYD_SECTION_KEY to every key that takes one value. An empty variable is as one that is not set.
func (r *reader) overrides(key string, v reflect.Value) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if name == "" {
			continue
		}
		sub, f := join(key, name), v.Field(i)
		switch f.Kind() {
		case reflect.Struct:
			r.overrides(sub, f)
		case reflect.Map, reflect.Slice:
		default:
			variable := "MEMORYD_" + strings.ToUpper(strings.ReplaceAll(sub, ".", "_"))
			r.asked[variable] = true
			if text, ok := r.env(variable); ok && text != "" {
				r.where[sub] = variable
				r.scalar(sub, text, f)
			}
		}
	}
}

// unknownVariables refuses what looks like a setting and is none, as an unknown key of the file is refused.
func (r *reader) unknownVariables(environ []string) {
	for _, name := range []string{"MEMORYD_CONFIG", "MEMORYD_URL", "MEMORYD_KEY", "MEMORYD_RUNS"} {
		r.asked[name] = true
	}
	var services []string // Kubernetes tells every container where the services are, by these names
	for _, name := range environ {
		if service, ok := strings.CutSuffix(name, "_SERVICE_HOST"); ok {
			services = append(services, service+"_SERVICE_", service+"_PORT")
		}
	}
	for _, name := range environ {
		value, _ := r.env(name)
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !begins("MEMORYD_") || value == "" || r.asked[name] || begins("MEMORYD_TEST_") || begins("MEMORYD_EVAL") || slices.ContainsFunc(services, begins) {
			continue
		}
		r.errs = append(r.errs, fmt.Errorf("%s: unknown variable: the configuration has no such key that takes one value", plain(name)))
	}
}

func (r *reader) scalar(key, text string, v reflect.Value) {
	var err error
	want := ""
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
	case *bool:
		want = "true or false"
		switch text {
		case "true", "false":
			*p = text == "true"
		default:
			err = errors.ErrUnsupported
		}
	case *int:
		want = "a whole number"
		*p, err = strconv.Atoi(text)
	case *float64:
		want = "a number"
		*p, err = strconv.ParseFloat(text, 64)
	case *time.Duration:
		want = "a duration, such as 30s or 1h"
		*p, err = time.ParseDuration(text)
	case *size:
		want = "a size, such as 64KiB or 4MiB"
		*p, err = parseSize(text)
	}
	if err != nil {
		r.fail(key, "takes %s", want)
	}
}

func parseSize(text string) (size, error) {
	digits := strings.TrimRight(text, "BiKMG")
	unit, ok := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n < 0 || n > (1<<62)/unit {
		return 0, strconv.ErrSyntax
	}
	return size(n * unit), nil
}

// field is the struct's field of that key, the zero Value when there is none.
func field(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name && name != "" {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// dataFolder is where the data is when nothing says so, "" where that cannot be told.
func (r *reader) dataFolder(root bool) string {
	if dir, _ := r.env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		r.dataFrom = "XDG_DATA_HOME"
		return filepath.Join(dir, "memoryd")
	}
	if root {
		return "/var/lib/memoryd"
	}
	home, _ := r.env("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "share", "memoryd")
}
