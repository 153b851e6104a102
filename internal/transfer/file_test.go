package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"memoryd"
)

// signed gives the lines a manifest that fits.
func signed(lines ...string) string {
	text := strings.Join(lines, "\n") + "\n"
	var counts Counts
	for _, l := range lines[1:] {
		if v, fault := decode([]byte(l)); fault == "" {
			counts.add(v)
		}
	}
	m, err := encode(Manifest{Row: rowManifest, Format: Format, Counts: counts, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))})
	if err != nil {
		panic(err)
	}
	return text + string(m)
}

const (
	first   = `{"row":"export","format":1}`
	aMemory = `{"row":"memory","tenant":"a","id":"1","version":2,"user":"u","scope":"dm","text":"x","type":"fact","typed_by":"given","form":"text",` +
		`"trust":"high","source":"import","status":"active","importance":5,"strength":1,"recorded":"2026-01-02T03:04:05Z","provenance":{"writer":"k"},"tokens":1}`
	aSession = `{"row":"session","tenant":"a","id":"s","user":"u","state":"open","last_seq":2,"judged_seq":0,"created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z"}`
	aMessage = `{"row":"message","tenant":"a","session":"s","seq":1,"id":"m","role":"user","kind":"chat","content":"x","time":"2026-01-02T03:04:05+08:00",` +
		`"recorded":"2026-01-02T03:04:05Z","tokens":1,"trust":"high","writer":"k","searchable":true}`
)

func aVersion(n int) string {
	return strings.NewReplacer(`"row":"memory"`, `"row":"version"`, `"version":2`, fmt.Sprintf(`"version":%d`, n),
		`"tokens"`, `"replaced_by":"k","replaced_at":"2026-01-03T00:00:00Z","tokens"`).Replace(aMemory)
}

func TestBadFiles(t *testing.T) {
	good := signed(first, aSession, aMessage, aMemory, aVersion(1))
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct{ text, line, why string }{
		"empty":            {"", ":1:", "first line"},
		"another file":     {`{"messages":[]}` + "\n", ":1:", "first line"},
		"newer":            {with(`"format":1`, `"format":2`), ":1:", "format 2"},
		"changed":          {with(`"text":"x"`, `"text":"y"`), ":6:", "sha256"},
		"a row gone":       {with(aMessage+"\n", ""), ":5:", "counts"},
		"cut at a line":    {good[:strings.Index(good, aMemory)], ":4:", "without a manifest"},
		"cut in a line":    {good[:len(good)-5], ":6:", "no end"},
		"something behind": {good + "\n", ":7:", "behind the manifest"},
		"not UTF-8":        {with(`"text":"x"`, "\"text\":\"\xff\""), ":4:", "UTF-8"},
		"not JSON":         {with(aMemory, "memory"), ":4:", "JSON"},
		"unknown row":      {signed(first, `{"row":"secret"}`), ":2:", `"secret"`},
		"unknown field":    {signed(first, strings.Replace(aMemory, `"text"`, `"texts":1,"text"`, 1)), ":2:", "texts"},
		"bad time":         {signed(first, strings.Replace(aMemory, `03:04:05Z`, `03:04:05`, 1)), ":2:", "RFC 3339"},
		"id twice":         {signed(first, aMemory, aMemory), ":3:", "there already"},
		"wrong order":      {signed(first, aMemory, aSession), ":3:", "stands behind"},
		"tenants":          {signed(first, strings.Replace(aMemory, `"tenant":"a"`, `"tenant":"b"`, 1), aMemory), ":3:", "later tenant"},
		"lost message":     {signed(first, aMessage), ":2:", "does not follow"},
		"another's":        {signed(first, aSession, strings.Replace(aMessage, `"s"`, `"t"`, 1)), ":3:", "does not follow"},
		"seq twice":        {signed(first, aSession, aMessage, strings.Replace(aMessage, `"m"`, `"n"`, 1)), ":4:", "seq"},
		"message id twice": {signed(first, aSession, aMessage, strings.Replace(aMessage, `"seq":1`, `"seq":2`, 1)), ":4:", "its id"},
		"seq too high":     {signed(first, aSession, strings.Replace(aMessage, `"seq":1`, `"seq":3`, 1)), ":3:", "last_seq"},
		"lost version":     {signed(first, aVersion(1)), ":2:", "does not follow"},
		"version too high": {signed(first, aMemory, aVersion(2)), ":3:", "not before"},
		"manifest in it":   {good + good, ":7:", "behind the manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			path := toFile(t, []byte(c.text))
			f, err := Open(t.Context(), path, nil)
			if err == nil {
				f.Close()
				t.Fatal("the file is taken")
			}
			if memoryd.CodeOf(err) != memoryd.Invalid || !strings.Contains(err.Error(), path+c.line) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v", err)
			}
		})
	}
	s := openStore(t)
	if got := taken(t, s, []byte(good)); got.Added != 4 {
		t.Errorf("the good one: %+v", got)
	}
}

