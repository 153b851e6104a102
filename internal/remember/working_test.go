package remember_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

func (w *world) keeps(g access.Grant, run string) (list []memoryd.Entry) {
	w.t.Helper()
	w.read(func(tx memoryd.Tx) (err error) { list, err = tx.Scratch.Get(g.Run(run), w.now); return err })
	return list
}

func TestWorking(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "own")
	set := func(key, value string, ttl time.Duration) memoryd.Entry {
		t.Helper()
		e, _, err := w.SetWorking(t.Context(), g, "r", key, remember.WorkingRequest{Value: json.RawMessage(value), TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := set("plan", ` {"b":1.50,"a":[null,true]} `, 0)
	if string(first.Value) != `{"b":1.50,"a":[null,true]}` || !first.Expires.Equal(w.now.Add(time.Hour)) {
		t.Errorf("%+v", first)
	}
	set("short", `null`, time.Second)
	diff(t, "kept", len(w.keeps(g, "r")), 2)
	w.now = w.now.Add(40 * time.Minute)
	set("plan", `2`, 0)
	w.now = w.now.Add(59 * time.Minute)
	if list := w.keeps(g, "r"); len(list) != 1 || string(list[0].Value) != "2" {
		t.Errorf("renewed: %+v", list)
	}
	w.now = w.now.Add(time.Minute)
	diff(t, "expired", len(w.keeps(g, "r")), 0)
	refused(t, "drop an expired one", w.DropWorking(t.Context(), g, "r", "plan"), "not_found not-found", "")

	set("a", `1`, 0)
	set("b", `1`, 0)
	for name, other := range map[string]access.Grant{"another user": w.grant("bob", "own"), "another agent": w.grant("amy", "w"), "no agent": w.grant("amy", ""), "another tenant": w.tenant("acme")} {
		diff(t, name, len(w.keeps(other, "r")), 0)
		refused(t, name, w.DropWorking(t.Context(), other, "r", "a"), "not_found not-found", "")
		if n, err := w.EndRun(t.Context(), other, "r"); n != 0 || err != nil {
			t.Errorf("%s: %d %v", name, n, err)
		}
	}
	if err := w.DropWorking(t.Context(), g, "r", "a"); err != nil {
		t.Error(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := w.EndRun(t.Context(), g, "r"); n != want || err != nil {
			t.Errorf("end: %d %v", n, err)
		}
	}
	set("a", `1`, 0) // a run that was ended may begin anew
}

func TestWorkingRefuses(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	for name, c := range map[string]struct {
		run, key, value string
		ttl             time.Duration
		want, path      string
	}{
		"no run":     {"", "k", "1", 0, "invalid bad-field", "run"},
		"no key":     {"r", "", "1", 0, "invalid bad-field", "key"},
		"odd key":    {"r", "a\nb", "1", 0, "invalid bad-field", "key"},
		"no value":   {"r", "k", " ", 0, "invalid bad-field", "value"},
		"no JSON":    {"r", "k", "{", 0, "invalid bad-field", "value"},
		"too large":  {"r", "k", `"` + strings.Repeat("x", 64<<10) + `"`, 0, "invalid too-long", "value"},
		"too short":  {"r", "k", "1", time.Millisecond, "invalid bad-field", "ttl_s"},
		"too long":   {"r", "k", "1", 25 * time.Hour, "invalid bad-field", "ttl_s"},
		"negative":   {"r", "k", "1", -time.Second, "invalid bad-field", "ttl_s"},
		"run is ..":  {"..", "k", "1", 0, "invalid bad-field", "run"},
		"not UTF-8":  {"r", "k", "\"\xff\"", 0, "invalid bad-field", "value"},
		"key is too": {"r", strings.Repeat("k", 129), "1", 0, "invalid too-long", "key"},
	} {
		_, _, err := w.SetWorking(t.Context(), g, c.run, c.key, remember.WorkingRequest{Value: json.RawMessage(c.value), TTL: c.ttl})
		refused(t, name, err, c.want, c.path)
	}
	for i := range 256 {
		if _, _, err := w.SetWorking(t.Context(), g, "full", fmt.Sprint(i), remember.WorkingRequest{Value: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := w.SetWorking(t.Context(), g, "full", "one more", remember.WorkingRequest{Value: []byte("1")})
	refused(t, "one more", err, "invalid too-long", "key")
	if _, _, err := w.SetWorking(t.Context(), g, "full", "7", remember.WorkingRequest{Value: []byte(`"` + strings.Repeat("x", 64<<10-2) + `"`)}); err != nil {
		t.Error(err)
	}
	_, notes, err := w.SetWorking(t.Context(), g, "r", "k", remember.WorkingRequest{Value: json.RawMessage(`["a\u0000"]`)})
	if err != nil || len(notes) != 1 || string(w.keeps(g, "r")[0].Value) != `["a"]` {
		t.Errorf("%v %v", notes, err)
	}
}
