package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client speaks REST to one server.
type client struct {
	server string
	key    string
	http   *http.Client
}

func newClient(server, key string) *client {
	// One connection for each of many clients at most: the default of two idle ones would dial again and again.
	t := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	return &client{server: strings.TrimRight(server, "/"), key: key, http: &http.Client{Transport: t, Timeout: 2 * time.Minute}}
}

// post sends body as JSON and reads the answer into out.
func (c *client) post(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s: %s", path, resp.Status, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
