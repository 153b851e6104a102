package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// persistent is a client that sends each of its requests under a key of its own until it is answered, however often
// the server dies meanwhile.
type persistent struct {
	number  int
	step    int
	pending bool // the step was sent and not answered
	answers []string
}

// A server that is killed again and again: a client that repeats what was not answered, under the same key, has each
// request done once, and is told the same whenever it asks again.
func TestKillAndRepeat(t *testing.T) {
	const rounds, clients = 6, 8
	data := t.TempDir()
	list := make([]*persistent, clients)
	for i := range list {
		list[i] = &persistent{number: i}
	}
	repeated := 0
	for range rounds {
		d := start(t, data, nil)
		for _, p := range list {
			if p.pending {
				repeated++
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var (
			wg      sync.WaitGroup
			done    atomic.Int64
			enough  = make(chan struct{})
			once    sync.Once
			wanted  = 20 + rand.Int64N(100)
			stopped = make(chan struct{})
		)
		for _, p := range list {
			wg.Go(func() {
				for ctx.Err() == nil {
					if err := p.send(t, d.url, p.step); err != nil {
						return
					}
					p.step++
					if done.Add(1) >= wanted {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		go func() { wg.Wait(); close(stopped) }()
		select {
		case <-enough:
		case <-stopped:
			t.Error("the clients stopped before the kill")
		}
		d.kill()
		cancel()
		<-stopped
	}
	d := start(t, data, nil)
	total := 0
	for _, p := range list {
		for step := range p.step {
			if err := p.send(t, d.url, step); err != nil { // all over again
				t.Fatal(err)
			}
		}
		total += p.step
		if p.pending {
			if err := p.send(t, d.url, p.step); err != nil {
				t.Fatal(err)
			}
			p.step++
		}
		_, head := d.ask("GET", fmt.Sprintf("/v1/sessions/chat-%d", p.number), nil)
		if want := float64(2 * p.step); head["last_seq"] != want {
			t.Errorf("client %d: last_seq %v after %d requests, want %v", p.number, head["last_seq"], p.step, want)
		}
	}
	d.stop()
	integrity(t, data)
	t.Logf("%d requests over %d kills, %d of them repeated behind a kill", total, rounds, repeated)
}

// send sends a step, and demands the answer that it had before, where it had one. The words are the same each time, so
// that only the key tells a repetition.
func (p *persistent) send(t *testing.T, base string, step int) error {
	p.pending = p.pending || step == p.step
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"ok"},{"role":"assistant","content":"ok, client %d"}]}`, p.number)
	req, err := http.NewRequest("POST", fmt.Sprintf("%s/v1/sessions/chat-%d/messages", base, p.number), bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("client %d step %d", p.number, step))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusCreated || !json.Valid(raw) {
		t.Errorf("client %d step %d: %d %s", p.number, step, res.StatusCode, raw)
		return io.ErrUnexpectedEOF
	}
	if step < len(p.answers) {
		if string(raw) != p.answers[step] || res.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("client %d step %d: told %s, then %s", p.number, step, p.answers[step], raw)
		}
		return nil
	}
	p.pending, p.answers = false, append(p.answers, string(raw))
	return nil
}
