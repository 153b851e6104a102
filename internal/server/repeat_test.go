package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRepeatedRequests(t *testing.T) {
	r := start(t, nil)
	for i := range 4 {
		r.must(201, "POST", "/v1/memories", fmt.Sprintf(`{"text":"gone %d","scope":"global"}`, i))
	}
	gone := r.must(200, "GET", "/v1/memories", "").items()[0]["id"].(string)
	r.must(200, "DELETE", "/v1/memories/"+gone, "")
	for _, c := range []struct {
		status       int
		target, body string
		same, other  string // the body in other words, and another one
	}{
		{201, "/v1/memories", `{"text":"a","scope":"global","labels":{"x":"1","y":"2"}}`, "{ \"scope\":\"global\",\n\"labels\":{\"y\":\"2\",\"x\":\"1\"},\"text\":\"\\u0061\"}", `{"text":"a","scope":"global"}`},
		{200, "/v1/memories:batch", `{"items":[{"text":"b1","scope":"global"},{"text":"gone 1","scope":"global"},{"text":"x","scope":"nowhere"}]}`, ``, `{"user":"amy","items":[{"text":"b1","scope":"global"},{"text":"gone 1","scope":"global"},{"text":"x","scope":"nowhere"}]}`},
		{200, "/v1/memories/" + gone + "/restore", ``, `{}`, `{"user":"default"}`},
		{201, "/v1/sessions/s%2F1/messages", `{"messages":[{"role":"user","content":"hello"}]}`, ``, `{"messages":[{"role":"user","content":"hello "}]}`},
		{201, "/v1/sessions/s2/messages", `{"mode":"sync","messages":[{"role":"user","content":"hello"}]}`, ``, `{"messages":[{"role":"user","content":"hello"}]}`},
	} {
		key := []string{"Idempotency-Key", "key ~1"}
		first := r.must(c.status, "POST", c.target, c.body, key...)
		before := r.dump()
		if c.same == "" {
			c.same = c.body
		}
		for range 2 {
			again := r.must(c.status, "POST", c.target, c.same, key...)
			// A problem inside names the request that it is told in.
			told := strings.ReplaceAll(string(again.raw), again.header.Get("X-Request-ID"), first.header.Get("X-Request-ID"))
			if told != string(first.raw) || again.header.Get("Etag") != first.header.Get("Etag") {
				t.Errorf("%s: %s, want %s", c.target, told, first.raw)
			}
			if first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: marks %q, %q", c.target, first.header.Get("Idempotency-Replayed"), again.header.Get("Idempotency-Replayed"))
			}
		}
		if p := r.must(409, "POST", c.target, c.other, key...).problem(t); p.Type != "/problems/idempotency" {
			t.Errorf("%s: %+v", c.target, p)
		}
		if after := r.dump(); after != before {
			t.Errorf("%s: a repetition changed something:\n%s\nbefore:\n%s", c.target, after, before)
		}
	}
	// What was refused may be corrected under the same key.
	key := []string{"Idempotency-Key", "second try"}
	r.must(422, "POST", "/v1/memories", `{"text":"c","scope":"nowhere"}`, key...)
	r.must(400, "POST", "/v1/memories", `{"text":`, key...)
	if a := r.must(201, "POST", "/v1/memories", `{"text":"c","scope":"global"}`, key...); a.str("state") != "stored" {
		t.Errorf("%s", a.raw)
	}
	if n := len(r.must(200, "GET", "/v1/sessions/s%2F1/messages", "").items()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestRepeatKeys(t *testing.T) {
	r := start(t, nil)
	for _, target := range []string{"/v1/memories", "/v1/memories:batch", "/v1/memories/x/restore", "/v1/sessions/s/messages", "/v1/keys"} {
		for _, key := range []string{" ", "a\tb", "ä", strings.Repeat("k", 256)} {
			body := map[string]string{
				"/v1/memories": `{"text":"t","scope":"global"}`, "/v1/memories:batch": `{"items":[{"text":"t","scope":"global"}]}`,
				"/v1/sessions/s/messages": `{"messages":[{"role":"user","content":"c"}]}`, "/v1/keys": `{"kind":"operator"}`,
			}[target]
			a := r.must(422, "POST", target, body, "Idempotency-Key", key)
			if p := a.problem(t); len(p.Fields) != 1 || p.Fields[0].Path != "Idempotency-Key" {
				t.Errorf("%s %q: %s", target, key, a.raw)
			}
		}
	}
	req, err := http.NewRequest("POST", r.http.URL+"/v1/memories", strings.NewReader(`{"text":"t","scope":"global"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Idempotency-Key"] = []string{"a", "b"}
	req.Header.Set("Content-Type", "application/json")
	res, err := r.http.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 422 {
		t.Errorf("two keys: %d", res.StatusCode)
	}
	if list := r.must(200, "GET", "/v1/memories", "").items(); len(list) != 0 {
		t.Errorf("%v", list)
	}
	r.must(201, "POST", "/v1/memories", `{"text":"t","scope":"global"}`, "Idempotency-Key", strings.Repeat("k", 255))
	// Reading takes none, and a write by PUT is repeatable as it is.
	r.must(200, "POST", "/v1/search", `{"query":"t"}`, "Idempotency-Key", "ä")
	r.must(201, "PUT", "/v1/sessions/s", `{}`, "Idempotency-Key", "k")
	r.must(200, "PUT", "/v1/sessions/s", `{"metadata":{}}`, "Idempotency-Key", "k")
}

// An idempotency key is one credential's, and in one tenant.
func TestRepeatScopes(t *testing.T) {
	r := start(t, nil)
	body := `{"kind":"operator","name":"me"}`
	made := r.must(201, "POST", "/v1/keys", body, "Idempotency-Key", "k")
	r.key = made.str("key")
	// Who made the first key was the open loopback; this is another.
	second := r.must(201, "POST", "/v1/keys", body, "Idempotency-Key", "k")
	again := r.must(409, "POST", "/v1/keys", body, "Idempotency-Key", "k")
	if p := again.problem(t); p.Type != "/problems/idempotency" || !strings.Contains(p.Detail, second.str("id")) || strings.Contains(string(again.raw), "mrd_") {
		t.Errorf("%s", again.raw)
	}
	r.must(409, "POST", "/v1/keys", `{"kind":"operator"}`, "Idempotency-Key", "k")
	if n := len(r.must(200, "GET", "/v1/keys", "").items()); n != 2 {
		t.Errorf("%d keys", n)
	}
	r.must(201, "POST", "/v1/keys", `{"kind":"tenant","tenant":"acme"}`)
	add := func(header ...string) answer {
		t.Helper()
		return r.must(201, "POST", "/v1/memories", `{"text":"t","scope":"global"}`, append(header, "Idempotency-Key", "k")...)
	}
	one, other, another := add(), add("X-Memoryd-Tenant", "acme"), add("Authorization", "Bearer "+second.str("key"))
	if one.str("memory", "id") == other.str("memory", "id") || other.str("state") != "stored" || other.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another tenant: %s", other.raw)
	}
	if another.str("state") != "duplicate" || another.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another credential: %s", another.raw)
	}
}

// dropping forwards every request and then, by chance, cuts the connection instead of passing the answer on: before
// any of it, or within its body.
type dropping struct {
	to      string
	client  *http.Client
	dropped atomic.Int64
}

func (d *dropping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	forward := func() (*http.Response, []byte) {
		req, err := http.NewRequest(r.Method, d.to+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req.Header = r.Header.Clone()
		res, err := d.client.Do(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		return res, answer
	}
	if rand.IntN(4) == 0 {
		// An impatient network: the same request twice at once.
		var wg sync.WaitGroup
		wg.Go(func() { defer func() { _ = recover() }(); forward() })
		defer wg.Wait()
	}
	res, answer := forward()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	switch rand.IntN(3) {
	case 0:
		d.dropped.Add(1)
		panic(http.ErrAbortHandler)
	case 1:
		d.dropped.Add(1)
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(answer)
}

// told is what a client was told of one request, the last time.
type told struct {
	status int
	raw    string
}

// persist sends a request until it is answered, and then twice more. All answers must be one.
func persist(t *testing.T, client *http.Client, base, target, body, key string) (out told, repeats int) {
	for answered := 0; answered < 3; {
		req, err := http.NewRequest("POST", base+target, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return out, repeats
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		req.Header.Set("X-Request-ID", "r")
		repeats++
		res, err := client.Do(req)
		if err != nil {
			continue
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			continue
		}
		if res.StatusCode == 409 && res.Header.Get("Retry-After") != "" {
			continue // the other of two at once is under way
		}
		now := told{res.StatusCode, string(raw)}
		if answered > 0 && now != out {
			t.Errorf("%s %s: told %v, then %v", target, key, out, now)
		}
		out = now
		answered++
	}
	return out, repeats
}

// 16 clients send every request until it is answered three times, through a network that loses two answers of three:
// what was acknowledged is there, once.
func TestRepeatThroughALossyNetwork(t *testing.T) {
	r := start(t, nil)
	d := &dropping{to: r.http.URL, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	proxy := httptest.NewServer(d)
	t.Cleanup(func() { proxy.Close(); d.client.CloseIdleConnections() })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(client.CloseIdleConnections)

	const clients, steps = 16, 3
	var (
		wg       sync.WaitGroup
		sent     atomic.Int64
		requests atomic.Int64
	)
	for c := range clients {
		wg.Go(func() {
			user := fmt.Sprintf("user-%d", c)
			for n := range steps {
				key := fmt.Sprintf("client %d step %d", c, n)
				send := func(want int, target, body string) told {
					out, repeats := persist(t, client, proxy.URL, target, body, key)
					sent.Add(int64(repeats))
					requests.Add(1)
					if out.status != want {
						t.Errorf("%s %s: %v", target, key, out)
					}
					return out
				}
				// Not one of these could tell a repetition by itself: the words are the same each time.
				one := send(201, "/v1/memories", fmt.Sprintf(`{"user":%q,"text":"memory %d","scope":"global"}`, user, n))
				batch := send(200, "/v1/memories:batch", fmt.Sprintf(`{"user":%q,"items":[{"text":"item %d","scope":"global"},{"text":"item %d","scope":"dm"},{"text":"x","scope":"nowhere"}]}`, user, n, n))
				send(201, "/v1/sessions/"+user+"/messages", fmt.Sprintf(`{"user":%q,"messages":[{"role":"user","content":"ok"},{"role":"assistant","content":"ok"}]}`, user))
				send(201, "/v1/sessions/shared/messages", fmt.Sprintf(`{"user":%q,"group":"team","messages":[{"role":"user","content":"said by client %d at step %d"}]}`, user, c, n))
				if !strings.Contains(one.raw, `"state":"stored"`) || strings.Count(batch.raw, `"state":"stored"`) != 2 {
					t.Errorf("%s: %v %v", key, one, batch)
				}
			}
		})
	}
	wg.Wait()
	for c := range clients {
		user := fmt.Sprintf("user-%d", c)
		list := r.must(200, "GET", "/v1/memories?limit=200&user="+user, "").items()
		if len(list) != 3*steps {
			t.Errorf("%s: %d memories, want %d", user, len(list), 3*steps)
		}
		for _, m := range list {
			if m["version"] != 1.0 {
				t.Errorf("%s: %v was done twice", user, m["text"])
			}
		}
		if head := r.must(200, "GET", "/v1/sessions/"+user, ""); head.str("last_seq") != fmt.Sprint(2*steps) {
			t.Errorf("%s: last_seq %s, want %d", user, head.str("last_seq"), 2*steps)
		}
	}
	seen := map[string]int{}
	for _, m := range r.must(200, "GET", "/v1/sessions/shared/messages?limit=200", "").items() {
		seen[fmt.Sprint(m["content"])]++
	}
	if len(seen) != clients*steps {
		t.Errorf("the shared session holds %d different messages, want %d", len(seen), clients*steps)
	}
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q is there %d times", text, n)
		}
	}
	if d.dropped.Load() < requests.Load() {
		t.Error("hardly an answer was lost")
	}
	t.Logf("%d requests, sent %d times, %d answers lost", requests.Load(), sent.Load(), d.dropped.Load())
}
