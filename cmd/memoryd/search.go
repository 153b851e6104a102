package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"memoryd"
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

// searching is the flags of search.
type searching struct {
	scope, minTrust, mode, user, agent, group string
	types, include                            []string
	limit                                     int
}

func searchCommand(sys system) *cobra.Command {
	var s searching
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find memories, and what was said",
		Args:  args(1, 1, "one QUERY"),
	}
	cl := clientFlags(c, sys)
	f := c.Flags()
	f.StringVar(&s.scope, "scope", "", "where to look: global, dm, group:ID, agent:ID, agent:self, all or cross:ID")
	f.IntVar(&s.limit, "limit", 0, "how many at most (10)")
	f.StringSliceVar(&s.types, "type", nil, "only these types")
	f.StringVar(&s.minTrust, "min-trust", "", "leave out what is trusted less: high, medium or low")
	f.StringVar(&s.mode, "mode", "", "hybrid or keyword")
	f.StringSliceVar(&s.include, "include", nil, "what to search: memory, turn or both")
	f.StringVar(&s.user, "user", "", "whose memories")
	f.StringVar(&s.agent, "agent", "", "agent that asks")
	f.StringVar(&s.group, "group", "", "group that the question belongs to")
	c.RunE = func(c *cobra.Command, args []string) error {
		answer, err := cl.call(c.Context(), http.MethodPost, "/v1/search", nil, s.body(args[0], c.Flags().Changed("limit")))
		if err != nil {
			return err
		}
		var out found
		if err := cl.show(answer, &out, out.print); err != nil || cl.json {
			return err
		}
		// Where a part was missing, nobody knows whether there is something.
		if len(out.Items) == 0 && len(out.Degraded) == 0 {
			fmt.Fprintln(sys.err, "nothing found")
		}
		return nil
	}
	return c
}

func (s searching) body(query string, limited bool) fields {
	body := fields{"query": query}
	body.text("scope", s.scope)
	body.text("min_trust", s.minTrust)
	body.text("mode", s.mode)
	body.text("user", s.user)
	body.text("agent", s.agent)
	body.text("group", s.group)
	body.list("types", s.types)
	body.list("include", s.include)
	if limited {
		body["limit"] = s.limit
	}
	return body
}

// found is a search's answer.
type found struct {
	Items    []hit              `json:"items"`
	Degraded []memoryd.Degraded `json:"degraded"`
}

func (f *found) print(w io.Writer) {
	for _, h := range f.Items {
		fmt.Fprintf(w, "%.2f  %-8s  %s\n", h.Score, line(h.Scope), h.told())
	}
}
