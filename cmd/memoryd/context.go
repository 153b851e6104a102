package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

func contextCommand(sys system) *cobra.Command {
	var session, user, agent, group string
	var rounds, tokens int
	c := &cobra.Command{
		Use:   "context QUERY",
		Short: "Show what belongs before a model request",
		Args:  args(1, 1, "one QUERY"),
	}
	cl := clientFlags(c, sys)
	f := c.Flags()
	f.StringVar(&session, "session", "", "session whose newest messages belong to it")
	f.StringVar(&user, "user", "", "whose memories")
	f.StringVar(&agent, "agent", "", "agent that asks")
	f.StringVar(&group, "group", "", "group that the question belongs to")
	f.IntVar(&rounds, "rounds", 0, "rounds of the session at most")
	f.IntVar(&tokens, "tokens", 0, "tokens of long-term memory at most")
	c.RunE = func(c *cobra.Command, args []string) error {
		body := fields{"query": args[0]}
		body.text("session", session)
		body.text("user", user)
		body.text("agent", agent)
		body.text("group", group)
		if c.Flags().Changed("rounds") {
			body["rounds"] = rounds
		}
		if c.Flags().Changed("tokens") {
			body["memory_tokens"] = tokens
		}
		answer, err := cl.call(c.Context(), http.MethodPost, "/v1/context", nil, body)
		if err != nil {
			return err
		}
		var out contextAnswer
		return cl.show(answer, &out, func(w io.Writer) { out.print(w, sys.err) })
	}
	return c
}

type contextAnswer struct {
	Messages []struct {
		Role    string          `json:"role"`
		Name    string          `json:"name"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Rendered string `json:"rendered"`
	Tokens   struct {
		Messages int `json:"messages"`
		LongTerm int `json:"long_term"`
	} `json:"tokens"`
	Took struct {
		Total float64 `json:"total"`
	} `json:"took_ms"`
}

// print writes the rendered block and then the session's messages, and the figures beside them.
func (a contextAnswer) print(w, beside io.Writer) {
	if a.Rendered != "" {
		fmt.Fprintln(w, plain(a.Rendered))
	}
	for _, m := range a.Messages {
		speaker := m.Role
		if m.Name != "" {
			speaker += " (" + m.Name + ")"
		}
		fmt.Fprintf(w, "%s: %s\n", line(speaker), line(contentText(m.Content)))
	}
	fmt.Fprintf(beside, "%d messages, %d tokens; long-term memory, %d tokens; %.1f ms\n",
		len(a.Messages), a.Tokens.Messages, a.Tokens.LongTerm, a.Took.Total)
}
