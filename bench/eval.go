package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// row is one line of turns.jsonl: what somebody said or, without a speaker, a statement.
type row struct {
	Conversation string    `json:"conversation"`
	Session      int       `json:"session"`
	Time         time.Time `json:"time"`
	ID           string    `json:"id"`
	Speaker      string    `json:"speaker"`
	Text         string    `json:"text"`
	Image        string    `json:"image"`
}

// content is the row's text with the caption of its picture.
func (r row) content() string {
	if r.Image == "" {
		return r.Text
	}
	return r.Text + " [image: " + r.Image + "]"
}

type question struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
}

// result is one hit in a run: the rows it came from, and the text that the server returned.
type result struct {
	IDs  []string `json:"ids"`
	Text string   `json:"text"`
}

type answer struct {
	ID      string   `json:"id"`
	MS      float64  `json:"ms"`
	Results []result `json:"results"`
}

// evaluation is one set in one server. Each run has users of its own, so that a second one does not see the first.
type evaluation struct {
	*client
	run    string
	source map[string][]string // memory → rows that were stored as it
	stats  struct{ messages, memories, duplicates, quarantined int }
}

// eval loads the set into the server, asks all its questions and writes the run.
func eval(ctx context.Context, c *client, set, file string, progress io.Writer) error {
	rows, err := read[row](filepath.Join(set, "turns.jsonl"))
	if err != nil {
		return err
	}
	questions, err := read[question](filepath.Join(set, "questions.jsonl"))
	if err != nil {
		return err
	}
	e := &evaluation{client: c, run: rand.Text()[:10], source: map[string][]string{}}
	start := time.Now()
	if err := e.load(ctx, rows); err != nil {
		return err
	}
	fmt.Fprintf(progress, "loaded %d messages and %d memories (%d duplicates, %d quarantined) in %.1f s\n",
		e.stats.messages, e.stats.memories, e.stats.duplicates, e.stats.quarantined, time.Since(start).Seconds())
	start = time.Now()
	answers := make([]answer, 0, len(questions))
	for _, q := range questions {
		a, err := e.ask(ctx, q)
		if err != nil {
			return fmt.Errorf("question %s: %w", q.ID, err)
		}
		answers = append(answers, a)
	}
	fmt.Fprintf(progress, "asked %d questions in %.1f s\n", len(questions), time.Since(start).Seconds())
	return write(file, answers)
}

// ask searches memories and turns, whatever their score: score.py looks at the order.
func (e *evaluation) ask(ctx context.Context, q question) (answer, error) {
	body := map[string]any{
		"query": q.Question, "user": e.user(q.Conversation), "limit": 100, "min_score": 0, "include": []string{"memory", "turn"},
	}
	var found struct {
		Items []struct {
			Kind    string          `json:"kind"`
			ID      string          `json:"id"`
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
			Sources []string        `json:"source_message_ids"`
		} `json:"items"`
		Degraded []json.RawMessage `json:"degraded"`
	}
	start := time.Now()
	if err := e.post(ctx, "/v1/search", body, &found); err != nil {
		return answer{}, err
	}
	a := answer{ID: q.ID, MS: float64(time.Since(start).Microseconds()) / 1000, Results: []result{}}
	if len(found.Degraded) > 0 {
		return answer{}, fmt.Errorf("the search was degraded: %s", found.Degraded)
	}
	for _, h := range found.Items {
		if h.Kind == "turn" {
			a.Results = append(a.Results, result{IDs: []string{h.ID}, Text: words(h.Content)})
			continue
		}
		ids := append(append([]string{}, e.source[h.ID]...), h.Sources...)
		a.Results = append(a.Results, result{IDs: ids, Text: h.Text})
	}
	return a, nil
}

// words is the text of a message's content: a string, or a list of parts.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	for i, p := range parts {
		if i > 0 {
			text += "\n"
		}
		text += p.Text
	}
	return text
}

// user is whose memory a conversation is.
func (e *evaluation) user(conversation string) string { return conversation + " " + e.run }

// read reads a file of JSON lines.
func read[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, entry %d: %w", file, len(out)+1, err)
		}
		out = append(out, v)
	}
}

func write(file string, answers []answer) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, a := range answers {
		if err = e.Encode(a); err != nil {
			break
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}
