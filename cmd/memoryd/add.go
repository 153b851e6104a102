package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"memoryd"
)

func addCommand(sys system) *cobra.Command {
	var scope, kind, trust, source, user, agent string
	var labels []string
	c := &cobra.Command{
		Use:   "add TEXT",
		Short: "Keep a memory",
		Long:  "Keep a memory. With - as TEXT it is read from standard input.",
		Args:  args(1, 1, "one TEXT"),
	}
	cl := clientFlags(c, sys)
	f := c.Flags()
	f.StringVar(&scope, "scope", string(memoryd.Global), "who shares it: global, dm, group:ID, agent:ID or agent:self")
	f.StringVar(&kind, "type", "", "what it is: "+strings.Join(words(memoryd.Types), ", "))
	f.StringVar(&trust, "trust", "", "high, medium or low")
	f.StringVar(&source, "source", "", "where it comes from: user_direct, agent_output, tool_result, import, ...")
	f.StringVar(&user, "user", "", "whose memory it is")
	f.StringVar(&agent, "agent", "", "agent that writes it")
	f.StringArrayVar(&labels, "label", nil, "NAME=VALUE, may be given again")
	c.RunE = func(c *cobra.Command, args []string) error {
		text := args[0]
		if text == "-" {
			all, err := io.ReadAll(sys.in)
			if err != nil {
				return fmt.Errorf("standard input: %w", err)
			}
			text = strings.TrimRight(string(all), "\r\n")
		}
		body := fields{"text": text, "scope": scope}
		body.text("type", kind)
		body.text("trust", trust)
		body.text("source", source)
		body.text("user", user)
		body.text("agent", agent)
		if err := body.labels(labels); err != nil {
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
