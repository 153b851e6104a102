package recall

import (
	"fmt"
	"slices"
	"strings"

	"memoryd"
)

// Notes of a window.
const (
	noteSystemCut = "system_cut"
	noteTooLong   = "newest_too_long"
	noteLed       = "led_by_assistant" // all that was read, or fits, is the assistant's, and a window does not begin with it
)

// frame bounds a window.
type frame struct {
	tokens  int // messages and summary together
	summary int // of these, the summary's at most
	trim    bool
	count   func(string) int
}

// frameOf is the frame of so many tokens in all.
func (r *Reader) frameOf(tokens int) frame {
	return frame{
		tokens:  tokens,
		summary: min(r.o.SummaryTokens, tokens/2),
		trim:    r.o.Alternation == "trim",
		count:   r.o.Count,
	}
}

// window is what of a session goes before a model request.
type window struct {
	messages []memoryd.Message
	tokens   int // of the messages
	summary  *memoryd.Summary
	notes    []string
	first    int64 // lowest seq of the chat in it; behind the last message when there is none
}

// cut makes the window of the newest messages of a session, given oldest first. "Everything, no summary" holds only
// when nothing older was left unread that the summary stands for.
func (f frame) cut(loaded []memoryd.Message, sum *memoryd.Summary) window {
	if len(loaded) == 0 {
		return window{messages: []memoryd.Message{}}
	}
	var w window
	system, chat := f.split(loaded, &w)
	paired := unitsOf(f.alternate(chat))
	units := dropLeading(paired)
	led := len(units) == 0 && len(paired) > 0

	whole := sum == nil || sum.Text == "" || loaded[0].Seq <= 1
	kept := f.newest(units, f.tokens-w.tokens)
	gaps := false
	if len(kept) < len(units) || !whole {
		kept = f.newest(units, f.tokens-f.summary-w.tokens)
		w.summary = f.fit(sum)
		gaps = len(kept) < len(units) || w.summary != nil
		if len(kept) == 0 && len(units) > 0 {
			w.notes = append(w.notes, noteTooLong)
		}
		full := len(kept) > 0
		kept = dropLeading(kept)
		led = led || full && len(kept) == 0
	}
	if led {
		w.notes = append(w.notes, noteLed)
	}

	flat := slices.Concat(kept...)
	w.first = loaded[len(loaded)-1].Seq + 1
	if len(flat) > 0 {
		w.first = flat[0].Seq
	}
	if n := w.gap(loaded); gaps && n > 0 {
		w.notes = append(w.notes, fmt.Sprintf("gap:%d", n))
	}
	merged := f.merge(flat)
	for _, m := range merged {
		w.tokens += m.Tokens
	}
	w.messages = append(system, merged...)
	return w
}

// gap counts the messages before the window that neither it nor its summary covers. It is told of where the budget
// cut, or a summary stands in front: a client that asked for so many rounds and got them all misses nothing. Those that were not read count
// whatever they are; among the others, system messages stand in front of the window and do not.
func (w *window) gap(loaded []memoryd.Message) int64 {
	var through int64
	if w.summary != nil {
		through = w.summary.ThroughSeq
	}
	n := max(0, loaded[0].Seq-1-through)
	for _, m := range loaded {
		if m.Role != memoryd.RoleSystem && m.Seq > through && m.Seq < w.first {
			n++
		}
	}
	return n
}

// split takes the system messages out of the chat: of equal ones the newest copy, and from the newest on as many as
// fit in half of the frame. Their cost is the window's first.
func (f frame) split(loaded []memoryd.Message, w *window) (system, chat []memoryd.Message) {
	seen := map[string]bool{}
	cut := false
	system = []memoryd.Message{}
	for _, m := range slices.Backward(loaded) {
		if m.Role != memoryd.RoleSystem {
			chat = append(chat, m)
			continue
		}
		key := m.Name + "\x00" + string(m.Content)
		switch {
		case seen[key]:
		case cut || w.tokens+m.Tokens > f.tokens/2:
			cut = true
		default:
			w.tokens += m.Tokens
			system = append(system, m)
		}
		seen[key] = true
	}
	if cut {
		w.notes = append(w.notes, noteSystemCut)
	}
	slices.Reverse(system)
	slices.Reverse(chat)
	return system, chat
}

// alternate leaves only tool calls and results that belong together and, in trim mode, one message of each turn. In
// merge mode neighbours of a role become one only behind the cut, so that a long run of them can be cut inside.
func (f frame) alternate(chat []memoryd.Message) []memoryd.Message {
	chat = f.pair(chat)
	if f.trim {
		// A lost call orphans its results, and those may have stood between two assistant messages.
		chat = newestOfEach(f.pair(newestOfEach(chat)))
	}
	return chat
}

// newestOfEach keeps the newest of neighbours that have the same role. Tool messages are no turn of their own.
func newestOfEach(chat []memoryd.Message) []memoryd.Message {
	var out []memoryd.Message
	for i, m := range chat {
		last := i == len(chat)-1 || chat[i+1].Role != m.Role
		if last || m.Role == memoryd.RoleTool {
			out = append(out, m)
		}
	}
	return out
}

// unitsOf divides the chat into what stands or falls together: single messages, and calls with all their results.
func unitsOf(chat []memoryd.Message) [][]memoryd.Message {
	var out [][]memoryd.Message
	for i := 0; i < len(chat); {
		j := i + 1
		if len(chat[i].ToolCalls) > 0 {
			for j < len(chat) && chat[j].Role == memoryd.RoleAssistant {
				j++
			}
			for j < len(chat) && chat[j].Role == memoryd.RoleTool {
				j++
			}
		}
		out = append(out, chat[i:j])
		i = j
	}
	return out
}

// dropLeading drops what stands before the first message that is not the assistant's or its tools'.
func dropLeading(units [][]memoryd.Message) [][]memoryd.Message {
	for len(units) > 0 && units[0][0].Role == memoryd.RoleAssistant {
		units = units[1:]
	}
	return units
}

// newest takes units from the end until the first that does not fit.
func (f frame) newest(units [][]memoryd.Message, budget int) [][]memoryd.Message {
	t := f.tally()
	for i, u := range slices.Backward(units) {
		next := t
		for _, m := range slices.Backward(u) {
			next.add(m)
		}
		if next.total() > budget {
			return units[i+1:]
		}
		t = next
	}
	return units
}

// fit is the summary within its share. A longer one (made for a larger window) is cut at its end.
func (f frame) fit(sum *memoryd.Summary) *memoryd.Summary {
	if sum == nil || strings.TrimSpace(sum.Text) == "" {
		return nil
	}
	s := *sum
	if s.Tokens <= f.summary {
		return &s
	}
	s.Text = clipTokens(s.Text, f.summary, f.count)
	if s.Text == "" {
		return nil
	}
	s.Tokens = f.count(s.Text)
	return &s
}
