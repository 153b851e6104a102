package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

func TestUnknownRoutesAndMethods(t *testing.T) {
	r := start(t, nil)
	for _, c := range []struct {
		method, target string
		status         int
		slug, allow    string
	}{
		{"GET", "/", 404, "not-found", ""},
		{"GET", "/v1", 404, "not-found", ""},
		{"GET", "/v2/memories", 404, "not-found", ""},
		{"GET", "/v1/memories/", 404, "not-found", ""},
		{"GET", "/v1/sessions/s/", 404, "not-found", ""},
		{"GET", "/v1/sessions//messages", 404, "not-found", ""},
		{"GET", "//v1/memories", 404, "not-found", ""},
		{"GET", "/v1/./memories", 404, "not-found", ""},
		{"GET", "/v1/sessions/../memories", 404, "not-found", ""},
		{"GET", "/V1/memories", 404, "not-found", ""},
		{"GET", "/problems/none", 404, "not-found", ""},
		{"GET", "/v1/memories:batch", 405, "bad-method", "POST"},
		{"DELETE", "/v1/memories", 405, "bad-method", "GET, HEAD, POST"},
		{"OPTIONS", "/v1/memories", 405, "bad-method", "GET, HEAD, POST"},
		{"TRACE", "/v1/status", 405, "bad-method", "GET, HEAD"},
		{"PUT", "/v1/context", 405, "bad-method", "POST"},
		{"BREW", "/livez", 405, "bad-method", "GET, HEAD"},
		{"GET", "/v1/memories?q=%zz", 400, "bad-url", ""},
		{"GET", "/v1/memories?q=%", 400, "bad-url", ""},
	} {
		a := r.call(c.method, c.target, "")
		if a.status != c.status || a.problem(t).Type != "/problems/"+c.slug || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %v %s", c.method, c.target, a.status, a.header["Allow"], a.raw)
		}
		if p := a.problem(t); p.Status != a.status || p.RequestID != a.header.Get("X-Request-ID") || p.Fields == nil {
			t.Errorf("%s %s: %s", c.method, c.target, a.raw)
		}
	}
	if a := r.call("HEAD", "/v1/status", ""); a.status != 200 || len(a.raw) > 0 || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	if a := r.call("HEAD", "/v1/nothing", ""); a.status != 404 || len(a.raw) > 0 {
		t.Errorf("HEAD of nothing: %d", a.status)
	}
}

func TestHealthAndStatus(t *testing.T) {
	var down error
	r := start(t, func(_ *access.Options, o *Options) {
		ping := o.Store
		o.Store = func(ctx context.Context) error {
			if down != nil {
				return down
			}
			return ping(ctx)
		}
	})
	down = errors.New("disk on fire")
	for target, want := range map[string]int{"/livez": 200, "/readyz": 503, "/startupz": 503} {
		if a := r.call("GET", target, ""); a.status != want || strings.Contains(string(a.raw), "fire") {
			t.Errorf("store down: %s %d %s", target, a.status, a.raw)
		}
	}
	if a := r.must(200, "GET", "/v1/status", ""); a.str("store", "state") != "down" || len(a.body["degraded"].([]any)) != 1 {
		t.Errorf("store down: %s", a.raw)
	}
	down = nil
	for _, target := range []string{"/livez", "/readyz", "/startupz"} {
		r.must(200, "GET", target, "")
	}
	if a := r.must(200, "GET", "/v1/status", ""); a.str("store", "state") != "ok" || a.str("version") != "test" {
		t.Errorf("status: %s", a.raw)
	}
	r.server.Drain()
	if a := r.must(503, "GET", "/v1/status", ""); a.problem(t).Type != "/problems/draining" || a.header.Get("Retry-After") == "" || a.problem(t).RetryAfter == 0 {
		t.Errorf("draining: %s %v", a.raw, a.header)
	}
	r.must(503, "GET", "/readyz", "")
	r.must(200, "GET", "/livez", "")
	r.must(200, "GET", "/startupz", "")
	if log := r.log.String(); !strings.Contains(log, "disk on fire") {
		t.Error("the cause of a failure is not in the log")
	}
}

