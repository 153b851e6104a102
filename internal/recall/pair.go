package recall

import (
	"encoding/json"
	"strings"

	"memoryd"
)

// pair leaves only calls that have their result and results that have their call. A result belongs to a call of the
// assistant messages directly before its run of tool messages: models' APIs refuse any that stands elsewhere, and ids
// such as "call_0" come again in later turns.
func (f frame) pair(chat []memoryd.Message) []memoryd.Message {
	var out []memoryd.Message
	for i := 0; i < len(chat); {
		a := i
		for a < len(chat) && chat[a].Role == memoryd.RoleAssistant {
			a++
		}
		b := a
		for b < len(chat) && chat[b].Role == memoryd.RoleTool {
			b++
		}
		if b == i {
			out = append(out, chat[i])
			i++
			continue
		}
		out = append(out, f.pairBlock(chat[i:a], chat[a:b])...)
		i = b
	}
	return out
}

// pairBlock pairs the calls of neighbouring assistant messages with the results behind them.
func (f frame) pairBlock(assistants, tools []memoryd.Message) []memoryd.Message {
	free := map[string]int{} // results that no call has claimed
	for _, m := range tools {
		free[m.ToolCallID]++
	}
	claimed := map[string]int{}
	var out []memoryd.Message
	for _, m := range assistants {
		calls := callsOf(m)
		var kept []json.RawMessage
		for _, c := range calls {
			if id := callID(c); free[id] > 0 {
				free[id]--
				claimed[id]++
				kept = append(kept, c)
			}
		}
		if len(kept) == 0 && !says(m) {
			continue
		}
		out = append(out, f.withCalls(m, calls, kept))
	}
	for _, m := range tools {
		if claimed[m.ToolCallID] > 0 {
			claimed[m.ToolCallID]--
			out = append(out, m)
		}
	}
	return out
}

// withCalls is the message with those of its calls that are kept, its tokens mended.
func (f frame) withCalls(m memoryd.Message, calls, kept []json.RawMessage) memoryd.Message {
	if len(kept) == len(calls) {
		if len(calls) == 0 {
			m.ToolCalls = nil
		}
		return m
	}
	before := m.ToolCalls
	m.ToolCalls = list(kept)
	m.Tokens -= f.count(string(before))
	if len(kept) > 0 {
		m.Tokens += f.count(string(m.ToolCalls))
	}
	m.Tokens = max(m.Tokens, f.count(m.Text))
	return m
}

// says tells whether the message holds anything beside calls.
func says(m memoryd.Message) bool {
	parts, isParts := partsOf(m.Content)
	return strings.TrimSpace(m.Text) != "" || isParts && len(parts) > 0
}

func callsOf(m memoryd.Message) []json.RawMessage {
	calls, _ := partsOf(m.ToolCalls)
	return calls
}

// callID is "" for a call without an id; it pairs with a result without one.
func callID(call json.RawMessage) string {
	var c struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(call, &c); err != nil {
		return ""
	}
	return c.ID
}
