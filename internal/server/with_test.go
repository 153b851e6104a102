package server

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"memoryd/internal/access"
)

// A server for other agents goes on where the one before it stands.
func TestWith(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	r := start(t, func(_ *access.Options, o *Options) { o.Now = func() time.Time { return now } })
	r.must(200, "GET", "/startupz", "")
	now = now.Add(time.Hour)
	next := r.server.With(r.access, nil)
	ask := func(target string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("GET", target, nil)
		req.Host = "localhost"
		w := httptest.NewRecorder()
		next.Handler().ServeHTTP(w, req)
		return w
	}
	if w := ask("/v1/status"); w.Code != 200 || !strings.Contains(w.Body.String(), `"uptime_s":3600,`) || !strings.Contains(w.Body.String(), "2026-09-01T12:00:00Z") {
		t.Errorf("status: %s", w.Body)
	}
	r.server.Drain()
	if w := ask("/readyz"); w.Code != 503 || w.Header().Get("Retry-After") != "5" {
		t.Errorf("draining: %d %v", w.Code, w.Header())
	}
	if w := ask("/startupz"); w.Code != 200 {
		t.Errorf("started before, and not any more: %d", w.Code)
	}
}
