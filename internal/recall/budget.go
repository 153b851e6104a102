package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"memoryd"
)

// line is one memory or turn as it stands in a rendered block.
type line struct {
	hit        memoryd.Hit
	text       string // ends in a newline
	tokens     int
	day        string // of a turn: the header that it stands under
	preference bool   // found for being one, whatever is asked
	reserved   bool   // its place in the profile is kept
}

// block is what a rendered block holds, each list best first.
type block struct {
	profile, group, agent, turns []line
}

// packer fills a block. Every piece is counted by itself: pieces end in newlines, across which no tokenizer in use
// joins, and render's caller counts the whole again.
type packer struct {
	r     *Reader
	count func(string) int
}

// pack puts what was found into the answer, within the budget.
func (r *Reader) pack(out *Context, found memoryd.Found, budget int) {
	p := packer{r: r, count: r.o.Count}
	f := newFence(r.o.NewID())
	share := int(r.o.ProfileShare * float64(budget))
	b := p.fill(found, budget-p.count(f.open)-p.count(f.close), share)
	for !b.empty() {
		out.Rendered = b.render(f)
		out.Tokens.LongTerm = p.count(out.Rendered)
		profile := p.count(textOf(b.profile))
		switch {
		case profile > share:
			b.profile = b.profile[:len(b.profile)-1]
			continue
		case out.Tokens.LongTerm > budget:
			b.drop()
			continue
		}
		out.UserProfile = p.part(b.profile, textOf(b.profile))
		out.Group = p.part(b.group, textOf(b.group))
		out.Agent = p.part(b.agent, textOf(b.agent))
		out.Turns = p.part(inOrder(b.turns), turnText(b.turns))
		return
	}
	out.Rendered, out.Tokens.LongTerm = "", 0
}

func (p packer) part(lines []line, text string) Part {
	out := Part{Text: text, Items: make([]memoryd.Hit, 0, len(lines))}
	if text != "" {
		out.Tokens = p.count(text)
	}
	for _, l := range lines {
		out.Items = append(out.Items, l.hit)
	}
	return out
}

// fill shares the budget out: the profile takes at most its share, the group at most half of what is left, the agent
// and then turns the rest. Titles count with their parts.
func (p packer) fill(found memoryd.Found, left, share int) block {
	var b block
	used := 0
	profile := p.profile(found)
	p.reserve(profile, min(share, left)-p.count(profileTitle))
	b.profile, used = p.memories(profile, profileTitle, min(share, left))
	left -= used
	in := func(of func(memoryd.Scope) string) []line {
		return p.lines(found.Hits, func(m *memoryd.Memory) bool { return of(m.Scope) != "" }, p.r.o.ItemsPerScope)
	}
	b.group, used = p.memories(in(memoryd.Scope.Group), groupTitle, left/2)
	left -= used
	b.agent, used = p.memories(in(memoryd.Scope.Agent), agentTitle, left)
	left -= used
	b.turns = p.turns(found.Hits, left)
	return b
}

// profile is the preferences and the other memories of global and dm, best first, which puts last what was not found
// but stands there always; low trust is in neither.
func (p packer) profile(found memoryd.Found) []line {
	trusted := func(m *memoryd.Memory) bool { return profiled(m.Scope) && m.Trust.Rank() > memoryd.Low.Rank() }
	standing := p.lines(found.Preferences, trusted, p.r.o.Preferences)
	standing = standing[:min(len(standing), p.r.o.Preferences)]
	ids := map[string]bool{}
	for i := range standing {
		standing[i].preference = true
		ids[standing[i].hit.Memory.ID] = true
	}
	all := append(standing, p.lines(found.Hits, func(m *memoryd.Memory) bool { return trusted(m) && !ids[m.ID] }, p.r.o.ItemsPerScope)...)
	slices.SortStableFunc(all, byScore)
	return all
}

func byScore(a, b line) int { return cmp.Compare(b.hit.Score, a.hit.Score) }

