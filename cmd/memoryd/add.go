package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"memoryd"
)

// adding is the flags of add.
type adding struct {
	scope, kind, trust, source, user, agent string
	labels                                  []string
}

func addCommand(sys system) *cobra.Command {
	var a adding
	c := &cobra.Command{
		Use:   "add TEXT",
		Short: "Keep a memory",
		Long:  "Keep a memory. With - as TEXT it is read from standard input.",
		Args:  args(1, 1, "one TEXT"),
	}
	cl := clientFlags(c, sys)
	f := c.Flags()
	f.StringVar(&a.scope, "scope", string(memoryd.Global), "who shares it: global, dm, group:ID, agent:ID or agent:self")
	f.StringVar(&a.kind, "type", "", "what it is: "+strings.Join(words(memoryd.Types), ", "))
	f.StringVar(&a.trust, "trust", "", "high, medium or low")
	f.StringVar(&a.source, "source", "", "where it comes from: user_direct, agent_output, tool_result, import, ...")
	f.StringVar(&a.user, "user", "", "whose memory it is")
	f.StringVar(&a.agent, "agent", "", "agent that writes it")
	f.StringArrayVar(&a.labels, "label", nil, "NAME=VALUE, may be given again")
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := a.body(args[0], sys.in)
		if err != nil {
			return err
		}
		answer, err := cl.call(c.Context(), http.MethodPost, "/v1/memories", nil, body)
		if err != nil {
			return err
		}
		var out struct {
			State  string         `json:"state"`
			Memory memoryd.Memory `json:"memory"`
		}
		return cl.show(answer, &out, func(w io.Writer) {
			fmt.Fprintf(w, "%s %s %s %s\n", out.State, out.Memory.ID, line(string(out.Memory.Scope)), out.Memory.Type)
		})
	}
	return c
}

func (a adding) body(text string, in io.Reader) (fields, error) {
	if text == "-" {
		all, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		text = strings.TrimRight(string(all), "\r\n")
	}
	body := fields{"text": text, "scope": a.scope}
	body.text("type", a.kind)
	body.text("trust", a.trust)
	body.text("source", a.source)
	body.text("user", a.user)
	body.text("agent", a.agent)
	return body, body.labels(a.labels)
}
