package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// serverStatus is what GET /v1/status answers.
type serverStatus struct {
	Version string    `json:"version"`
	Schema  int64     `json:"schema"`
	Started time.Time `json:"started"`
	UptimeS float64   `json:"uptime_s"`
	Store   struct {
		State  string `json:"state"`
		Driver string `json:"driver"`
		Bytes  int64  `json:"bytes"`
	} `json:"store"`
	Index struct {
		Bytes      int64 `json:"bytes"`
		Limit      int64 `json:"limit"`
		Partitions int   `json:"partitions"`
	} `json:"index"`
	Config string `json:"config_version"`
}

func statusCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show how the server is", Args: args(0, 0, "no words")}
	cl := clientFlags(c, sys)
	c.RunE = func(c *cobra.Command, _ []string) error {
		answer, err := cl.call(c.Context(), http.MethodGet, "/v1/status", nil, nil)
		if err != nil {
			return err
		}
		var out serverStatus
		return cl.show(answer, &out, func(w io.Writer) {
			fmt.Fprintf(w, "version  %s\n", line(out.Version))
			fmt.Fprintf(w, "up       %s, since %s\n", (time.Duration(out.UptimeS) * time.Second), out.Started.Local().Format(time.RFC3339))
			fmt.Fprintf(w, "store    %s, %s, schema %d, %s\n", line(out.Store.State), line(out.Store.Driver), out.Schema, mib(out.Store.Bytes))
			fmt.Fprintf(w, "index    %s of %s, %d partitions in RAM\n", mib(out.Index.Bytes), mib(out.Index.Limit), out.Index.Partitions)
			fmt.Fprintf(w, "config   version %s\n", line(out.Config))
		})
	}
	return c
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