// A file that was made by hand may spell out what an export leaves out.
func TestSpelledOut(t *testing.T) {
	s := openStore(t)
	lines := []string{
		first, `{"row":"agent","tenant":"a","id":"x","settings":{ "read" : [ ] }}`,
		strings.Replace(aSession, `"state"`, `"agent":"","metadata":{ },"state"`, 1),
		strings.Replace(aMessage, `"content":"x"`, `"content": [ {"type":"text","text":"a b"} ], "text":"a b", "metadata":{ "n" : 1.0 }`, 1),
		strings.Replace(aMemory, `"tokens"`, `"labels":{},"consolidated_from":[],"uses":0,"expires":null,"metadata":{ },"tokens"`, 1),
		strings.Replace(aVersion(1), `"tokens"`, `"sensitive":false,"labels":null,"tokens"`, 1),
	}
	text := []byte(signed(lines...))
	if got := taken(t, s, text); got.Added != 5 {
		t.Errorf("%+v", got)
	}
	if got := taken(t, s, text); got.Duplicate != 5 {
		t.Errorf("again: %+v", got)
	}
	if got := taken(t, s, export(t, s, ExportOptions{})); got.Duplicate != 5 {
		t.Errorf("its export: %+v", got)
	}
}

func TestNotAFile(t *testing.T) {
	for _, path := range []string{t.TempDir(), t.TempDir() + "/none"} {
		if f, err := Open(t.Context(), path, nil); err == nil {
			f.Close()
			t.Errorf("%s is taken", path)
		}
	}
}

// notInFile are fields that follow from others, or that no store holds yet.
var notInFile = map[string]bool{"Memory.Hash": true, "Version.Hash": true, "Session.Summary": true}

// Each field that a store keeps must come back, and one that is added to the vocabulary must be added to the file.
func TestEveryFieldComesBack(t *testing.T) {
	s := memoryd.Session{}
	fillFields(t, reflect.ValueOf(&s).Elem(), "Session")
	m := memoryd.Message{}
	fillFields(t, reflect.ValueOf(&m).Elem(), "Message")
	v := memoryd.Version{}
	fillFields(t, reflect.ValueOf(&v).Elem(), "Version")
	n := memoryd.Tenant{}
	fillFields(t, reflect.ValueOf(&n).Elem(), "Tenant")

	back := func(row, into any) {
		t.Helper()
		line, err := encode(row)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, into); err != nil {
			t.Fatal(err)
		}
		if !equal(row, into) {
			t.Errorf("%s", line)
		}
	}
	var rs sessionRow
	back(rowOfSession(s), &rs)
	var rm messageRow
	back(rowOfMessage(s, m), &rm)
	var mem memoryRow
	back(rowOfMemory(v.Memory), &mem)
	var rv memoryRow
	back(rowOfVersion(v), &rv)
	rt := tenantRow{ID: n.ID, Name: n.Name, Created: stamp{n.Created}}
	for _, pair := range [][2]any{
		{rs.session(), s}, {rm.message(), m}, {mem.memory(), v.Memory}, {rv.version(), v},
		{memoryd.Tenant{ID: rt.ID, Name: rt.Name, Created: rt.Created.Time}, n},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("\n got %+v\nwant %+v", pair[0], pair[1])
		}
	}
}