// reserve marks the preferences that keep their place whatever else was found: those that together take at most a
// quarter of the budget, and leave room for the best hit. Hits would otherwise fill the profile of somebody
// who has many memories, and long preferences that of somebody with a small budget.
func (p packer) reserve(lines []line, budget int) {
	room := budget / 4
	if best := slices.IndexFunc(lines, func(l line) bool { return l.hit.Score > 0 && l.tokens <= budget }); best >= 0 {
		room = min(room, budget-lines[best].tokens)
	}
	for i := range lines {
		if l := &lines[i]; l.preference && l.tokens <= room {
			l.reserved = true
			room -= l.tokens
		}
	}
}

// lines renders the memories that are wanted, at most so many of each scope.
func (p packer) lines(hits []memoryd.Hit, want func(*memoryd.Memory) bool, perScope int) []line {
	var out []line
	taken := map[memoryd.Scope]int{}
	for _, h := range hits {
		m := h.Memory
		if m == nil || !want(m) || taken[m.Scope] >= perScope {
			continue
		}
		body := plain(clip(m.Text, p.r.o.ItemChars))
		if body == "" {
			continue
		}
		taken[m.Scope]++
		text := "- [" + string(m.Trust) + "] " + body + "\n"
		out = append(out, line{hit: h, text: text, tokens: p.count(text)})
	}
	return out
}

// memories keeps the lines that fit beside the reserved ones, each whole or not at all; one that does not fit hides
// none behind it.
func (p packer) memories(lines []line, title string, budget int) (kept []line, used int) {
	cost, reserved := p.count(title), 0
	for _, l := range lines {
		if l.reserved {
			reserved += l.tokens
		}
	}
	for _, l := range lines {
		if l.reserved {
			reserved -= l.tokens
		}
		if cost+reserved+l.tokens <= budget {
			cost += l.tokens
			kept = append(kept, l)
		}
	}
	if len(kept) == 0 {
		return nil, 0
	}
	return kept, cost
}

// turns keeps the turns that fit, best first, with the headers that they need. When even the best says nothing about
// the question there are none.
func (p packer) turns(hits []memoryd.Hit, budget int) []line {
	var kept []line
	cost := p.count(turnsTitle)
	headers := map[[2]string]bool{}
	for _, l := range p.turnLines(hits) {
		group := [2]string{l.hit.Turn.Session, l.day}
		need := l.tokens
		if !headers[group] {
			need += p.count(l.day)
		}
		if cost+need <= budget {
			cost += need
			headers[group] = true
			kept = append(kept, l)
		}
	}
	return kept
}

func (p packer) turnLines(hits []memoryd.Hit) []line {
	var out []line
	best := 0.0
	for _, h := range hits {
		t := h.Turn
		if t == nil || len(out) >= p.r.o.TurnItems {
			continue
		}
		body := plain(clip(t.Text, p.r.o.ItemChars))
		if body == "" {
			continue
		}
		best = max(best, h.Score)
		name := plain(t.Name)
		if name == "" {
			name = string(t.Role)
		}
		text := "- [" + string(t.Trust) + "] " + name + ": " + body + "\n"
		out = append(out, line{hit: h, text: text, tokens: p.count(text), day: p.r.day(t.Time) + "\n"})
	}
	if best < minTurn {
		return nil
	}
	slices.SortStableFunc(out, byScore)
	return out
}

// day is the date on the clock of whoever said it. A time in UTC names no such clock, and is read by the configured
// zone's.
func (r *Reader) day(t time.Time) string {
	if _, offset := t.Zone(); offset == 0 && r.o.Zone != nil {
		t = t.In(r.o.Zone)
	}
	return t.Format(time.DateOnly)
}

func (b *block) empty() bool {
	return len(b.profile)+len(b.group)+len(b.agent)+len(b.turns) == 0
}

// drop removes the line that matters least.
func (b *block) drop() {
	for _, list := range []*[]line{&b.turns, &b.agent, &b.group, &b.profile} {
		if n := len(*list); n > 0 {
			*list = (*list)[:n-1]
			return
		}
	}
}

func textOf(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}
