package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// load counts durable adds over HTTP: with many clients side by side, then with one. It answers a line of figures.
func load(ctx context.Context, server, key string, clients int, length time.Duration) (string, error) {
	run := rand.Text()[:10]
	many, took, err := adds(ctx, server, key, run+"-many", clients, length)
	if err != nil {
		return "", err
	}
	one, _, err := adds(ctx, server, key, run+"-one", 1, length)
	if err != nil {
		return "", err
	}
	ms := func(list []time.Duration, share float64) float64 {
		return float64(list[min(len(list)-1, int(float64(len(list))*share))].Microseconds()) / 1000
	}
	return fmt.Sprintf("durable adds: %d clients %.0f/s (%d adds, p50 %.2f ms, p99 %.2f ms); 1 client p50 %.2f ms, p99 %.2f ms (%d adds); %s/%s, %d CPUs",
		clients, float64(len(many))/took.Seconds(), len(many), ms(many, .5), ms(many, .99), ms(one, .5), ms(one, .99), len(one),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), nil
}

// adds has the clients add memories, each its own texts to its own user, and answers how long each add took, sorted.
func adds(ctx context.Context, server, key, run string, clients int, length time.Duration) ([]time.Duration, time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wg sync.WaitGroup
	c := newClient(server, key)
	start := time.Now()
	for i := range clients {
		wg.Go(func() {
			took, err := addUntil(ctx, c, fmt.Sprintf("%s-%d", run, i), start.Add(length))
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
	c.http.CloseIdleConnections()
	if failed == nil && len(all) == 0 {
		failed = fmt.Errorf("no add came back within %s", length)
	}
	slices.Sort(all)
	return all, total, failed
}

func addUntil(ctx context.Context, c *client, user string, end time.Time) ([]time.Duration, error) {
	var took []time.Duration
	for n := 0; ; n++ {
		start := time.Now()
		if !start.Before(end) {
			return took, nil
		}
		body := map[string]any{
			"user": user, "scope": "global",
			"text": fmt.Sprintf("Order %d of %s goes to the side door and is signed for by the shift lead.", n, user),
		}
		var out struct {
			State string `json:"state"`
		}
		if err := c.post(ctx, "/v1/memories", body, &out); err != nil {
			return took, err
		}
		if out.State != "stored" {
			return took, fmt.Errorf("an add was answered with %q", out.State)
		}
		took = append(took, time.Since(start))
	}
}
