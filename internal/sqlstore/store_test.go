package sqlstore

import (
	"context"
	"errors"
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

// BenchmarkInsert is durable writes by 16 goroutines: a small row, a memory as an add writes it, a message.
func BenchmarkInsert(b *testing.B) {
	for name, f := range map[string]func(memoryd.Tx, int) error{
		"small": func(t memoryd.Tx, i int) error {
			return t.Agents.Put("t", fmt.Sprintf("agent-%09d", i), []byte(`{"a":1}`))
		},
		"memory":  addMemory,
		"message": appendMessage,
	} {
		b.Run(name, func(b *testing.B) { bench(b, openTest(b), f) })
	}
}

func addMemory(t memoryd.Tx, i int) error {
	m := memory(i)
	if err := t.Tenants.Ensure(memoryd.Tenant{ID: m.Tenant, Created: m.Recorded}); err != nil {
		return err
	}
	owner := memoryd.Owner{Tenant: m.Tenant, User: m.User}
	if _, err := t.Memories.List(owner, memoryd.ScopesOf(m.Scope), memoryd.MemoryFilter{Hash: m.Hash, Limit: 1}); err != nil {
		return err
	}
	return t.Memories.Insert(m)
}

func appendMessage(t memoryd.Tx, i int) error {
	m := memory(i)
	s := memoryd.Session{Tenant: "t", ID: m.User, User: m.User, State: "open", Created: m.Recorded, Updated: m.Recorded}
	_, err := t.Sessions.Get(memoryd.Owner{Tenant: "t", User: m.User}, memoryd.AllScopes(), s.ID)
	if errors.Is(err, memoryd.ErrNotFound) {
		_, err = t.Sessions.Put(s)
	}
	if err != nil {
		return err
	}
	_, err = t.Messages.Append(s, []memoryd.Message{{ID: m.ID, Role: memoryd.RoleUser, Content: fmt.Appendf(nil, "%q", m.Text), Text: m.Text,
		Tokens: m.Tokens, Trust: m.Trust, Writer: "key-1", Kind: "chat", Time: m.Recorded, Recorded: m.Recorded, Searchable: true}})
	return err
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
