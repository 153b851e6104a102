package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// BenchmarkAdd is durable adds through the whole program, less the network.
func BenchmarkAdd(b *testing.B) {
	c, r := defaults(), &reader{}
	c.Data = b.TempDir()
	if r.check(&c); len(r.errs) > 0 {
		b.Fatal(r.errs)
	}
	a, err := build(context.Background(), c, true, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	h := a.Handler()
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := fmt.Sprintf(`{"scope":"global","text":"Order %d goes to the side door and is signed for by the shift lead."}`, n.Add(1))
			req := httptest.NewRequest("POST", "http://localhost/v1/memories", bytes.NewReader([]byte(body)))
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, req); w.Code != http.StatusCreated {
				b.Errorf("%d: %s", w.Code, w.Body)
				return
			}
		}
	})
}
