package sqlstore

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memoryd"
)

func openTest(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func BenchmarkTenants(b *testing.B) {
	s := openTest(b)
	bench(b, s, func(t memoryd.Tx, i int) error {
		return t.Agents.Put("t", fmt.Sprintf("agent-%09d", i), []byte(`{"a":1}`))
	})
}

func BenchmarkInsert(b *testing.B) {
	s := openTest(b)
	bench(b, s, func(t memoryd.Tx, i int) error {
		return t.Memories.Insert(memory(i))
	})
}

func memory(i int) memoryd.Memory {
	now := time.Now()
	return memoryd.Memory{Tenant: "t", User: fmt.Sprint("user-", i%50), ID: fmt.Sprintf("0198f2a0-0000-7000-8000-%012d", i), Scope: memoryd.Global,
		Text: fmt.Sprintf("The user said that the number %d matters to them more than the one before it, and gave reasons.", i),
		Type: memoryd.Fact, Form: memoryd.FormText, Trust: memoryd.High, Source: memoryd.UserDirect, Status: memoryd.Active,
		Importance: 5, Strength: 1, Recorded: now, Version: 1, TypedBy: "given", Hash: fmt.Sprintf("%064d", i), Tokens: 20,
		Provenance: memoryd.Provenance{Writer: "key-1", Agent: "assistant"}}
}

func bench(b *testing.B, s *Store, f func(memoryd.Tx, int) error) {
	var n atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 16 {
		wg.Go(func() {
			for {
				i := int(n.Add(1))
				if i > b.N {
					return
				}
				if err := s.Write(context.Background(), func(t memoryd.Tx) error { return f(t, i) }); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(s.writer.writes.Load())/float64(s.writer.commits.Load()), "writes/commit")
}
