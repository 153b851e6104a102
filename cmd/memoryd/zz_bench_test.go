package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

func BenchmarkZAdd(b *testing.B) {
	file := filepath.Join(b.TempDir(), "memoryd.yaml")
	os.WriteFile(file, nil, 0o600)
	c, err := readConfig(file, map[string]string{"data": b.TempDir()}, func(string) (string, bool) { return "", false })
	if err != nil {
		b.Fatal(err)
	}
	a, err := build(b.Context(), c, true, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	h := a.Handler()
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := fmt.Sprintf(`{"text":"the harbour light number %d is painted red and white every spring","scope":"global","user":"u%d"}`, n.Add(1), n.Load()%16)
			r := httptest.NewRequest("POST", "http://127.0.0.1:7788/v1/memories", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusCreated {
				b.Fatal(w.Code, w.Body.String())
			}
		}
	})
}
