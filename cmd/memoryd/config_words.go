package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"memoryd"
	"memoryd/internal/access"
)

// checkConfig fails with every problem, each with its key and line, or says in words what the configuration means.
func checkConfig(ctx context.Context, flags *configFlags) error {
	c, r, err := flags.load()
	if err != nil {
		return err
	}
	loopback, sure := onLoopback(c.Listen)
	if err := checkDoor(ctx, c, loopback || !sure, c.Listen); err != nil {
		return err
	}
	var out strings.Builder
	if r.file == "" {
		out.WriteString("no configuration file: the defaults hold\n")
	} else {
		fmt.Fprintf(&out, "%s is in order\n", r.file)
	}
	fmt.Fprintf(&out, "listens on %s; data in %s\n", c.Listen, c.Data)
	keys, err := anyKey(ctx, c)
	switch mode := c.Auth.Mode; {
	case mode == "off":
		out.WriteString("keys: none; everything on this machine is operator\n")
	case mode == "keys" && err == nil && !keys:
		fmt.Fprintf(&out, "keys: always needed, and the store holds none; make one: %s\n", firstKey(c))
	case mode == "keys" || sure && !loopback:
		out.WriteString("keys: always needed\n")
	default:
		out.WriteString("keys: needed as soon as there is one; until then only this machine is served, as operator\n")
	}
	if err := describeAgents(&out, c); err != nil {
		return err
	}
	_, err = io.WriteString(flags.sys.out, plain(out.String()))
	return err
}

func describeAgents(w io.Writer, c config) error {
	o := c.access(nil, true)
	// The policy is told as if it were the rights of some agent, which is what it is.
	policy := o
	policy.Named = map[string]access.AgentConfig{"NAME": o.Policy}
	fmt.Fprintln(w, "\nagents that are named nowhere (NAME stands for their own name):")
	if err := describeAgent(w, policy, "NAME"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Named)) {
		fmt.Fprintf(w, "\nagent %s:\n", name)
		if err := describeAgent(w, o, name); err != nil {
			return err
		}
	}
	return nil
}

// describeAgent has access itself say what the agent's grant is.
func describeAgent(w io.Writer, o access.Options, name string) error {
	a, err := access.New(o)
	if err != nil {
		return err
	}
	g, err := a.Grant(context.Background(), a.LocalIdentity(), access.Ask{Agent: name})
	if err != nil {
		return err
	}
	types := make([]string, 0, len(memoryd.Types))
	for _, t := range memoryd.Types {
		if g.AllowsType(t) {
			types = append(types, string(t))
		}
	}
	writes, kinds := scopeWords(g.Writes(), name), "of any type"
	switch {
	case len(types) == 0:
		writes, kinds = "nothing", "no type is allowed"
	case len(types) < len(memoryd.Types):
		kinds = "of type " + strings.Join(types, ", ")
	}
	s := g.Settings()
	fmt.Fprintf(w, "  reads memories of:  %s\n", scopeWords(g.Reads(), name))
	fmt.Fprintf(w, "  writes memories to: %s (%s; trust up to %s)\n", writes, kinds, g.MaxTrust())
	fmt.Fprintf(w, "  reads sessions of:  %s\n", scopeWords(sessionsOf(g.SessionReads()), name))
	fmt.Fprintf(w, "  appends to:         %s\n", scopeWords(sessionsOf(g.SessionWrites()), name))
	long := "off unless a request asks for it"
	if s.LongTerm {
		long = "on"
	}
	filter := "left out in groups"
	if s.FilterSensitive != nil {
		filter = map[bool]string{true: "left out", false: "shown"}[*s.FilterSensitive]
	}
	fmt.Fprintf(w, "  context:            long-term memory %s; %d rounds; personal data %s; trust from %s\n", long, s.ContextRounds, filter, cmp.Or(s.MinTrust, memoryd.Low))
	if g.Operator() {
		fmt.Fprintln(w, "  operator:           its key may make keys and change tenants")
	}
	return nil
}

// sessionsOf leaves out global, where no session is placed.
func sessionsOf(s memoryd.Scopes) memoryd.Scopes {
	s.Exact = slices.DeleteFunc(slices.Clone(s.Exact), func(x memoryd.Scope) bool { return x == memoryd.Global })
	return s
}

func scopeWords(s memoryd.Scopes, self string) string {
	var out []string
	for _, x := range s.Exact {
		switch {
		case x == memoryd.Global:
			out = append(out, "the user (global)")
		case x == memoryd.DM:
			out = append(out, "one-to-one talks (dm)")
		case x == memoryd.AgentScope(self):
			out = append(out, "its own (agent:"+self+")")
		case x.Group() != "":
			out = append(out, "group "+x.Group())
		default:
			out = append(out, "agent "+x.Agent())
		}
	}
	if s.Groups {
		out = append(out, "every group")
	}
	if s.Agents {
		out = append(out, "every agent")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
