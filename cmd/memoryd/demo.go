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
	"os"
	"strings"

	"github.com/spf13/cobra"

	"memoryd"
)

func demoCommand(sys system) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Play a short story on a throw-away server", Args: args(0, 0, "no words"),
		Long: "Play a short story on a throw-away server: two sessions of two agents, what each remembers, who may not see it,\n" +
			"and the context that comes out. It needs no configuration, and leaves nothing behind.",
		RunE: func(c *cobra.Command, _ []string) error { return demo(c.Context(), sys) },
	}
}

// demo runs a server of its own in a temporary folder and plays the story against it over REST.
func demo(ctx context.Context, sys system) error {
	folder, err := os.MkdirTemp("", "memoryd-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(folder)
	c := demoConfig(folder)
	r := &reader{}
	if r.check(&c); len(r.errs) > 0 {
		return errors.Join(r.errs...)
	}
	ln, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	a, err := build(ctx, c, true, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- a.run(serving, ln, nil, nil) }()
	s := &story{ctx: ctx, out: sys.out, client: &client{sys: sys, server: "http://" + ln.Addr().String()}}
	s.play()
	stop()
	return errors.Join(s.err, <-done, a.Close())
}

// demoConfig is two agents that share what is global and keep their own notes to themselves.
func demoConfig(folder string) config {
	c := defaults()
	c.Listen, c.Data = "127.0.0.1:0", folder
	on := true
	c.Agents.Named = map[string]agentConfig{
		"travel": {LongTerm: &on, Read: []string{"global"}, Write: []string{"global"}},
		"office": {LongTerm: &on, Read: []string{"global"}, Write: []string{}},
	}
	return c
}

// story tells what it does as it goes; after the first failure it does nothing more.
type story struct {
	ctx    context.Context
	out    io.Writer
	client *client
	err    error
}

func (s *story) play() {
	s.title("1. A user talks to two agents")
	s.session("trip", "travel",
		"user", "Plan a weekend away for me. I am allergic to peanuts, so no satay places.",
		"assistant", "The night train on Friday, then. I will look for dinner without peanuts.",
		"user", "早上我只喝热茶，不喝咖啡。")
	s.session("desk", "office",
		"user", "We eat together on Friday, eight people.",
		"assistant", "I will ask the caterer for a table for eight.")

	s.title("2. The agents keep what is worth keeping")
	s.add("travel", "global", memoryd.Preference, "Allergic to peanuts: never suggest dishes with them.")
	s.add("travel", "global", memoryd.Preference, "用户早上只喝热茶，不喝咖啡。")
	s.add("travel", memoryd.Self, memoryd.Fact, "The night train south sells out sixty days ahead.")
	s.add("office", memoryd.Self, memoryd.Fact, "The caterer takes orders for Friday until Wednesday noon.")

	s.title("3. What each of them remembers")
	s.list("travel")
	s.list("office")

	s.title("4. Who may see it, and who may not")
	s.search("office", "", "which dishes never to suggest")
	s.search("office", "", "night train south")
	s.search("office", "agent:travel", "night train south")
	s.add("office", "global", memoryd.Fact, "Everybody likes peanuts.")

	s.title("5. What office gets before its next request to a model")
	s.context("office", "desk", "What should the caterer bring on Friday, and what must not be in it?")
	s.say("\nThat server is gone again, with its data. Your own: memoryd serve")
}

func (s *story) say(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.out, format+"\n", args...)
	}
}

func (s *story) title(text string) { s.say("\n%s\n%s", text, strings.Repeat("-", len(text))) }

// call sends a request and reads the answer into out; a refusal comes back for the story to tell.
func (s *story) call(method, path string, query url.Values, body, out any) (refused error) {
	if s.err != nil {
		return nil
	}
	answer, err := s.client.call(s.ctx, method, path, query, body)
	var f *failure
	if errors.As(err, &f) && f.code == exitDenied {
		return err
	}
	if err == nil {
		err = json.Unmarshal(answer, out)
	}
	s.err = err
	return nil
}

func (s *story) session(id, agent string, said ...string) {
	var list []fields
	for i := 0; i < len(said); i += 2 {
		list = append(list, fields{"role": said[i], "content": said[i+1]})
		speaker := "user"
		if said[i] == "assistant" {
			speaker = agent
		}
		s.say("  %-7s %s", speaker, said[i+1])
	}
	s.call(http.MethodPost, "/v1/sessions/"+id+"/messages", nil, fields{"agent": agent, "messages": list}, &struct{}{})
	s.say("  (%d messages kept in session %s)", len(list), id)
}

func (s *story) add(agent, scope string, kind memoryd.Type, text string) {
	var out struct {
		Memory memoryd.Memory `json:"memory"`
	}
	refused := s.call(http.MethodPost, "/v1/memories", nil, fields{"agent": agent, "scope": scope, "type": kind, "text": text}, &out)
	if refused != nil {
		s.say("  %s wants to write %s: refused (%v)", agent, scope, refused)
		return
	}
	s.say("  %s keeps in %s: %s", agent, out.Memory.Scope, text)
}

func (s *story) list(agent string) {
	var out struct {
		Items []memoryd.Memory `json:"items"`
	}
	s.call(http.MethodGet, "/v1/memories", url.Values{"agent": {agent}}, nil, &out)
	s.say("  %s has kept:", agent)
	for _, m := range out.Items {
		s.say("    %-12s %-10s %s", m.Scope, m.Type, line(m.Text))
	}
}

func (s *story) search(agent, scope, query string) {
	body := fields{"agent": agent, "query": query}
	body.text("scope", scope)
	where := "where it may"
	if scope != "" {
		where = "in " + scope
	}
	var out struct {
		Items []hit `json:"items"`
	}
	refused := s.call(http.MethodPost, "/v1/search", nil, body, &out)
	switch {
	case refused != nil:
		s.say("  %s searches %q %s: refused (%v)", agent, query, where, refused)
	case len(out.Items) == 0:
		s.say("  %s searches %q %s: nothing", agent, query, where)
	}
	for _, h := range out.Items {
		s.say("  %s searches %q %s: %s", agent, query, where, h.told())
	}
}

func (s *story) context(agent, session, query string) {
	var out contextAnswer
	s.say("  the question: %s\n", query)
	s.call(http.MethodPost, "/v1/context", nil, fields{"agent": agent, "session": session, "query": query}, &out)
	if s.err == nil {
		out.print(s.out, s.out)
	}
}
