package remember

import (
	"slices"
	"strings"

	"memoryd"
	"memoryd/internal/access"
)

// sourceOf reads a source; other systems' words are understood. ok is false for an unknown one.
func sourceOf(word string) (s memoryd.Source, ok bool) {
	switch word {
	case "user_said":
		return memoryd.UserDirect, true
	case "user_confirmed":
		return memoryd.UserApproved, true
	case "tool_output", "web_scrape":
		return memoryd.ToolResult, true
	case "agent_inferred":
		return memoryd.Inferred, true
	case "migration":
		return memoryd.Imported, true
	}
	s = memoryd.Source(word)
	return s, slices.Contains([]memoryd.Source{
		memoryd.UserDirect, memoryd.UserApproved, memoryd.AgentOutput, memoryd.ToolResult, memoryd.Inferred, memoryd.Imported, memoryd.Consolidation,
	}, s)
}

// claim is where a text says it comes from, and how far it is to be believed.
type claim struct {
	source memoryd.Source
	trust  memoryd.Trust
}

// within lowers the claim to what a writer of that cap may say: only one that is fully trusted speaks for the user.
func (c claim) within(limit memoryd.Trust) (allowed claim, lowered bool) {
	out := claim{c.source, c.trust.Lower(limit)}
	if ofUser(c.source) && limit != memoryd.High {
		out.source = memoryd.AgentOutput
	}
	return out, out != c
}

func ofUser(s memoryd.Source) bool { return s == memoryd.UserDirect || s == memoryd.UserApproved }

// claimOf fills in what the request leaves open. Trust that was not claimed is not lowered, so that says nothing.
func claimOf(g access.Grant, source memoryd.Source, trust memoryd.Trust) (claim, []string) {
	c := claim{source, trust}
	if c.source == "" {
		c.source = memoryd.UserDirect
		if g.Agent() != "" {
			c.source = memoryd.AgentOutput
		}
	}
	if c.trust == "" {
		c.trust = trustOf(c.source).Lower(g.MaxTrust())
	}
	allowed, lowered := c.within(g.MaxTrust())
	if lowered {
		return allowed, []string{TrustLowered}
	}
	return allowed, nil
}

func trustOf(s memoryd.Source) memoryd.Trust {
	switch s {
	case memoryd.UserDirect, memoryd.UserApproved:
		return memoryd.High
	case memoryd.ToolResult:
		return memoryd.Low
	}
	return memoryd.Medium
}

func formOf(t memoryd.Type, s memoryd.Source, text string) memoryd.Form {
	switch {
	case t == memoryd.Preference:
		return memoryd.FormPref
	case t == memoryd.Procedure, t == memoryd.Lesson && steps(text):
		return memoryd.FormSkill
	case s == memoryd.ToolResult:
		return memoryd.FormTool
	}
	return memoryd.FormText
}

// steps says whether a text is a list: two lines or more that begin with a number or a bullet.
func steps(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		number := strings.TrimLeft(line, "0123456789")
		if number != line && strings.IndexAny(number, ".)、．") == 0 || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") ||
			strings.HasPrefix(line, "第") && strings.Contains(line, "步") {
			n++
		}
	}
	return n >= 2
}

// importanceOf is the middle of the band in which a type is judged.
func importanceOf(t memoryd.Type) int {
	switch t {
	case memoryd.Preference, memoryd.Fact:
		return 8
	case memoryd.Decision:
		return 7
	case memoryd.TaskLog:
		return 3
	}
	return 6
}
