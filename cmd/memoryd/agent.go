package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// directory is the commands on agents, tenants and users.
type directory struct {
	*client
	tenant string
}

// headers names the tenant to work in, where an operator gave one.
func (d *directory) headers() []string {
	if d.tenant == "" {
		return nil
	}
	return []string{"X-Memoryd-Tenant", d.tenant}
}

func agentCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "agent", Short: "Agents: what each may do and how it is served", RunE: group, Args: cobra.ArbitraryArgs}
	d := &directory{client: clientFlags(c, sys)}
	c.PersistentFlags().StringVar(&d.tenant, "tenant", "", "tenant to work in, with an operator's key")
	set := &cobra.Command{
		Use: "set ID KEY=VALUE...", Short: "Change what is said of an agent, or make one", Args: args(1, -1, "an ID, and KEY=VALUE as often as needed"),
		Long: "Change what is said of an agent; keys that are not named stay as they are. Lists are separated by commas: read=global,group:*\n" +
			"KEY= is an empty list, KEY=default takes the key back.\nKeys: " + strings.Join(agentKeyNames(), ", ") + ".",
		RunE: func(c *cobra.Command, args []string) error { return d.setAgent(c.Context(), args[0], args[1:]) },
	}
	show := &cobra.Command{Use: "show ID", Short: "Show what is said of an agent", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return d.showOne(c.Context(), http.MethodGet, "/v1/agents/%s", args[0])
		}}
	del := &cobra.Command{Use: "delete ID", Short: "Forget what is said of an agent; its memories and keys stay", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return d.showOne(c.Context(), http.MethodDelete, "/v1/agents/%s", args[0])
		}}
	c.AddCommand(d.list("agents", "List agents"), show, set, del)
	return c
}

func tenantCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "tenant", Short: "Tenants; for operators", RunE: group, Args: cobra.ArbitraryArgs}
	d := &directory{client: clientFlags(c, sys)}
	set := &cobra.Command{Use: "set ID [name=TEXT]", Short: "Make a tenant, or name it", Args: args(1, 2, "an ID, and name=TEXT"),
		RunE: func(c *cobra.Command, args []string) error { return d.setTenant(c.Context(), args[0], args[1:]) }}
	show := &cobra.Command{Use: "show ID", Short: "Show a tenant", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return d.showOne(c.Context(), http.MethodGet, "/v1/tenants/%s", args[0])
		}}
	del := &cobra.Command{Use: "delete ID", Short: "Delete a tenant that holds nothing; its keys end", Args: args(1, 1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return d.showOne(c.Context(), http.MethodDelete, "/v1/tenants/%s", args[0])
		}}
	c.AddCommand(d.list("tenants", "List tenants"), show, set, del)
	return c
}

func userCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Users: who owns memories and sessions", RunE: group, Args: cobra.ArbitraryArgs}
	d := &directory{client: clientFlags(c, sys)}
	c.PersistentFlags().StringVar(&d.tenant, "tenant", "", "tenant to work in, with an operator's key")
	c.AddCommand(d.list("users", "List users, with how much each owns"))
	return c
}

func (d *directory) list(what, short string) *cobra.Command {
	var limit int
	var cursor string
	c := &cobra.Command{Use: "list", Short: short, Args: args(0, 0, "no words")}
	c.Flags().IntVar(&limit, "limit", 0, "how many (50)")
	c.Flags().StringVar(&cursor, "cursor", "", "where the page before ended")
	c.RunE = func(c *cobra.Command, _ []string) error {
		query := params{}
		query.number("limit", limit)
		query.text("cursor", cursor)
		answer, err := d.call(c.Context(), http.MethodGet, "/v1/"+what, url.Values(query), nil, d.headers()...)
		if err != nil {
			return err
		}
		var out struct {
			Items []listed `json:"items"`
		}
		return d.show(answer, &out, func(w io.Writer) {
			for _, e := range out.Items {
				e.print(w, what)
			}
		})
	}
	return c
}

