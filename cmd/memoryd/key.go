package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"memoryd"
	"memoryd/internal/access"
)

// keys is the two ways to the keys: over REST, or with --data straight to the store of a server that may be off.
type keys struct {
	client *client
	config *configFlags
}

func keyCommand(sys system) *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Keys: who may use the server", RunE: group, Args: cobra.ArbitraryArgs,
		Long: "Keys: who may use the server. With --data (or --config) the commands work on the store itself, also with the server off.",
	}
	k := &keys{client: clientFlags(c, sys), config: newConfigFlags(c, sys, map[string]string{"data": "folder of the data: work on the store itself"})}
	c.AddCommand(k.create(), k.list(), k.revoke())
	return c
}

// offline says whether the store itself is meant.
func (k *keys) offline() bool { return *k.config.set["data"] != "" || k.config.config != "" }

// local runs f on the store itself, as whoever may open its file.
func (k *keys) local(ctx context.Context, f func(*access.Access, access.Grant) error) error {
	c, err := k.config.read()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	a, err := access.New(c.access(store, true))
	if err == nil {
		err = f(a, a.Local())
	}
	return errors.Join(plainError(err), store.Close())
}

// answer prints what the store itself answered, as show does with a server's answer.
func (k *keys) answer(out any, print func(io.Writer)) error {
	if !k.client.json {
		print(k.client.sys.out)
		return nil
	}
	if err := json.NewEncoder(k.client.sys.out).Encode(out); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

type createdKey struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func (k *keys) create() *cobra.Command {
	var n access.NewKey
	var expires string
	c := &cobra.Command{Use: "create", Short: "Make a key; it is shown this once", Args: args(0, 0, "no words")}
	f := c.Flags()
	f.StringVar(&n.Kind, "kind", "", "operator (everything), tenant (any user and agent of one) or agent (one agent)")
	f.StringVar(&n.Tenant, "tenant", "", "tenant of a tenant or agent key (default)")
	f.StringVar(&n.Agent, "agent", "", "agent of an agent key")
	f.StringVar(&n.User, "user", "", "binds an agent key to one user")
	f.StringVar(&n.Name, "name", "", "a name to know it by")
	f.StringVar(&expires, "expires", "", "a duration such as 720h, or a time such as 2030-01-31T00:00:00Z")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if n.Kind == "" {
			return usagef("--kind takes operator, tenant or agent")
		}
		if expires != "" {
			t, err := moment("expires", expires, time.Now())
			if err != nil {
				return err
			}
			n.Expires = &t
		}
		if !k.offline() {
			return k.createRemote(c.Context(), n)
		}
		return k.local(c.Context(), func(a *access.Access, g access.Grant) error {
			secret, made, err := a.CreateKey(c.Context(), g, n)
			if err != nil {
				return err
			}
			return k.answer(struct {
				memoryd.Key
				Secret string `json:"key"`
			}{made, secret}, func(w io.Writer) { printCreated(w, createdKey{made.ID, secret}) })
		})
	}
	return c
}

func (k *keys) createRemote(ctx context.Context, n access.NewKey) error {
	body := fields{"kind": n.Kind}
	body.text("tenant", n.Tenant)
	body.text("agent", n.Agent)
	body.text("user", n.User)
	body.text("name", n.Name)
	if n.Expires != nil {
		body["expires"] = n.Expires
	}
	answer, err := k.client.call(ctx, http.MethodPost, "/v1/keys", nil, body)
	if err != nil {
		return err
	}
	var out createdKey
	return k.client.show(answer, &out, func(w io.Writer) { printCreated(w, out) })
}

// printCreated puts the key alone on the first line, so that scripts can take it.
func printCreated(w io.Writer, k createdKey) {
	fmt.Fprintf(w, "%s\n", k.Key)
}

func (k *keys) list() *cobra.Command {
	var p access.Page
	c := &cobra.Command{Use: "list", Short: "List the keys", Args: args(0, 0, "no words")}
	c.Flags().IntVar(&p.Limit, "limit", 0, "how many (50)")
	c.Flags().StringVar(&p.Cursor, "cursor", "", "where the page before ended")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !k.offline() {
			query := params{}
			query.number("limit", p.Limit)
			query.text("cursor", p.Cursor)
			answer, err := k.client.call(c.Context(), http.MethodGet, "/v1/keys", url.Values(query), nil)
			if err != nil {
				return err
			}
			var out keyList
			return k.client.show(answer, &out, func(w io.Writer) { out.print(w, time.Now()) })
		}
		return k.local(c.Context(), func(a *access.Access, g access.Grant) error {
			list, next, err := a.KeyPage(c.Context(), g, p)
			if err != nil {
				return err
			}
			out := keyList{Items: list, NextCursor: next}
			if next != "" {
				fmt.Fprintln(k.client.sys.err, "more: --cursor "+next)
			}
			return k.answer(out, func(w io.Writer) { out.print(w, time.Now()) })
		})
	}
	return c
}

type keyList struct {
	Items      []memoryd.Key `json:"items"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

func (l keyList) print(w io.Writer, now time.Time) {
	for _, k := range l.Items {
		state := "valid"
		switch {
		case k.Revoked != nil:
			state = "revoked"
		case k.Expires != nil && !k.Expires.After(now):
			state = "expired"
		case k.Expires != nil:
			state = "until " + k.Expires.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s  %-8s  %s", k.ID, k.Kind, state)
		for _, bound := range []struct{ name, value string }{{"tenant", k.Tenant}, {"agent", k.Agent}, {"user", k.User}, {"name", k.Name}} {
			if bound.value != "" {
				fmt.Fprintf(w, "  %s %s", bound.name, line(bound.value))
			}
		}
		fmt.Fprintln(w)
	}
}

func (k *keys) revoke() *cobra.Command {
	return &cobra.Command{Use: "revoke ID", Short: "End a key at once", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			target, err := idPath("/v1/keys/%s", args[0])
			if err != nil {
				return err
			}
			told := func(w io.Writer) { fmt.Fprintf(w, "revoked %s\n", args[0]) }
			if !k.offline() {
				answer, err := k.client.call(c.Context(), http.MethodDelete, target, nil, nil)
				if err != nil {
					return err
				}
				return k.client.show(answer, &struct{}{}, told)
			}
			return k.local(c.Context(), func(a *access.Access, g access.Grant) error {
				if err := a.Revoke(c.Context(), g, args[0]); err != nil {
					return err
				}
				return k.answer(struct{}{}, told)
			})
		}}
}
