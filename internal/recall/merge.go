package recall

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"memoryd"
)

const blankLine = "\n\n"

// tally adds up what messages cost once neighbours of a role are merged; it is fed from the newest to the oldest, or
// the other way round.
type tally struct {
	count  func(string) int
	joiner int

	closed   int // runs that are complete
	role     memoryd.Role
	run      int // messages of the current run, joiners included
	prefixes int // what its names would add
	name     string
	user     string
	differ   bool // whose words they are
}

func (f frame) tally() tally { return tally{count: f.count, joiner: f.count(blankLine)} }

// speaker is whose words a message is: its name, or in a group the user that it belongs to.
func speaker(m memoryd.Message) string {
	if m.Name != "" {
		return m.Name
	}
	return m.User
}

func (t *tally) add(m memoryd.Message) {
	if t.role != m.Role || m.Role == memoryd.RoleTool {
		t.closed = t.total()
		t.role, t.run, t.prefixes, t.name, t.user, t.differ = m.Role, 0, 0, m.Name, m.User, false
	} else {
		t.run += t.joiner
	}
	t.run += m.Tokens
	t.differ = t.differ || m.Name != t.name || m.Name == "" && m.User != t.user
	if name := speaker(m); name != "" {
		t.prefixes += t.count(name + ": ")
	}
}

func (t *tally) total() int {
	if t.differ {
		return t.closed + t.run + t.prefixes
	}
	return t.closed + t.run
}

// merge makes one message of neighbours that have the same role. It keeps the identity (id, seq, time, metadata) of
// its oldest part, so that paging back from the first message of a window skips nothing and repeats nothing.
func (f frame) merge(chat []memoryd.Message) []memoryd.Message {
	var out []memoryd.Message
	for i := 0; i < len(chat); {
		j := i + 1
		for j < len(chat) && chat[j].Role == chat[i].Role && chat[i].Role != memoryd.RoleTool {
			j++
		}
		if j == i+1 {
			out = append(out, chat[i])
		} else {
			out = append(out, f.one(chat[i:j]))
		}
		i = j
	}
	return out
}

// one is a run of at least two messages of the same role as one message.
func (f frame) one(run []memoryd.Message) memoryd.Message {
	m := run[0]
	t := f.tally()
	var calls []json.RawMessage
	for _, x := range run {
		t.add(x)
		calls = append(calls, callsOf(x)...)
		m.Trust = m.Trust.Lower(x.Trust)
		if x.User != m.User {
			m.User = ""
		}
		if x.Kind == "chat" {
			m.Kind = "chat"
		}
	}
	m.Tokens = t.total()
	m.ToolCalls = list(calls)
	if t.differ {
		m.Name = ""
	}
	m.Text, m.Content = joined(run, t.differ)
	return m
}

// joined is the words and the content of a run. A single list of parts makes the whole a list.
func joined(run []memoryd.Message, named bool) (string, json.RawMessage) {
	var texts []string
	var parts []json.RawMessage
	anyParts, anyText := false, false
	for _, m := range run {
		prefix := ""
		if name := speaker(m); named && name != "" {
			prefix = name + ": "
		}
		own, isParts := partsOf(m.Content)
		anyParts = anyParts || isParts
		anyText = anyText || !isNull(m.Content)
		if m.Text != "" {
			texts = append(texts, prefix+m.Text)
		}
		switch {
		case isParts && len(own) > 0:
			if prefix != "" {
				parts = append(parts, textPart(prefix))
			}
			parts = append(parts, own...)
		case !isParts && m.Text != "":
			parts = append(parts, textPart(prefix+m.Text))
		}
	}
	text := strings.Join(texts, blankLine)
	switch {
	case anyParts:
		if parts == nil {
			return text, json.RawMessage("[]")
		}
		return text, list(parts)
	case anyText:
		return text, encode(text)
	}
	return text, json.RawMessage("null")
}

// partsOf is the elements of a content that is a list.
func partsOf(content json.RawMessage) ([]json.RawMessage, bool) {
	if c := bytes.TrimSpace(content); len(c) == 0 || c[0] != '[' {
		return nil, false
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, false
	}
	return parts, true
}

func isNull(content json.RawMessage) bool {
	c := bytes.TrimSpace(content)
	return len(c) == 0 || bytes.Equal(c, []byte("null"))
}

func textPart(text string) json.RawMessage {
	return slices.Concat([]byte(`{"type":"text","text":`), encode(text), []byte("}"))
}

// list is a JSON array of elements that are JSON already, nil for none.
func list(elements []json.RawMessage) json.RawMessage {
	if len(elements) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(asBytes(elements), []byte(",")), []byte("]"))
}

func asBytes(in []json.RawMessage) [][]byte {
	out := make([][]byte, len(in))
	for i, x := range in {
		out[i] = x
	}
	return out
}

// encode is a JSON string that leaves <, > and & as they are.
func encode(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Encoding a string cannot fail.
	_ = e.Encode(text)
	return bytes.TrimRight(b.Bytes(), "\n")
}
