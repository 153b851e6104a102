package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func configCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "The configuration", RunE: group, Args: cobra.ArbitraryArgs}
	flags := newConfigFlags(c, sys, map[string]string{"listen": "address to listen on", "data": "folder of the data"})
	c.AddCommand(
		&cobra.Command{Use: "check", Short: "Say what is wrong with it, and what each agent may do", Args: args(0, 0, "no words"),
			RunE: func(c *cobra.Command, _ []string) error { return checkConfig(c.Context(), flags) }},
		&cobra.Command{Use: "print", Short: "Show the value of every key and where it came from", Args: args(0, 0, "no words"),
			RunE: func(*cobra.Command, []string) error { return printConfig(flags) }},
	)
	return c
}

// keyValue is one key of the configuration in force.
type keyValue struct{ key, value string }

func printConfig(flags *configFlags) error {
	c, r, err := flags.load()
	if err != nil {
		return err
	}
	list := settings(c)
	width := 0
	for _, s := range list {
		width = max(width, min(len(s.key)+len(s.value)+2, 60))
	}
	var out strings.Builder
	for _, s := range list {
		fmt.Fprintf(&out, "%-*s  # %s\n", width, s.key+": "+s.value, r.origin(s.key))
	}
	_, err = io.WriteString(flags.sys.out, plain(out.String()))
	return err
}

// origin is where the key's value came from.
func (r *reader) origin(key string) string {
	at := r.where[key]
	switch name := r.vars[key]; {
	case at == "" && r.dataFrom != "" && key == "data":
		return "default, from " + r.dataFrom
	case at == "":
		return "default"
	case name != "" && strings.HasPrefix(at, r.file+":"):
		return at + ", variable " + name
	case strings.HasPrefix(at, "MEMORYD_"):
		return "variable " + at
	}
	return at
}

// settings is every key of the configuration with its value, secrets masked, in the order of the documentation. A key
// that an agent leaves out is left out.
func settings(c config) []keyValue {
	var list []keyValue
	walkSettings("", reflect.ValueOf(c), &list)
	return list
}

func walkSettings(key string, v reflect.Value, list *[]keyValue) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
				walkSettings(join(key, name), v.Field(i), list)
			}
		}
	case v.Kind() == reflect.Map && v.Len() > 0:
		named := map[string]reflect.Value{}
		for it := v.MapRange(); it.Next(); {
			named[it.Key().String()] = it.Value()
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			walkSettings(join(key, name), named[name], list)
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			walkSettings(key, v.Elem(), list)
		}
	case v.Kind() == reflect.Slice && v.IsNil(), strings.HasPrefix(key, "agents.named.") && v.Kind() == reflect.String && v.Len() == 0:
	default:
		*list = append(*list, keyValue{key, shown(key, v)})
	}
}

// shown is a value as a file would hold it.
func shown(key string, v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case size:
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case []string:
		out := make([]string, len(x))
		for i, word := range x {
			out[i] = quoted(word)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case string:
		if x != "" && isSecret(key, x) {
			return masked
		}
		return quoted(x)
	}
	if v.Kind() == reflect.Map {
		return "{}"
	}
	return fmt.Sprint(v.Interface())
}

// masked stands for a secret.
const masked = "****"

// isSecret says whether a value must not be shown.
func isSecret(key, value string) bool {
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch name {
	case "secret", "password", "token":
		return true
	case "dsn", "url":
		return strings.Contains(value, "@") // user:password@host
	}
	return strings.HasSuffix(name, "_key")
}

func quoted(word string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./", r))
	}) {
		return strconv.Quote(word)
	}
	return word
}

// String writes a size in the largest unit that it is a whole number of.
func (s size) String() string {
	for _, unit := range []struct {
		name  string
		bytes size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s > 0 && s%unit.bytes == 0 {
			return strconv.FormatInt(int64(s/unit.bytes), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// configVersion is the same for the same configuration, secrets aside.
func configVersion(c config) string {
	h := sha256.New()
	for _, s := range settings(c) {
		fmt.Fprintf(h, "%q %q\n", s.key, s.value)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
