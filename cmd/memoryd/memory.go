package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"memoryd"
)

func memoryCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "memory", Short: "Read and change single memories", RunE: group, Args: cobra.ArbitraryArgs}
	cl := clientFlags(c, sys)
	c.AddCommand(
		memoryGet(cl), memoryList(cl), memorySet(cl), memoryHistory(cl),
		memoryAct(cl, "rm ID", "Delete a memory; it can be restored", http.MethodDelete, "/v1/memories/%s"),
		memoryAct(cl, "restore ID", "Make a deleted memory active again", http.MethodPost, "/v1/memories/%s/restore"),
	)
	return c
}

// memoryAnswer is an answer that is a memory, or that holds one.
type memoryAnswer struct {
	memoryd.Memory
	Inside *memoryd.Memory `json:"memory"`
}

func (a memoryAnswer) memory() memoryd.Memory {
	if a.Inside != nil {
		return *a.Inside
	}
	return a.Memory
}

func printMemory(w io.Writer, m memoryd.Memory) {
	fmt.Fprintf(w, "%s  %s  %s  %s  trust %s  version %d  %s\n%s\n", m.ID, m.Status, line(string(m.Scope)), m.Type, m.Trust,
		m.Version, m.Recorded.Format(time.RFC3339), plain(m.Text))
}

func memoryGet(cl *client) *cobra.Command {
	return memoryAct(cl, "get ID", "Show a memory", http.MethodGet, "/v1/memories/%s")
}

func memoryAct(cl *client, use, short, method, path string) *cobra.Command {
	var user string
	c := &cobra.Command{Use: use, Short: short, Args: args(1, 1, "one ID")}
	c.Flags().StringVar(&user, "user", "", "user that it must belong to")
	c.RunE = func(c *cobra.Command, args []string) error {
		target, err := idPath(path, args[0])
		if err != nil {
			return err
		}
		query, body := params{}, any(nil)
		if method == http.MethodPost {
			// Only in a body is a POST asked whose it is.
			who := fields{}
			who.text("user", user)
			body = who
		} else {
			query.text("user", user)
		}
		answer, err := cl.call(c.Context(), method, target, url.Values(query), body)
		if err != nil {
			return err
		}
		var out memoryAnswer
		return cl.show(answer, &out, func(w io.Writer) { printMemory(w, out.memory()) })
	}
	return c
}

func memoryList(cl *client) *cobra.Command {
	var user, agent, scope, kind, status, contains, sort, cursor string
	var limit int
	c := &cobra.Command{Use: "list", Short: "List memories, newest first", Args: args(0, 0, "no words")}
	f := c.Flags()
	f.StringVar(&user, "user", "", "whose")
	f.StringVar(&agent, "agent", "", "only what this agent wrote")
	f.StringVar(&scope, "scope", "", "only this scope")
	f.StringVar(&kind, "type", "", "only this type")
	f.StringVar(&status, "status", "", "active, quarantined, superseded or archived")
	f.StringVar(&contains, "contains", "", "only texts that hold this, letter by letter")
	f.StringVar(&sort, "sort", "", "recorded, last_used or importance")
	f.IntVar(&limit, "limit", 0, "how many at most (50)")
	f.StringVar(&cursor, "cursor", "", "go on where the last page ended")
	c.RunE = func(c *cobra.Command, _ []string) error {
		query := params{}
		for name, value := range map[string]string{
			"user": user, "agent": agent, "scope": scope, "type": kind, "status": status, "q": contains, "sort": sort, "cursor": cursor,
		} {
			query.text(name, value)
		}
		query.number("limit", limit)
		answer, err := cl.call(c.Context(), http.MethodGet, "/v1/memories", url.Values(query), nil)
		if err != nil {
			return err
		}
		var out struct {
			Items []memoryd.Memory `json:"items"`
		}
		return cl.show(answer, &out, func(w io.Writer) {
			for _, m := range out.Items {
				fmt.Fprintf(w, "%s  %-8s  %-10s  %s\n", m.ID, line(string(m.Scope)), m.Type, line(m.Text))
			}
		})
	}
	return c
}

// setting is the flags of memory set.
type setting struct {
	text, kind, expires, metadata string
	labels                        []string
	noLabels                      bool
	version                       int64
}

func memorySet(cl *client) *cobra.Command {
	var s setting
	c := &cobra.Command{Use: "set ID", Short: "Change a memory", Args: args(1, 1, "one ID")}
	f := c.Flags()
	f.StringVar(&s.text, "text", "", "new text")
	f.StringVar(&s.kind, "type", "", "new type")
	f.StringVar(&s.expires, "expires", "", "a duration, a time, or never")
	f.StringArrayVar(&s.labels, "label", nil, "NAME=VALUE, may be given again; replaces all labels")
	f.BoolVar(&s.noLabels, "no-labels", false, "take all labels away")
	f.StringVar(&s.metadata, "metadata", "", "a JSON object; replaces the metadata")
	f.Int64Var(&s.version, "version", 0, "refuse when the memory has another version")
	c.RunE = func(c *cobra.Command, args []string) error {
		target, err := idPath("/v1/memories/%s", args[0])
		if err != nil {
			return err
		}
		if c.Flags().Changed("text") && s.text == "" {
			return usagef("--text: a text cannot be empty (memoryd memory rm deletes the memory)")
		}
		body, err := s.body()
		if err != nil {
			return err
		}
		var headers []string
		if s.version != 0 {
			headers = []string{"If-Match", `"` + strconv.FormatInt(s.version, 10) + `"`}
		}
		answer, err := cl.call(c.Context(), http.MethodPatch, target, nil, body, headers...)
		if err != nil {
			return err
		}
		var out memoryAnswer
		return cl.show(answer, &out, func(w io.Writer) { printMemory(w, out.memory()) })
	}
	return c
}

func (s setting) body() (fields, error) {
	body := fields{}
	body.text("text", s.text)
	body.text("type", s.kind)
	if err := body.labels(s.labels); err != nil {
		return nil, err
	}
	if s.noLabels {
		if len(s.labels) > 0 {
			return nil, usagef("--label and --no-labels exclude each other")
		}
		body["labels"] = fields{}
	}
	if s.metadata != "" {
		if !json.Valid([]byte(s.metadata)) {
			return nil, usagef("--metadata takes a JSON object")
		}
		body["metadata"] = json.RawMessage(s.metadata)
	}
	if s.expires == "never" {
		body["expires"] = nil
	} else if s.expires != "" {
		t, err := moment("expires", s.expires, time.Now())
		if err != nil {
			return nil, err
		}
		body["expires"] = t
	}
	if len(body) == 0 {
		return nil, usagef("nothing to change (see memoryd memory set --help)")
	}
	return body, nil
}

func memoryHistory(cl *client) *cobra.Command {
	return &cobra.Command{Use: "history ID", Short: "Show what a memory was before", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			target, err := idPath("/v1/memories/%s/history", args[0])
			if err != nil {
				return err
			}
			answer, err := cl.call(c.Context(), http.MethodGet, target, nil, nil)
			if err != nil {
				return err
			}
			var out struct {
				Items []memoryd.Version `json:"items"`
			}
			return cl.show(answer, &out, func(w io.Writer) {
				for _, v := range out.Items {
					until := "now"
					if v.ReplacedBy != "" {
						until = "until " + v.ReplacedAt.Format(time.RFC3339) + " (" + line(v.ReplacedBy) + ")"
					}
					fmt.Fprintf(w, "%d  %s  %s  %s\n", v.Version, until, v.Status, line(v.Text))
				}
			})
		}}
}
