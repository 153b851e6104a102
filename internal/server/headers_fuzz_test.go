package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

// refusedAs answers an error's own, which must be one that a caller may read.
func refusedAs(t *testing.T, err error, code memoryd.Code, shownOf ...string) *memoryd.Error {
	t.Helper()
	var e *memoryd.Error
	if !errors.As(err, &e) || e.Code != code || e.Detail == "" {
		t.Fatalf("%v, want %s", err, code)
	}
	for _, secret := range shownOf {
		if len(secret) > 8 && strings.Contains(err.Error(), secret) {
			t.Fatalf("%v shows %q", err, secret)
		}
	}
	return e
}

// FuzzCredential: a key is what a header says and nothing else; two that differ are refused, and never shown.
func FuzzCredential(f *testing.F) {
	f.Add("Bearer mrd_4fB2xQ9a_x", "", "")
	f.Add("bearer  k ", "Token k", "k")
	f.Add("Basic dXNlcjpwYXNz", "Bearer aaaaaaaaaaaa", "bbbbbbbbbbbb")
	f.Add("Bearer", "Bearer ", "")
	f.Add("bearer k", "Token", "k") // a scheme without a key is none
	f.Add("BEARER\tk", "token k l", "k l")
	f.Fuzz(func(t *testing.T, one, two, own string) {
		h, keys := http.Header{}, map[string]bool{}
		for _, v := range []string{one, two} {
			if v == "" {
				continue
			}
			h.Add("Authorization", v)
			scheme, key, _ := strings.Cut(v, " ")
			if s := strings.ToLower(scheme); (s == "bearer" || s == "token") && strings.TrimSpace(key) != "" {
				keys[strings.TrimSpace(key)] = true
			}
		}
		if own != "" {
			h.Add("X-API-Key", own)
			keys[own] = true
		}
		got, err := credentialOf(h)
		switch {
		case len(keys) > 1:
			refusedAs(t, err, memoryd.Unauthenticated, one, two, own)
		case err != nil || (got == "") != (len(keys) == 0) || got != "" && !keys[got]:
			t.Fatalf("%v: %q, %v, want %v", h, got, err, keys)
		}
	})
}

var trace = regexp.MustCompile(`\A[0-9a-f]{32}\z`)