func TestOpenLoopbackAnswersNoPages(t *testing.T) {
	r := start(t, func(_ *access.Options, o *Options) {
		o.AllowedHosts = []string{"memory.test"}
		o.AllowedOrigins = []string{"https://ops.test"}
	})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.http.URL, "http://"))
	for _, c := range []struct {
		header []string
		ok     bool
	}{
		{nil, true},
		{[]string{"Host", "localhost"}, true},
		{[]string{"Host", "LOCALHOST:99"}, true},
		{[]string{"Host", "[::1]:7788"}, true},
		{[]string{"Host", "127.0.0.1"}, true},
		{[]string{"Host", "memory.test:7788"}, true},
		{[]string{"Host", "evil.test"}, false},
		{[]string{"Host", "localhost.evil.test"}, false},
		{[]string{"Host", "10.0.0.5:7788"}, false},
		{[]string{"Origin", "http://127.0.0.1:" + port}, true},
		{[]string{"Origin", "https://ops.test"}, true},
		{[]string{"Origin", "http://ops.test"}, false},
		{[]string{"Origin", "https://evil.test"}, false},
		{[]string{"Origin", "http://127.0.0.1:1"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", "http://evil.test", "Host", "evil.test"}, false},
	} {
		for _, target := range []string{"/v1/status", "/v1/nothing"} {
			a := r.call("GET", target, "", c.header...)
			if refused := a.status == 403 && a.problem(t).Type == "/problems/bad-origin"; refused == c.ok {
				t.Errorf("%v %s: %d %s", c.header, target, a.status, a.raw)
			}
		}
	}
	pre := r.call("OPTIONS", "/v1/memories", "", "Origin", "https://ops.test", "Access-Control-Request-Method", "POST")
	if pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != "https://ops.test" || !strings.Contains(pre.header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", pre.status, pre.header)
	}
	if a := r.call("OPTIONS", "/v1/memories", "", "Origin", "https://evil.test", "Access-Control-Request-Method", "POST"); a.status != 403 || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another: %d %v", a.status, a.header)
	}
	// A form can send these types to another site without asking.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/json; charset=utf-16", "application/jsonp"} {
		if a := r.call("POST", "/v1/memories", `{"text":"t","scope":"global"}`, "Content-Type", kind); a.status != 415 || a.problem(t).Code != "invalid" {
			t.Errorf("%s: %d %s", kind, a.status, a.raw)
		}
	}
	if a := r.call("POST", "/v1/memories", `{"text":"t","scope":"global"}`, "Content-Encoding", "gzip"); a.status != 415 {
		t.Errorf("gzip: %d", a.status)
	}
}

func TestKeysCloseTheDoor(t *testing.T) {
	r := start(t, nil)
	made := r.must(201, "POST", "/v1/keys", `{"kind":"operator","name":"me"}`)
	key := made.str("key")
	if !strings.HasPrefix(key, "mrd_") {
		t.Fatalf("key: %s", made.raw)
	}
	for _, c := range []struct {
		slug   string
		header []string
	}{
		{"no-key", nil},
		{"no-key", []string{"Authorization", "Basic bWU6bWU="}},
		{"bad-key", []string{"Authorization", "Bearer " + key + "x"}},
		{"bad-key", []string{"X-API-Key", "nonsense"}},
		{"bad-key", []string{"X-API-Key", key, "Authorization", "Bearer nonsense"}},
	} {
		a := r.must(401, "GET", "/v1/status", "", c.header...)
		if p := a.problem(t); p.Type != "/problems/"+c.slug || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%v: %s %v", c.header, a.raw, a.header)
		}
	}
	// The address is never read for a key, and who has none learns nothing about the body.
	r.must(401, "GET", "/v1/status?key="+key, "")
	r.must(401, "POST", "/v1/memories", `{"nonsense":1}`)
	for _, header := range [][]string{{"Authorization", "Bearer " + key}, {"Authorization", "token  " + key}, {"X-API-Key", key}, {"X-API-Key", key, "Authorization", "Basic bWU6bWU="}} {
		r.must(200, "GET", "/v1/status", "", header...)
	}
	r.key = key
	// With keys, names of other machines are none of the server's business.
	r.must(200, "GET", "/v1/status", "", "Host", "memory.example", "Origin", "https://elsewhere.example")
	id := made.str("id")
	if list := r.must(200, "GET", "/v1/keys", ""); len(list.items()) != 1 || strings.Contains(string(list.raw), key) || list.items()[0]["id"] != id {
		t.Errorf("keys: %s", list.raw)
	}
	agent := r.must(201, "POST", "/v1/keys", `{"kind":"agent","agent":"w1","expires":"2999-01-01T00:00:00+02:00"}`)
	r.must(403, "GET", "/v1/keys", "", "Authorization", "Bearer "+agent.str("key"))
	r.must(200, "DELETE", "/v1/keys/"+agent.str("id"), "")
	r.must(401, "GET", "/v1/status", "", "Authorization", "Bearer "+agent.str("key"))
	r.must(404, "DELETE", "/v1/keys/nothing", "")
	log := r.log.String()
	if strings.Contains(log, key) || strings.Contains(log, "nonsense") || !strings.Contains(log, `"key":"key:`+id+`"`) {
		t.Errorf("log: %s", log)
	}
}