// fillFields sets every field to something that is not its zero.
func fillFields(t *testing.T, v reflect.Value, at string) {
	t.Helper()
	for f, x := range v.Fields() {
		path := at + "." + f.Name
		if notInFile[path] || notInFile[strings.Replace(path, "Version.Memory.", "Version.", 1)] {
			continue
		}
		fillValue(t, x, path)
	}
}

func fillValue(t *testing.T, x reflect.Value, path string) {
	t.Helper()
	switch x.Interface().(type) {
	case time.Time:
		x.Set(reflect.ValueOf(now.In(east).Add(-time.Duration(len(path)) * time.Hour)))
		return
	case json.RawMessage:
		x.Set(reflect.ValueOf(json.RawMessage(`{"n":1.0}`)))
		return
	case map[string]string:
		x.Set(reflect.ValueOf(map[string]string{"k": path}))
		return
	case []string:
		x.Set(reflect.ValueOf([]string{path}))
		return
	}
	switch x.Kind() {
	case reflect.String:
		x.SetString(path)
	case reflect.Int, reflect.Int64:
		x.SetInt(int64(len(path)))
	case reflect.Float64:
		x.SetFloat(0.1)
	case reflect.Bool:
		x.SetBool(true)
	case reflect.Pointer:
		x.Set(reflect.New(x.Type().Elem()))
		fillValue(t, x.Elem(), path)
	case reflect.Struct:
		fillFields(t, x, path)
	default:
		t.Fatalf("%s: nobody fills a %s", path, x.Type())
	}
}

func TestTimes(t *testing.T) {
	for _, x := range []struct {
		at   time.Time
		text string
	}{
		{now, `"2026-03-04T05:06:07.890123Z"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, east), `"2026-01-02T03:04:05+08:00"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 120000000, west), `"2026-01-02T03:04:05.12-09:30"`},
		{time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("LMT", 3208)), `"1899-12-31T23:59:32+00:53"`}, // the same instant
	} {
		text, err := stamp{x.at}.MarshalJSON()
		var back stamp
		if err != nil || string(text) != x.text || back.UnmarshalJSON(text) != nil || !back.Equal(x.at) {
			t.Errorf("%s: %s, %v, %v", x.text, text, err, back)
		}
	}
	if _, err := (stamp{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}).MarshalJSON(); err == nil {
		t.Error("a year of five digits is written")
	}
}

func FuzzLine(f *testing.F) {
	for _, l := range []string{first, aMemory, aSession, aMessage, aVersion(1), `{"row":"tenant","id":"a","created":"2026-01-02T03:04:05Z"}`,
		`{"row":"agent","tenant":"a","id":"b","settings":{"a":1.0}}`, `{"row":"manifest"}`} {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, fault := decode(text)
		if fault != "" {
			return
		}
		line, err := encode(v)
		if err != nil {
			t.Fatalf("%q is read but cannot be written: %v", text, err)
		}
		again, fault := decode(line)
		if fault != "" || !equal(v, again) {
			t.Fatalf("%q became %q: %s", text, line, fault)
		}
		switch r := v.(type) { // what comes of a row is the same row
		case *sessionRow:
			if x := rowOfSession(r.session()); !equal(x, rowOfSession(x.session())) {
				t.Fatalf("%q", text)
			}
		case *messageRow:
			s := memoryd.Session{Tenant: r.Tenant, ID: r.Session}
			if x := rowOfMessage(s, r.message()); !equal(x, rowOfMessage(s, x.message())) {
				t.Fatalf("%q", text)
			}
		}
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%q is more than a line", line)
		}
	})
}
