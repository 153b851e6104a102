package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// changer is a writer that changes one thing over and over: a memory (patched, deleted, restored) or a session (filled
// and deleted). What it was last told, and what it asked for since, are the only states that may be found.
type changer struct {
	k       *killer
	owner   string
	path    string   // of the thing, "" before it is made
	told    string   // the state that was acknowledged
	allowed []string // states that are as good: an answer was cut off
}

// step asks for the next state and notes that it may be there, whether or not the answer comes.
func (c *changer) step(next, method, path string, body any, want int) (map[string]any, error) {
	c.allowed = append(c.allowed, next)
	status, answer, err := request(c.k.base, method, path, body)
	if err != nil {
		return nil, err
	}
	if status != want {
		c.k.t.Errorf("%s %s: %d %v", method, path, status, answer)
		return nil, io.EOF
	}
	c.told, c.allowed = next, nil
	return answer, nil
}

// memory makes the memory where there is none yet, and then changes, deletes and restores it.
func (c *changer) memory(tag string, done acknowledge) error {
	if c.path == "" {
		answer, err := c.step("active "+tag, "POST", "/v1/memories", map[string]any{"user": c.owner, "scope": "global", "text": tag}, http.StatusCreated)
		if err != nil {
			return err
		}
		c.path = "/v1/memories/" + answer["memory"].(map[string]any)["id"].(string)
	}
	// After a kill it may lie deleted.
	if _, err := c.settle(); err != nil {
		return err
	}
	for _, s := range []struct {
		next, method, path string
		body               any
	}{
		{"active " + tag + "!", "PATCH", c.path, map[string]any{"text": tag + "!"}},
		{"archived " + tag + "!", "DELETE", c.path, nil},
		{"active " + tag + "!", "POST", c.path + "/restore", map[string]any{}},
	} {
		if _, err := c.step(s.next, s.method, s.path, s.body, http.StatusOK); err != nil {
			return err
		}
		done(c.k.changes, c.owner, map[string]string{c.path: tag})
	}
	return nil
}

// settle restores the memory when a kill left it deleted.
func (c *changer) settle() (string, error) {
	_, answer, err := request(c.k.base, "GET", c.path, nil)
	if err != nil {
		return "", err
	}
	state := fmt.Sprint(answer["status"], " ", answer["text"])
	if answer["status"] == "archived" {
		_, err = c.step(fmt.Sprint("active ", answer["text"]), "POST", c.path+"/restore", map[string]any{}, http.StatusOK)
	}
	return state, err
}

// session fills a session and deletes it.
func (c *changer) session(tag string, done acknowledge) error {
	c.path = "/v1/sessions/gone-" + c.owner
	list := []any{map[string]any{"role": "user", "content": tag}}
	if _, err := c.step("there", "POST", c.path+"/messages", map[string]any{"user": c.owner, "messages": list}, http.StatusCreated); err != nil {
		return err
	}
	if _, err := c.step("gone", "DELETE", c.path, nil, http.StatusOK); err != nil {
		return err
	}
	done(c.k.changes, c.owner, map[string]string{c.path: tag})
	return nil
}

// check compares what is there with what may be. A memory whose first answer was cut off cannot be named; the writer
// begins again.
func (c *changer) check() {
	if c.path == "" {
		c.allowed = nil
		return
	}
	status, answer, err := request(c.k.base, "GET", c.path, nil)
	if err != nil {
		c.k.t.Fatal(err)
	}
	state := fmt.Sprint(answer["status"], " ", answer["text"])
	switch {
	case answer["last_seq"] != nil:
		state = "there"
	case status == http.StatusNotFound:
		state = "gone"
	}
	if state != c.told && !slices.Contains(c.allowed, state) {
		c.k.t.Errorf("%s is %q, acknowledged was %q, asked for since %q", c.path, state, c.told, c.allowed)
	}
	c.told, c.allowed = state, nil
}