func TestRequestIDsAndLog(t *testing.T) {
	r := start(t, nil)
	if a := r.call("GET", "/v1/status", "", "X-Request-ID", "abc-1", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"); a.header.Get("X-Request-ID") != "abc-1" {
		t.Errorf("id: %v", a.header)
	}
	for _, id := range []string{"a b", "ä", strings.Repeat("x", 129), "a\tb"} {
		if got := r.call("GET", "/v1/status", "", "X-Request-ID", id).header.Get("X-Request-ID"); got == id || len(got) != 36 {
			t.Errorf("id %q became %q", id, got)
		}
	}
	r.call("GET", "/v1/memories?user=secretuser&q=secretword", "")
	r.call("POST", "/v1/memories", `{"text":"secrettext","scope":"nowhere"}`)
	log := r.log.String()
	if strings.Contains(log, "secret") {
		t.Errorf("the log holds content: %s", log)
	}
	first, _, _ := strings.Cut(log, "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatal(err)
	}
	if line["request_id"] != "abc-1" || line["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" || line["route"] != "GET /v1/status" || line["method"] != "GET" || line["status"] != 200.0 || line["bytes"] == 0.0 || line["key"] != "loopback" {
		t.Errorf("line: %s", first)
	}
	for header, want := range map[string]string{
		"": "", "00-00000000000000000000000000000000-00f067aa0ba902b7-01": "", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "", "junk": "",
	} {
		if got := traceOf(header); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}

func TestPanics(t *testing.T) {
	r := start(t, nil)
	r.server.raw("GET /early", func(x *exchange, _ *http.Request) {
		x.WriteHeader(201)
		panic("the secret of the early one")
	})
	r.server.raw("GET /late", func(x *exchange, _ *http.Request) {
		_, _ = x.Write([]byte("half"))
		panic(fmt.Errorf("the late one"))
	})
	if a := r.must(500, "GET", "/early", ""); a.problem(t).Code != "internal" || strings.Contains(string(a.raw), "secret") {
		t.Errorf("%s", a.raw)
	}
	res, err := r.http.Client().Get(r.http.URL + "/late")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looked whole")
	}
	if log := r.log.String(); !strings.Contains(log, "secret of the early one") || !strings.Contains(log, "the late one") || !strings.Contains(log, "surface_test.go") {
		t.Errorf("log: %s", log)
	}
}

func TestBodies(t *testing.T) {
	r := start(t, nil)
	big := `{"text":"` + strings.Repeat("x", 65<<10) + `","scope":"global"}`
	if a := r.must(413, "POST", "/v1/memories", big); a.problem(t).Code != "exhausted" {
		t.Errorf("%s", a.raw)
	}
	// Without a length, the limit holds all the same.
	req, _ := http.NewRequest("POST", r.http.URL+"/v1/memories", struct{ io.Reader }{strings.NewReader(big)})
	req.Header.Set("Content-Type", "application/json")
	res, err := r.http.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("chunked: %d", res.StatusCode)
	}
	// A body that is cut off is no JSON problem.
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.http.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	_ = conn.(*net.TCPConn).CloseWrite()
	cut, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	cut.Body.Close()
	if cut.StatusCode != 400 {
		t.Errorf("cut off: %d", cut.StatusCode)
	}
	if a := r.must(422, "GET", "/v1/memories", `{"user":"bob"}`); a.problem(t).Fields[0].Path != "body" {
		t.Errorf("%s", a.raw)
	}
}

