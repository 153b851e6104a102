package server

import (
	"sync"
	"time"

	"memoryd"
)

// Rate is how often one key may ask.
type Rate struct {
	PerSecond float64 // 0 is no limit
	Burst     int     // how many at once after a pause; at least 1
}

// meter holds each key to its rate: a bucket of Burst tokens that fills up at PerSecond. A bucket is kept as the time
// at which it is full again, so that a full one is as none and can be let go of.
type meter struct {
	now   func() time.Time
	every time.Duration // what one token takes
	depth time.Duration // what an empty bucket takes

	mu    sync.Mutex
	full  map[string]time.Time // by key
	swept time.Time
}

func newMeter(r Rate, now func() time.Time) *meter {
	m := &meter{now: now, full: map[string]time.Time{}}
	if r.PerSecond > 0 {
		m.every = max(time.Duration(float64(time.Second)/r.PerSecond), 1)
		m.depth = m.every * time.Duration(max(r.Burst, 1))
	}
	return m
}

// take takes a token of the key's, or says when there will be one.
func (m *meter) take(key string) error {
	if m.every == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.sweep(now)
	full := m.full[key]
	switch latest := now.Add(m.depth); {
	case full.Before(now):
		full = now
	case full.After(latest):
		// The clock was set back, which must not shut anybody out for as long.
		full = latest
		m.full[key] = full
	}
	full = full.Add(m.every)
	if wait := full.Sub(now) - m.depth; wait > 0 {
		return &memoryd.Error{Code: memoryd.Exhausted, Slug: "rate", Detail: "this key asks more often than auth.rate lets it", RetryAfter: wait}
	}
	m.full[key] = full
	return nil
}

// sweep lets go of full buckets, once in the time that the emptiest takes to fill up.
func (m *meter) sweep(now time.Time) {
	if since := now.Sub(m.swept); since >= 0 && since < m.depth {
		return
	}
	m.swept = now
	for key, full := range m.full {
		if !full.After(now) {
			delete(m.full, key)
		}
	}
}
