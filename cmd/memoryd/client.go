package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"memoryd"
)

// client speaks REST for the client commands.
type client struct {
	sys    system
	server string
	key    string
	json   bool
}

// clientFlags gives a command, and those below it, the flags that every client command has.
func clientFlags(c *cobra.Command, sys system) *client {
	cl := &client{sys: sys}
	f := c.PersistentFlags()
	f.StringVar(&cl.server, "server", "", "address of the server (MEMORYD_URL, else http://127.0.0.1:7788)")
	f.StringVar(&cl.key, "key", "", "key to send (MEMORYD_KEY)")
	f.BoolVar(&cl.json, "json", false, "print the server's JSON")
	return cl
}

func (cl *client) setting(flag, variable, otherwise string) string {
	if flag != "" {
		return flag
	}
	if value, _ := cl.sys.env(variable); value != "" {
		return value
	}
	return otherwise
}

// address is where the server is. What a request would lose on its way (a query, a password) is refused.
func (cl *client) address() (*url.URL, error) {
	base, err := url.Parse(cl.setting(cl.server, "MEMORYD_URL", "http://127.0.0.1:7788"))
	bad := err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" ||
		base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != ""
	if !bad && base.Port() != "" {
		port, err := strconv.ParseUint(base.Port(), 10, 16)
		bad = err != nil || port == 0
	}
	if bad {
		return nil, usagef("the server's address (--server or MEMORYD_URL) must be a URL such as http://127.0.0.1:7788")
	}
	return base, nil
}

// call sends one request and answers the body of its 2xx answer.
func (cl *client) call(ctx context.Context, method, path string, query url.Values, body any, headers ...string) ([]byte, error) {
	base, err := cl.address()
	if err != nil {
		return nil, err
	}
	key := cl.setting(cl.key, "MEMORYD_KEY", "")
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usagef("the key (--key or MEMORYD_KEY) holds something that no key holds: a space, a line end or the like")
	}
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
		payload = bytes.NewReader(text)
	}
	target := strings.TrimRight(base.String(), "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, payload)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(req, base.Scheme+"://"+base.Host)
}

func send(req *http.Request, server string) ([]byte, error) {
	resp, err := (&http.Client{Timeout: 2 * time.Minute}).Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return nil, &failure{exitUnavailable, fmt.Errorf("no server answers at %s (start one: memoryd serve; elsewhere: --server or MEMORYD_URL)", server)}
		}
		return nil, &failure{exitUnavailable, fmt.Errorf("request: %w", errors.Unwrap(err))}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, &failure{exitUnavailable, fmt.Errorf("answer: %w", err)}
	}
	if resp.StatusCode >= 300 {
		return nil, problem(resp.StatusCode, resp.Status, body)
	}
	return body, nil
}

// problem turns an answer that is not 2xx into an error with its exit code.
func problem(status int, line string, body []byte) error {
	var p struct {
		Detail string          `json:"detail"`
		Title  string          `json:"title"`
		Fields []memoryd.Field `json:"fields"`
	}
	text := "the server answered " + line
	if json.Unmarshal(body, &p) == nil && p.Detail+p.Title != "" {
		if text = p.Detail; text == "" {
			text = p.Title
		}
		for _, f := range p.Fields {
			if told := f.Path + ": " + f.Message; told != text {
				text += "\n  " + told
			}
		}
	}
	code := exitError
	switch status {
	case http.StatusUnauthorized:
		text += "\n  give a key with --key or MEMORYD_KEY"
		code = exitDenied
	case http.StatusForbidden:
		code = exitDenied
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = exitUnavailable
	}
	return &failure{code, &refused{status, plain(text)}}
}

// refused is an answer that is not 2xx, in the server's words.
type refused struct {
	status int
	text   string
}

func (r *refused) Error() string { return r.text }

// isMissing says whether the server answered that there is no such thing.
func isMissing(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// show prints an answer: as it is with --json, else decoded into out and told by print.
func (cl *client) show(body []byte, out any, print func(w io.Writer)) error {
	if cl.json {
		_, err := fmt.Fprintln(cl.sys.out, strings.TrimSpace(string(body)))
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	var text strings.Builder
	print(&text)
	if _, err := io.WriteString(cl.sys.out, text.String()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	cl.remarks(body)
	return nil
}

// remarks tells on stderr what an answer's notes and degraded say, and how to get the next page.
func (cl *client) remarks(body []byte) {
	var said struct {
		Notes      []string           `json:"notes"`
		Degraded   []memoryd.Degraded `json:"degraded"`
		NextCursor string             `json:"next_cursor"`
	}
	if json.Unmarshal(body, &said) != nil {
		return
	}
	if len(said.Notes) > 0 {
		fmt.Fprintln(cl.sys.err, "notes: "+plain(strings.Join(said.Notes, ", ")))
	}
	for _, d := range said.Degraded {
		fmt.Fprintln(cl.sys.err, "degraded: "+plain(d.Part+" ("+d.Reason+")"))
	}
	if said.NextCursor != "" {
		fmt.Fprintln(cl.sys.err, "more: --cursor "+plain(said.NextCursor))
	}
}

// idPath is a path whose %s are ids, escaped. "." and ".." would be cut out of a path, so they never leave.
func idPath(format string, ids ...string) (string, error) {
	list := make([]any, len(ids))
	for i, id := range ids {
		if memoryd.CheckID("id", id) != nil {
			return "", usagef("%q is not an id", id)
		}
		list[i] = url.PathEscape(id)
	}
	return fmt.Sprintf(format, list...), nil
}

// plain takes out what could drive a terminal: stored texts are other people's.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// line is plain on one line.
func line(text string) string {
	return strings.ReplaceAll(plain(text), "\n", " ⏎ ")
}

// contentText is the words of a message's content: a string, or a list of parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	var list []string
	if json.Unmarshal(content, &parts) == nil {
		for _, p := range parts {
			if p.Text != "" {
				list = append(list, p.Text)
			}
		}
	}
	return strings.Join(list, " ")
}

// fields is a request body without what was not given.
type fields map[string]any

func (f fields) text(name, value string) {
	if value != "" {
		f[name] = value
	}
}

func (f fields) list(name string, values []string) {
	if len(values) > 0 {
		f[name] = values
	}
}

// labels reads k=v pairs.
func (f fields) labels(pairs []string) error {
	if len(pairs) == 0 {
		return nil
	}
	labels := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return usagef("--label takes NAME=VALUE")
		}
		labels[k] = v
	}
	f["labels"] = labels
	return nil
}

// params is a query string without what was not given.
type params url.Values

func (p params) text(name, value string) {
	if value != "" {
		url.Values(p).Set(name, value)
	}
}

func (p params) number(name string, value int) {
	if value != 0 {
		url.Values(p).Set(name, fmt.Sprint(value))
	}
}

// moment reads a time: RFC 3339, or a duration from now on.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--%s takes a duration such as 720h, or a time such as 2030-01-31T00:00:00Z", flag)
	}
	return t, nil
}
