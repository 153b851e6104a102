package recall

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"memoryd"
)

// The titles in a rendered block. No line of a memory can equal one: those all begin with "- [".
const (
	profileTitle = "What is known about the user:\n"
	groupTitle   = "What this group shares:\n"
	agentTitle   = "What this agent has noted:\n"
	turnsTitle   = "What was said in other conversations:\n"
)

// fence is what stands around a block. Its id differs in every answer, so that no stored text can close it.
type fence struct {
	open, close string
}

// newFence makes a fence from a random id. memoryd.StripFence knows it again.
func newFence(random string) fence {
	sum := sha256.Sum256([]byte(random))
	id := hex.EncodeToString(sum[:8])
	return fence{open: memoryd.FenceHeading + "<memory " + id + ">\n", close: "</memory " + id + ">\n"}
}

// render is the block as text.
func (b *block) render(f fence) string {
	var s strings.Builder
	s.WriteString(f.open)
	for _, part := range []struct{ title, text string }{
		{profileTitle, textOf(b.profile)},
		{groupTitle, textOf(b.group)},
		{agentTitle, textOf(b.agent)},
		{turnsTitle, turnText(b.turns)},
	} {
		if part.text != "" {
			s.WriteString(part.title)
			s.WriteString(part.text)
		}
	}
	s.WriteString(f.close)
	return s.String()
}

// turnText is the turns under their date headers.
func turnText(lines []line) string {
	var s strings.Builder
	header := [2]string{}
	for _, l := range inOrder(lines) {
		if group := [2]string{l.hit.Turn.Session, l.day}; group != header {
			header = group
			s.WriteString(l.day)
		}
		s.WriteString(l.text)
	}
	return s.String()
}

// inOrder sorts turns that stand best first for reading: the day of a session with the best turn first, and inside
// it as they were said.
func inOrder(lines []line) []line {
	rank := map[[2]string]int{}
	for i, l := range lines {
		group := [2]string{l.hit.Turn.Session, l.day}
		if _, ok := rank[group]; !ok {
			rank[group] = i
		}
	}
	out := slices.Clone(lines)
	slices.SortStableFunc(out, func(a, b line) int {
		x, y := a.hit.Turn, b.hit.Turn
		return cmp.Or(
			cmp.Compare(rank[[2]string{x.Session, a.day}], rank[[2]string{y.Session, b.day}]),
			cmp.Compare(x.Seq, y.Seq))
	})
	return out
}