// listed is an agent, a tenant or a user as lists show it.
type listed struct {
	ID        string    `json:"id"`
	ManagedBy string    `json:"managed_by"`
	Read      []string  `json:"read"`
	Write     []string  `json:"write"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Memories  int64     `json:"memories"`
	Inactive  int64     `json:"inactive"`
	Sessions  int64     `json:"sessions"`
	LastWrite time.Time `json:"last_write"`
}

func (e listed) print(w io.Writer, what string) {
	switch what {
	case "agents":
		fmt.Fprintf(w, "%s  by %s  read %s  write %s\n", line(e.ID), e.ManagedBy, line(strings.Join(e.Read, ",")), line(strings.Join(e.Write, ",")))
	case "users":
		fmt.Fprintf(w, "%s  %d memories  %d inactive  %d sessions  last %s\n", line(e.ID), e.Memories, e.Inactive, e.Sessions, e.LastWrite.Format(time.RFC3339))
	default:
		fmt.Fprint(w, line(e.ID))
		if !e.Created.IsZero() {
			fmt.Fprintf(w, "  since %s", e.Created.Format(time.RFC3339))
		}
		if e.Name != "" {
			fmt.Fprint(w, "  "+line(e.Name))
		}
		fmt.Fprintln(w)
	}
}

// showOne sends a request about one thing and prints the answer's fields, one a line.
func (d *directory) showOne(ctx context.Context, method, path, id string) error {
	target, err := idPath(path, id)
	if err != nil {
		return err
	}
	answer, err := d.call(ctx, method, target, nil, nil, d.headers()...)
	if err != nil {
		return err
	}
	if method == http.MethodDelete {
		return d.show(answer, &struct{}{}, func(w io.Writer) { fmt.Fprintln(w, "deleted "+line(id)) })
	}
	return d.showFields(answer)
}

// showFields prints what an answer says, one key a line in the form that set takes.
func (d *directory) showFields(answer []byte) error {
	var out map[string]json.RawMessage
	return d.show(answer, &out, func(w io.Writer) {
		delete(out, "notes")
		names := make([]string, 0, len(out))
		for name := range out {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			if (a == "id") != (b == "id") {
				return map[bool]int{true: -1, false: 1}[a == "id"]
			}
			return strings.Compare(a, b)
		})
		for _, name := range names {
			fmt.Fprintln(w, line(name+"="+asWord(out[name])))
		}
	})
}

func asWord(raw json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(raw)
}

// The kinds of an agent's keys.
const (
	isBool = iota
	isNumber
	isSwitch
	isWord
	isList
)

func agentKeys() map[string]int {
	return map[string]int{
		"long_term": isBool, "context_rounds": isNumber, "window_tokens": isNumber, "memory_tokens": isNumber, "filter_sensitive": isSwitch,
		"min_trust": isWord, "max_trust": isWord, "read": isList, "write": isList, "allowed_types": isList,
	}
}

func agentKeyNames() []string {
	return []string{"long_term", "context_rounds", "window_tokens", "memory_tokens", "filter_sensitive", "min_trust", "max_trust", "read", "write", "allowed_types"}
}

// setAgent changes the given keys of what is there.
func (d *directory) setAgent(ctx context.Context, id string, pairs []string) error {
	target, err := idPath("/v1/agents/%s", id)
	if err != nil {
		return err
	}
	changes, err := agentChanges(pairs)
	if err != nil {
		return err
	}
	body := map[string]any{}
	answer, err := d.call(ctx, http.MethodGet, target, nil, nil, d.headers()...)
	switch {
	case err == nil:
		if err := json.Unmarshal(answer, &body); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	case !isMissing(err):
		return err
	}
	for name := range body {
		if _, ok := agentKeys()[name]; !ok {
			delete(body, name)
		}
	}
	for name, value := range changes {
		if body[name] = value; value == nil {
			delete(body, name)
		}
	}
	if answer, err = d.call(ctx, http.MethodPut, target, nil, body, d.headers()...); err != nil {
		return err
	}
	return d.showFields(answer)
}

// agentChanges reads KEY=VALUE; nil takes a key back.
func agentChanges(pairs []string) (map[string]any, error) {
	changes := map[string]any{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		kind, known := agentKeys()[name]
		if !ok || !known {
			return nil, usagef("%q: want KEY=VALUE with one of the keys %s", pair, strings.Join(agentKeyNames(), ", "))
		}
		if _, twice := changes[name]; twice {
			return nil, usagef("%s is given twice", name)
		}
		if value == "default" {
			changes[name] = nil
			continue
		}
		var err error
		switch kind {
		case isBool:
			changes[name], err = strconv.ParseBool(value)
		case isNumber:
			changes[name], err = strconv.Atoi(value)
		case isSwitch:
			changes[name] = value
			if value == "true" || value == "false" {
				changes[name] = value == "true"
			}
		case isList:
			changes[name] = append([]string{}, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)
		default:
			changes[name] = value
		}
		if err != nil {
			return nil, usagef("%s: takes %s", name, map[int]string{isBool: "true or false", isNumber: "a whole number"}[kind])
		}
	}
	return changes, nil
}

func (d *directory) setTenant(ctx context.Context, id string, pairs []string) error {
	target, err := idPath("/v1/tenants/%s", id)
	if err != nil {
		return err
	}
	body := fields{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name != "name" {
			return usagef("%q: want name=TEXT", pair)
		}
		body.text("name", value)
	}
	if len(pairs) == 0 {
		// Without a name the one that is there stays.
		answer, err := d.call(ctx, http.MethodGet, target, nil, nil)
		if err != nil && !isMissing(err) {
			return err
		}
		var have listed
		if err == nil && json.Unmarshal(answer, &have) == nil {
			body.text("name", have.Name)
		}
	}
	answer, err := d.call(ctx, http.MethodPut, target, nil, body)
	if err != nil {
		return err
	}
	return d.showFields(answer)
}