// FuzzHeaders: what is taken over from a header is what may stand in a log and in an answer, else something of our own.
func FuzzHeaders(f *testing.F) {
	f.Add(`"3"`, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "req-1")
	f.Add("*", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "")
	f.Add(`W/"3"`, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "a b")
	f.Add(`"3", "4"`, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what\nnot", "é")
	f.Add(`"`, "", strings.Repeat("x", 129))
	f.Add(" 9223372036854775808 ", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "a\x7f")
	f.Add(`"-1"`, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n", `"<script>`)
	f.Add("007", "00", "x")
	s := &Server{opt: Options{NewID: func() string { return "new" }}}
	f.Fuzz(func(t *testing.T, match, parent, id string) {
		n, err := version(match)
		switch {
		case err != nil:
			if e := refusedAs(t, err, memoryd.Invalid, match); len(e.Fields) != 1 || e.Fields[0].Path != "If-Match" || n != 0 {
				t.Fatal(err)
			}
		case n < 0 || n == 0 && strings.Trim(match, " \t\r\n\v\f*\u0085\u00a0") != "" && strings.TrimSpace(match) != "*":
			t.Fatalf("%q is version %d", match, n)
		case n > 0 && !strings.Contains(match, strconv.FormatInt(n, 10)):
			t.Fatalf("%q is version %d", match, n)
		case n > 0:
			if again, err := version(etag(n)); err != nil || again != n {
				t.Fatalf("%s is version %d, %v", etag(n), again, err)
			}
		}
		got := traceOf(parent)
		if got != "" && (!trace.MatchString(got) || strings.Trim(got, "0") == "" || parent[3:35] != got || parent[:3] == "ff-") {
			t.Fatalf("%q: %q", parent, got)
		}
		if got == "" && len(parent) == 55 && parent[:3] == "00-" && parent[35] == '-' && trace.MatchString(parent[3:35]) && trace.MatchString(parent[36:52]+strings.Repeat("0", 16)) && parent[52:] == "-01" && strings.Trim(parent[3:35], "0") != "" {
			t.Fatalf("%q is not read", parent)
		}
		mine := s.requestID(&http.Request{Header: http.Header{"X-Request-Id": {id}}})
		fit := id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
		if fit && mine != id || !fit && mine != "new" {
			t.Fatalf("%q became %q", id, mine)
		}
	})
}

// FuzzRepeat: an idempotency key is taken whole or refused, the body stays as it is, and what stands for the body
// changes with what it says, not with how it is written.
func FuzzRepeat(f *testing.F) {
	f.Add("order-17", `{"a":1,"b":[1.0,"é"]}`, 1)
	f.Add("", "", 1)
	f.Add("a\x7f", "{}", 1)
	f.Add("é", " { } ", 2)
	f.Add(strings.Repeat("k", 255), `{"a":{"b":1e2,"a":null}}`, 1)
	f.Add(strings.Repeat("k", 256), `{"a":12345678901234567890}`, 0)
	op := &huma.Operation{Parameters: []*huma.Param{{In: "header", Name: repeatHeader}}}
	f.Fuzz(func(t *testing.T, key, body string, times int) {
		h := &http.Request{Method: "POST", URL: &url.URL{Path: "/v1/x"}, Header: http.Header{}}
		times = max(0, times%3)
		for range times {
			h.Header.Add(repeatHeader, key)
		}
		r := &request{body: strings.NewReader(body)}
		err := r.readRepeat(h, op)
		fit := key != "" && len(key) <= 255 && !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
		if times == 2 || times == 1 && !fit {
			if e := refusedAs(t, err, memoryd.Invalid, key); len(e.Fields) != 1 || e.Fields[0].Path != repeatHeader || r.repeat.Key != "" {
				t.Fatal(err)
			}
			return
		}
		left, _ := io.ReadAll(r.body)
		if err != nil || string(left) != body || times == 0 && r.repeat.Key != "" || times == 1 && r.repeat.Key != key {
			t.Fatalf("%q: %+v, %v, %q is left of %q", key, r.repeat, err, left, body)
		}
		if raw := []byte(body); checkJSON(nil, nil, raw) == nil && !doubledKey(raw) {
			var spaced bytes.Buffer
			if err := json.Indent(&spaced, raw, "", "\t"); err != nil {
				t.Fatal(err)
			}
			if same := canonical(raw); !bytes.Equal(canonical(spaced.Bytes()), same) || !bytes.Equal(canonical(same), same) || !equalJSON(t, raw, same) {
				t.Fatalf("%q stands as %q", raw, same)
			}
			if other := canonical([]byte("[" + body + "]")); bytes.Equal(other, canonical(raw)) {
				t.Fatalf("%q stands as another body", raw)
			}
		}
	})
}

func doubledKey(raw []byte) bool { return checkJSON(nil, nil, bytes.Clone(raw)) != nil }

func equalJSON(t *testing.T, a, b []byte) bool {
	var list [2]any
	for i, raw := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&list[i]); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
	}
	return reflect.DeepEqual(list[0], list[1])
}

// FuzzQuery: a query string is read whole, each parameter once, or every bad one is named.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "q=tea&limit=5", "limit=05", "limit=1e2", "q=a&q=b", "q=%zz", "q=%ff", "%ff=1", "a%00=1", "status=a,b", "status=a,,b", "label.x=1&label.x=2",
		"label.=1", "since=2026-09-04T10:00:00%2B09:00", "since=2026-09-04T10:00:00+09:00", "on=TRUE", "q=%0a&limit=99999999999999999999", "&&=&q", "Q=1", "q=a;b", "share=NaN", "share=0x1p-2"} {
		f.Add(s)
	}
	low, high, long := 0.0, 100.0, 20
	op := &huma.Operation{Metadata: map[string]any{labelPrefix: true}, Parameters: []*huma.Param{
		{In: "query", Name: "q", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &long}},
		{In: "query", Name: "limit", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high}},
		{In: "query", Name: "share", Schema: &huma.Schema{Type: huma.TypeNumber, Minimum: &low, Maximum: &high}},
		{In: "query", Name: "on", Schema: &huma.Schema{Type: huma.TypeBoolean}},
		{In: "query", Name: "since", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}},
		{In: "query", Name: "status", Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Enum: []any{"a", "b"}}}},
		{In: "header", Name: "hidden", Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	f.Fuzz(func(t *testing.T, raw string) {
		r := &request{}
		if err := r.readQuery(op, raw); err != nil {
			e := refusedAs(t, err, memoryd.Invalid)
			if e.Slug != "bad-url" && len(e.Fields) == 0 {
				t.Fatalf("%q: %v names nothing", raw, err)
			}
			for _, f := range e.Fields {
				if !utf8.ValidString(f.Path) || strings.ContainsFunc(f.Path, unicode.IsControl) {
					t.Fatalf("%q: the path %q", raw, f.Path)
				}
			}
			return
		}
		want, err := url.ParseQuery(raw)
		if err != nil && !strings.Contains(raw, ";") {
			t.Fatalf("%q is read, but: %v", raw, err)
		}
		if len(want) != len(r.query)+len(r.labels) && !strings.Contains(raw, ";") {
			t.Fatalf("%q: %q and %q of %q", raw, r.query, r.labels, want)
		}
		for name, value := range r.query {
			if !strings.Contains(raw, ";") && !slices.Equal(want[name], []string{value}) || value == "" || name == "hidden" {
				t.Fatalf("%q: %s is %q", raw, name, value)
			}
			switch name {
			case "limit":
				if n, err := strconv.Atoi(value); err != nil || n < 0 || n > 100 {
					t.Fatalf("%q: %s", raw, value)
				}
			case "share":
				if n, err := strconv.ParseFloat(value, 64); err != nil || !(n >= 0 && n <= 100) {
					t.Fatalf("%q: %s", raw, value)
				}
			case "since":
				if _, err := parseTime(value); err != nil {
					t.Fatalf("%q: %v", raw, err)
				}
			}
		}
	})
}

// FuzzTime: a time that is taken is one that encoding/json takes, and is shown as the same moment.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-09-04T10:00:00+09:00", "2026-09-04T10:00:00Z", "2026-09-04t10:00:00z", "2026-09-04T24:00:00Z", "2026-02-30T00:00:00Z", "2016-12-31T23:59:60Z",
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-09-04T9:00:00Z", "2026-09-04T10:00:00,5Z", "2026-09-04T10:00:00.1234567891Z", "2026-09-04T10:00:00+24:00", "2026-09-04T10:00:00Z\n", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseTime(text)
		if err != nil {
			if len(text) > 8 && strings.Contains(err.Error(), text) && !strings.Contains("2026-09-04T10:00:00+09:00", text) {
				t.Fatalf("%v shows %q", err, text)
			}
			return
		}
		var plain time.Time
		if err := plain.UnmarshalJSON([]byte(`"` + text + `"`)); err != nil || !plain.Equal(at) {
			t.Fatalf("%q is %v, and %v by the standard library: %v", text, at, plain, err)
		}
		if y := at.UTC().Year(); y < 1 || y > 9999 {
			t.Fatalf("%q lies in the year %d", text, y)
		}
		for _, shown := range []string{at.Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano)} {
			if again, err := parseTime(shown); err != nil || !again.Equal(at) {
				t.Fatalf("%q is shown as %q: %v", text, shown, err)
			}
		}
	})
}

// FuzzOwnHost: only this machine's own names pass for it, and only the same origin for the same.
func FuzzOwnHost(f *testing.F) {
	for _, s := range [][2]string{{"localhost:7788", "http://localhost:7788"}, {"127.0.0.1.evil.com", "http://127.0.0.1"}, {"[::1]:80", "https://[::1]"}, {"localhost.evil.com:1", "null"},
		{"127.1", "http://127.0.0.1@evil.com"}, {"0.0.0.0", "file://"}, {"memory.example:443", "https://memory.example"}, {"", "http://"}, {"[::ffff:127.0.0.1]", "ftp://x"}, {"x:80:443", "http://x"}} {
		f.Add(s[0], s[1])
	}
	s := &Server{opt: Options{AllowedHosts: []string{"memory.example"}}}
	f.Fuzz(func(t *testing.T, host, origin string) {
		if s.ownHost(host) {
			name := strings.ToLower(host)
			if at := strings.LastIndexByte(name, ':'); at >= 0 && net.ParseIP(strings.Trim(name, "[]")) == nil {
				name = name[:at]
			}
			if ip := net.ParseIP(strings.Trim(name, "[]")); !strings.EqualFold(strings.Trim(name, "[]"), "localhost") && !strings.EqualFold(name, "memory.example") && (ip == nil || !ip.IsLoopback()) {
				t.Fatalf("%q passes for this machine", host)
			}
		}
		if sameHost(origin, host) {
			u, err := url.Parse(origin)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.HasPrefix(strings.ToLower(u.Host), strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443"))) {
				t.Fatalf("%q passes for %q", origin, host)
			}
		}
	})
}
