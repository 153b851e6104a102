package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// measure times the four calls that agents make, with one client and with many, on an owner of 1,000 memories and a
// session of 60 messages.
func measure(ctx context.Context, c *client, clients int, length time.Duration, out io.Writer) error {
	m := &meter{client: c, user: "meter-" + rand.Text()[:8], say: newSpeech(7)}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	calls := []struct {
		name string
		call func(context.Context, string) error
	}{{"add", m.add}, {"append", m.append}, {"search", m.search}, {"context", m.context}}
	fmt.Fprintln(out, "| call | clients | calls/s | p50 ms | p99 ms |\n|---|---|---|---|---|")
	for _, x := range calls {
		for _, n := range []int{1, clients} {
			took, total, err := m.repeat(ctx, n, length, x.call)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			fmt.Fprintf(out, "| %s | %d | %.0f | %.2f | %.2f |\n", x.name, n, float64(len(took))/total.Seconds(), share(took, .5), share(took, .99))
		}
	}
	return nil
}

type meter struct {
	*client
	user string
	mu   sync.Mutex
	say  *speech
	n    atomic.Int64
}

func (m *meter) words(n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.say.sentence(n)
}

func (m *meter) prepare(ctx context.Context) error {
	for range 10 {
		items := make([]map[string]any, 100)
		for i := range items {
			items[i] = map[string]any{"text": m.words(15), "scope": "global", "type": "fact"}
		}
		if err := m.post(ctx, "/v1/memories:batch", map[string]any{"user": m.user, "items": items}, &struct{}{}); err != nil {
			return err
		}
	}
	for range 30 {
		if err := m.append(ctx, "talk"); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) add(ctx context.Context, _ string) error {
	return m.post(ctx, "/v1/memories", map[string]any{"user": m.user, "text": m.words(15), "scope": "global"}, &struct{}{})
}

func (m *meter) append(ctx context.Context, session string) error {
	body := map[string]any{"user": m.user, "messages": []map[string]any{
		{"role": "user", "content": m.words(20)}, {"role": "assistant", "content": m.words(60)},
	}}
	return m.post(ctx, "/v1/sessions/"+url.PathEscape(m.user+" "+session)+"/messages", body, &struct{}{})
}

func (m *meter) search(ctx context.Context, _ string) error {
	return m.post(ctx, "/v1/search", map[string]any{"user": m.user, "query": m.words(12)}, &struct{}{})
}

func (m *meter) context(ctx context.Context, _ string) error {
	return m.post(ctx, "/v1/context", map[string]any{"user": m.user, "query": m.words(12), "session": m.user + " talk", "rounds": 20}, &struct{}{})
}

// repeat has n clients make the call until the time is over, and answers how long each took, sorted.
func (m *meter) repeat(ctx context.Context, n int, length time.Duration, call func(context.Context, string) error) ([]time.Duration, time.Duration, error) {
	var (
		mu     sync.Mutex
		all    []time.Duration
		failed error
		wg     sync.WaitGroup
	)
	start := time.Now()
	for range n {
		session := fmt.Sprintf("busy %d", m.n.Add(1))
		wg.Go(func() {
			var took []time.Duration
			var err error
			for err == nil && time.Since(start) < length {
				at := time.Now()
				err = call(ctx, session)
				took = append(took, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	total := time.Since(start)
	slices.Sort(all)
	return all, total, failed
}

// share is the time below which the share of a sorted list lies, in milliseconds.
func share(list []time.Duration, part float64) float64 {
	return float64(list[min(len(list)-1, int(float64(len(list))*part))].Microseconds()) / 1000
}

// ask searches one owner's memories with queries of twelve words and tells the times at the client and, as the server
// says them, inside it. The first search loads the owner's index and is told apart.
func ask(ctx context.Context, c *client, user string, queries int, out io.Writer) error {
	say := newSpeech(11)
	var atClient, inServer []time.Duration
	var first time.Duration
	for n := range queries + 1 {
		var answer struct {
			Took float64 `json:"took_ms"`
		}
		start := time.Now()
		if err := c.post(ctx, "/v1/search", map[string]any{"user": user, "query": say.sentence(12), "min_score": 0}, &answer); err != nil {
			return err
		}
		if n == 0 {
			first = time.Since(start)
			continue
		}
		atClient = append(atClient, time.Since(start))
		inServer = append(inServer, time.Duration(answer.Took*float64(time.Millisecond)))
	}
	slices.Sort(atClient)
	slices.Sort(inServer)
	_, err := fmt.Fprintf(out, "search of %s: server p50 %.2f ms, p99 %.2f ms; client p50 %.2f ms, p99 %.2f ms; first %.1f ms (%d queries)\n",
		user, share(inServer, .5), share(inServer, .99), share(atClient, .5), share(atClient, .99), float64(first.Microseconds())/1000, queries)
	return err
}
