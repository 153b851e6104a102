package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// hit is a memory or a turn as the server answers it.
type hit struct {
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Score   float64         `json:"score"`
	Scope   string          `json:"scope"`
	Text    string          `json:"text"`
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	Time    time.Time       `json:"time"`
}

// told is the hit's words, a turn's behind its speaker.
func (h hit) told() string {
	if h.Kind != "turn" {
		return line(h.Text)
	}
	speaker := h.Name
	if speaker == "" {
		speaker = h.Role
	}
	return line(h.Time.Format(time.DateOnly) + " " + speaker + ": " + contentText(h.Content))
}

func searchCommand(sys system) *cobra.Command {
	var scope, minTrust, mode, user, agent, group string
	var types, include []string
	var limit int
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find memories, and what was said",
		Args:  args(1, 1, "one QUERY"),
	}
	cl := clientFlags(c, sys)
	f := c.Flags()
	f.StringVar(&scope, "scope", "", "where to look: global, dm, group:ID, agent:ID, agent:self, all or cross:ID")
	f.IntVar(&limit, "limit", 0, "how many at most (10)")
	f.StringSliceVar(&types, "type", nil, "only these types")
	f.StringVar(&minTrust, "min-trust", "", "leave out what is trusted less: high, medium or low")
	f.StringVar(&mode, "mode", "", "hybrid or keyword")
	f.StringSliceVar(&include, "include", nil, "what to search: memory, turn or both")
	f.StringVar(&user, "user", "", "whose memories")
	f.StringVar(&agent, "agent", "", "agent that asks")
	f.StringVar(&group, "group", "", "group that the question belongs to")
	c.RunE = func(c *cobra.Command, args []string) error {
		body := fields{"query": args[0]}
		body.text("scope", scope)
		body.text("min_trust", minTrust)
		body.text("mode", mode)
		body.text("user", user)
		body.text("agent", agent)
		body.text("group", group)
		body.list("types", types)
		body.list("include", include)
		if c.Flags().Changed("limit") {
			body["limit"] = limit
		}
		answer, err := cl.call(c.Context(), http.MethodPost, "/v1/search", nil, body)
		if err != nil {
			return err
		}
		var out struct {
			Items []hit `json:"items"`
		}
		return cl.show(answer, &out, func(w io.Writer) {
			for _, h := range out.Items {
				fmt.Fprintf(w, "%.2f  %-8s  %s\n", h.Score, line(h.Scope), h.told())
			}
		})
	}
	return c
}
