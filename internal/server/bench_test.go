package server

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// What the surface itself costs: a body of usual size through the scan, and a request through the whole stack but the
// network, with a read that touches no row.
func BenchmarkScan(b *testing.B) {
	registry, schema := scanSchema()
	body := []byte(`{"text":"tea","kind":"a","labels":{"area":"kitchen"},"free":{"words":"` + strings.Repeat("word ", 200) + `","list":[1,2,3,{"a":null}]}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := checkJSON(registry, schema, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	r := start(b, nil)
	h := r.server.Handler()
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest("POST", "http://localhost/v1/search", strings.NewReader(`{"query":"tea without sugar","user":"amy","limit":5}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != 200 {
			body, _ := io.ReadAll(w.Body)
			b.Fatalf("%d %s", w.Code, body)
		}
	}
}
