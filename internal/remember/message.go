package remember

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
)

// Kinds of messages.
const (
	kindChat = "chat"
	kindStep = "step"
	kindTool = "tool"
)

// message checks what a client sends and makes of it what is stored, all but User and Seq, which the session decides.
func (w *Writer) message(g access.Grant, at string, n NewMessage, now time.Time) (m memoryd.Message, notes []string, err error) {
	m = memoryd.Message{
		ID: n.ID, Role: n.Role, Name: n.Name, User: n.User, ToolCallID: n.ToolCallID, Kind: n.Kind, Time: now, Recorded: now, Writer: g.Writer(),
	}
	if m.Kind == "" {
		m.Kind = kindChat
	}
	if n.Time != nil {
		m.Time = n.Time.Truncate(time.Microsecond)
	}
	if err := checkMessage(at, m); err != nil {
		return m, nil, err
	}
	if m.ID == "" {
		m.ID = w.o.NewID()
	}
	calls, err := checkCalls(at+"tool_calls", n.ToolCalls)
	if err != nil {
		return m, nil, err
	}
	if calls != nil && m.Role != memoryd.RoleAssistant {
		return m, nil, memoryd.BadField(at+"tool_calls", "belongs to a message of the assistant")
	}
	body, err := readContent(at+"content", n.Content, calls != nil)
	if err != nil {
		return m, nil, err
	}
	if body.size+len(calls) > maxMessage {
		return m, nil, memoryd.BadFieldAs("too-long", at+"content", "is larger than %d KiB together with its tool calls", maxMessage>>10)
	}
	metadata, more, err := checkMetadata(at+"metadata", n.Metadata)
	if err != nil {
		return m, nil, err
	}
	m.Content, m.Text, m.ToolCalls, m.Metadata = body.raw, body.text, calls, metadata
	m.Tokens = body.media * mediaTokens
	for _, part := range []string{m.Text, body.other, string(calls)} {
		if part != "" {
			m.Tokens += w.o.Count(part)
		}
	}
	m.Trust = turnTrust(m.Role).Lower(g.MaxTrust())
	m.Searchable = m.Role != memoryd.RoleSystem && m.Kind == kindChat && words(memoryd.StripFence(m.Text))
	return m, union(body.notes, more), nil
}

func checkMessage(at string, m memoryd.Message) error {
	if m.ID != "" {
		if err := memoryd.CheckID(at+"id", m.ID); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := memoryd.CheckID(at+"user", m.User); err != nil {
			return err
		}
	}
	switch m.Role {
	case memoryd.RoleSystem, memoryd.RoleUser, memoryd.RoleAssistant, memoryd.RoleTool:
	default:
		return memoryd.BadField(at+"role", "want system, user, assistant or tool")
	}
	switch m.Kind {
	case kindChat, kindStep, kindTool:
	default:
		return memoryd.BadField(at+"kind", "want chat, step or tool")
	}
	if err := checkName(at+"name", m.Name, maxName); err != nil {
		return err
	}
	if err := checkName(at+"tool_call_id", m.ToolCallID, maxCallID); err != nil {
		return err
	}
	return checkTime(at+"time", m.Time)
}

// turnTrust is how far what a role says is to be believed.
func turnTrust(r memoryd.Role) memoryd.Trust {
	switch r {
	case memoryd.RoleUser:
		return memoryd.High
	case memoryd.RoleTool:
		return memoryd.Low
	}
	return memoryd.Medium
}

// content is a message's content as it is stored, and the words in it.
type content struct {
	raw   json.RawMessage
	text  string
	other string // the JSON of parts that are neither text nor media, which a model reads too
	media int    // pictures, sounds and files
	size  int
	notes []string
}

// mediaTokens is what a picture, a sound or a file is taken to cost: about what a picture of 1,024 pixels a side costs
// the usual models. Its bytes say nothing of it.
const mediaTokens = 1000

func null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readContent takes a string, a list of parts, or beside tool calls null.
func readContent(path string, raw json.RawMessage, calls bool) (content, error) {
	raw = bytes.TrimSpace(raw)
	if null(raw) {
		if !calls {
			return content{}, memoryd.BadField(path, "is missing; only a message with tool calls may go without")
		}
		return content{raw: json.RawMessage("null")}, nil
	}
	doc, err := guard.CleanJSON(path, raw)
	if err != nil {
		return content{}, err
	}
	c := content{raw: doc.Raw, size: doc.Size, notes: doc.Notes}
	switch raw[0] {
	case '"':
		c.size -= 2 // the quotes
		err = json.Unmarshal(doc.Raw, &c.text)
	case '[':
		err = c.readParts(path)
	default:
		err = memoryd.BadField(path, "want a string, a list of parts, or null")
	}
	return c, err
}

// readParts joins the text of the parts, and takes note of what else a model will read.
func (c *content) readParts(path string) error {
	var parts []json.RawMessage
	if json.Unmarshal(c.raw, &parts) != nil {
		return memoryd.BadField(path, "want a list of objects")
	}
	var texts, others []string
	for i, raw := range parts {
		var p map[string]json.RawMessage
		if json.Unmarshal(raw, &p) != nil {
			return memoryd.BadField(path, "want a list of objects")
		}
		var kind, text string
		if p == nil || json.Unmarshal(p["type"], &kind) != nil || kind == "" {
			return memoryd.BadField(fmt.Sprintf("%s[%d].type", path, i), "is missing")
		}
		switch kind {
		case "text", "input_text", "output_text":
			if null(p["text"]) || json.Unmarshal(p["text"], &text) != nil {
				return memoryd.BadField(fmt.Sprintf("%s[%d].text", path, i), "want a string")
			}
			texts = append(texts, text)
		case "image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document", "video", "video_url":
			c.media++
		default:
			others = append(others, string(raw))
		}
	}
	c.text, c.other = strings.Join(texts, "\n"), strings.Join(others, "\n")
	return nil
}

// checkCalls takes a list of objects, and keeps it byte for byte: arguments are the model's, to be sent back as they
// were. Nothing, null and an empty list are none.
func checkCalls(path string, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if null(raw) {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if !utf8.Valid(raw) || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil, memoryd.BadField(path, "want a list of objects")
	}
	for i, call := range list {
		if call == nil {
			return nil, memoryd.BadField(fmt.Sprintf("%s[%d]", path, i), "want an object")
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return raw, nil
}