func TestDescriptionAndDocs(t *testing.T) {
	r := start(t, nil)
	spec := r.must(200, "GET", "/v1/openapi.json", "")
	if spec.str("openapi") != "3.1.0" {
		t.Errorf("openapi: %s", spec.str("openapi"))
	}
	for path, item := range spec.body["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			o := op.(map[string]any)
			responses := o["responses"].(map[string]any)
			if responses["default"] == nil || o["summary"] == nil {
				t.Errorf("%s %s: %v", method, path, o)
			}
			params, _ := o["parameters"].([]any)
			for _, p := range params {
				if p.(map[string]any)["description"] == nil {
					t.Errorf("%s %s: a parameter without a word: %v", method, path, p)
				}
			}
		}
	}
	for name, schema := range spec.body["components"].(map[string]any)["schemas"].(map[string]any) {
		s := schema.(map[string]any)
		if strings.HasPrefix(name, "Error") {
			t.Errorf("huma's %s is described", name)
		}
		for field, f := range s["properties"].(map[string]any) {
			p := f.(map[string]any)
			if d, _ := p["description"].(string); d == "" {
				t.Errorf("%s.%s has no word of description: %v", name, field, p)
			}
			if kinds, ok := p["type"].([]any); ok && slices.Contains(kinds, any("array")) {
				t.Errorf("%s.%s may be null", name, field)
			}
		}
	}
	docs := r.must(200, "GET", "/v1/docs", "")
	page, policy := string(docs.raw), docs.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Count(policy, "sha256-") != 2 {
		t.Errorf("policy: %s", policy)
	}
	for _, word := range []string{"https://", "http://", "src=", "<link", "@import", "innerHTML", "eval("} {
		if strings.Contains(page, word) {
			t.Errorf("the page holds %s", word)
		}
	}
	for slug, k := range kinds() {
		a := r.must(200, "GET", "/problems/"+slug, "")
		if !strings.Contains(string(a.raw), k.title) || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %s", slug, a.raw)
		}
	}
}

func TestProblemsHideWhatIsInside(t *testing.T) {
	s := &Server{kinds: kinds()}
	for _, c := range []struct {
		err    error
		status int
		slug   string
	}{
		{errors.New("dsn=secret"), 500, "internal"},
		{memoryd.Errorf(memoryd.Internal, "secret", "secret"), 500, "internal"},
		{fmt.Errorf("recall: secret: %w", memoryd.ErrNotFound), 404, "not-found"},
		{fmt.Errorf("secret: %w", context.DeadlineExceeded), 504, "timeout"},
		{&memoryd.Error{Code: memoryd.Unavailable, Slug: "store-down", Err: errors.New("secret")}, 503, "store-down"},
		{&memoryd.Error{Code: memoryd.Unavailable, Slug: "draining"}, 503, "draining"},
		{&memoryd.Error{Code: memoryd.Unavailable, Slug: "something-new"}, 503, "something-new"},
		{memoryd.ErrVersion, 412, "version"},
		{memoryd.ErrTwin, 409, "duplicate"},
		{memoryd.ErrDiskFull, 507, "disk-full"},
		{memoryd.Errorf(memoryd.Denied, "new-slug", "no"), 403, "new-slug"},
	} {
		p := s.problem(c.err, "id")
		raw, _ := json.Marshal(p)
		passes := c.status == 503 || c.status == 504
		if passes != (p.RetryAfter > 0) || passes != (p.header.Get("Retry-After") == strconv.Itoa(p.RetryAfter)) {
			t.Errorf("%v: retry after %d, header %q", c.err, p.RetryAfter, p.header.Get("Retry-After"))
		}
		if p.Status != c.status || p.Type != "/problems/"+c.slug || strings.Contains(string(raw), "secret") {
			t.Errorf("%v: %s", c.err, raw)
		}
	}
}
