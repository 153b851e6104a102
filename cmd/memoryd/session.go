package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"memoryd"
)

func sessionCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "session", Short: "Conversations and their messages", RunE: group, Args: cobra.ArbitraryArgs}
	cl := clientFlags(c, sys)
	c.AddCommand(sessionAppend(cl), sessionShow(cl), sessionList(cl), sessionDelete(cl))
	return c
}

// appendChunk is how many messages go in one request: whole messages, so that a refused one names its line.
const appendChunk = 100

func sessionAppend(cl *client) *cobra.Command {
	var role, name, user, agent, group string
	c := &cobra.Command{
		Use:   "append ID [TEXT]",
		Short: "Store messages; the session is created when it is missing",
		Long: "Store TEXT as one message, or the messages on standard input: one JSON object a line, such as\n" +
			`  {"role":"user","content":"hello"}`,
		Args: args(1, 2, "an ID, and a TEXT or messages on standard input"),
	}
	f := c.Flags()
	f.StringVar(&role, "role", string(memoryd.RoleUser), "who speaks: system, user, assistant or tool")
	f.StringVar(&name, "name", "", "the speaker's name")
	f.StringVar(&user, "user", "", "whose session it is")
	f.StringVar(&agent, "agent", "", "the session's agent")
	f.StringVar(&group, "group", "", "the session's group")
	c.RunE = func(c *cobra.Command, args []string) error {
		target, err := idPath("/v1/sessions/%s/messages", args[0])
		if err != nil {
			return err
		}
		shared := fields{}
		shared.text("user", user)
		shared.text("agent", agent)
		shared.text("group", group)
		if len(args) == 2 {
			m := fields{"role": role, "content": args[1]}
			m.text("name", name)
			return cl.appendMessages(c.Context(), target, shared, []any{m})
		}
		return cl.appendLines(c.Context(), target, shared)
	}
	return c
}

func (cl *client) appendLines(ctx context.Context, target string, shared fields) error {
	in := bufio.NewReader(cl.sys.in)
	var chunk []any
	sent := false
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("standard input: %w", err)
		}
		last := err != nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if !json.Valid(text) || text[0] != '{' {
				return usagef("standard input, line %d: want one JSON object a line", number)
			}
			chunk = append(chunk, json.RawMessage(text))
		}
		if len(chunk) == appendChunk || last && len(chunk) > 0 {
			if err := cl.appendMessages(ctx, target, shared, chunk); err != nil {
				return fmt.Errorf("standard input, before line %d: %w", number+1, err)
			}
			chunk, sent = nil, true
		}
		if last && !sent {
			return usagef("standard input holds no message; give a TEXT, or one JSON object a line")
		}
		if last {
			return nil
		}
	}
}

func (cl *client) appendMessages(ctx context.Context, target string, shared fields, list []any) error {
	body := fields{"messages": list}
	for k, v := range shared {
		body[k] = v
	}
	answer, err := cl.call(ctx, http.MethodPost, target, nil, body)
	if err != nil {
		return err
	}
	var out struct {
		Items []struct {
			ID        string `json:"id"`
			Seq       *int64 `json:"seq"`
			Duplicate bool   `json:"duplicate"`
			Dropped   bool   `json:"dropped"`
		} `json:"items"`
	}
	return cl.show(answer, &out, func(w io.Writer) {
		for _, item := range out.Items {
			switch {
			case item.Dropped || item.Seq == nil:
				fmt.Fprintln(w, "dropped: a child agent's message that is not chat")
			case item.Duplicate:
				fmt.Fprintf(w, "%d %s duplicate\n", *item.Seq, line(item.ID))
			default:
				fmt.Fprintf(w, "%d %s\n", *item.Seq, line(item.ID))
			}
		}
	})
}

func sessionShow(cl *client) *cobra.Command {
	var limit int
	var window bool
	var cursor string
	c := &cobra.Command{Use: "show ID", Short: "Show a session's newest messages, oldest first", Args: args(1, 1, "one ID")}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	c.Flags().BoolVar(&window, "window", false, "as a context would hold them")
	c.Flags().StringVar(&cursor, "cursor", "", "go further back, where the last page ended")
	c.RunE = func(c *cobra.Command, args []string) error {
		target, err := idPath("/v1/sessions/%s/messages", args[0])
		if err != nil {
			return err
		}
		query := params{}
		query.number("limit", limit)
		query.text("cursor", cursor)
		if window {
			query.text("window", "true")
		}
		answer, err := cl.call(c.Context(), http.MethodGet, target, url.Values(query), nil)
		if err != nil {
			return err
		}
		var out struct {
			Items []memoryd.Message `json:"items"`
		}
		return cl.show(answer, &out, func(w io.Writer) {
			for _, m := range out.Items {
				speaker := string(m.Role)
				if m.Name != "" {
					speaker += " (" + m.Name + ")"
				}
				fmt.Fprintf(w, "%d  %s  %s: %s\n", m.Seq, m.Time.Format(time.RFC3339), line(speaker), line(contentText(m.Content)))
			}
		})
	}
	return c
}

func sessionList(cl *client) *cobra.Command {
	var user, agent, state, cursor string
	var limit int
	c := &cobra.Command{Use: "list", Short: "List sessions, newest first", Args: args(0, 0, "no words")}
	f := c.Flags()
	f.StringVar(&user, "user", "", "whose")
	f.StringVar(&agent, "agent", "", "only this agent's")
	f.StringVar(&state, "state", "", "open, ending or ended")
	f.IntVar(&limit, "limit", 0, "how many at most (50)")
	f.StringVar(&cursor, "cursor", "", "go on where the last page ended")
	c.RunE = func(c *cobra.Command, _ []string) error {
		query := params{}
		query.text("user", user)
		query.text("agent", agent)
		query.text("state", state)
		query.text("cursor", cursor)
		query.number("limit", limit)
		answer, err := cl.call(c.Context(), http.MethodGet, "/v1/sessions", url.Values(query), nil)
		if err != nil {
			return err
		}
		var out struct {
			Items []memoryd.Session `json:"items"`
		}
		return cl.show(answer, &out, func(w io.Writer) {
			for _, s := range out.Items {
				fmt.Fprintf(w, "%s  %s  user %s  %d messages  %s\n", line(s.ID), s.State, line(s.User), s.LastSeq, s.Updated.Format(time.RFC3339))
			}
		})
	}
	return c
}

func sessionDelete(cl *client) *cobra.Command {
	return &cobra.Command{Use: "delete ID", Short: "Delete a session and its messages", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			target, err := idPath("/v1/sessions/%s", args[0])
			if err != nil {
				return err
			}
			answer, err := cl.call(c.Context(), http.MethodDelete, target, nil, nil)
			if err != nil {
				return err
			}
			var out struct {
				Messages int64 `json:"messages"`
			}
			return cl.show(answer, &out, func(w io.Writer) { fmt.Fprintf(w, "deleted, %d messages\n", out.Messages) })
		}}
}
