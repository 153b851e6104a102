package server

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"memoryd"
)

// Of a tenant that was deleted beside writers no row is left to come back, whatever they were told.
func TestTenantDeletedBesideWriters(t *testing.T) {
	r := start(t, nil)
	deleted := 0
	for i := range 30 {
		tenant := fmt.Sprintf("t%d", i)
		r.must(201, "PUT", "/v1/tenants/"+tenant, "{}")
		var all sync.WaitGroup
		for _, w := range []struct{ method, target, body string }{
			{"POST", "/v1/memories", `{"text":"likes tea","scope":"global"}`},
			{"POST", "/v1/sessions/s/messages", `{"messages":[{"role":"user","content":"hi"}]}`},
			{"PUT", "/v1/runs/r/working/k", `{"value":1}`},
			{"PUT", "/v1/agents/bot", `{"read":["global"]}`},
		} {
			all.Go(func() {
				if a := r.call(w.method, w.target, w.body, "X-Memoryd-Tenant", tenant); a.status > 201 && a.status != 404 {
					t.Errorf("%s %s: %d %s", w.method, w.target, a.status, a.raw)
				}
			})
		}
		status := r.call("DELETE", "/v1/tenants/"+tenant, "").status
		all.Wait()
		if status != 200 {
			continue
		}
		deleted++
		err := r.store.Read(t.Context(), func(tx memoryd.Tx) error {
			held, err := tx.Dump.Tenants()
			if slices.Contains(held, tenant) {
				t.Errorf("%s is gone, and holds rows", tenant)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r.must(201, "PUT", "/v1/tenants/"+tenant, "{}")
		for _, list := range []string{"/v1/memories", "/v1/sessions", "/v1/agents", "/v1/runs/r/working"} {
			if n := len(r.must(200, "GET", list, "", "X-Memoryd-Tenant", tenant).items()); list != "/v1/agents" && n > 0 || list == "/v1/agents" && n > 3 {
				t.Errorf("%s: %d came back", list, n)
			}
		}
	}
	if deleted == 0 {
		t.Skip("no deletion came first")
	}
}
