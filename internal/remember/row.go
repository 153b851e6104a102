package remember

import (
	"encoding/json"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/guard"
)

// What a write cleans, a row that is moved as it is must be free of: cleaning it would make another row of it.

func asItIs(path string, notes []string, err error) error {
	if err == nil && len(notes) > 0 {
		return memoryd.BadField(path, "holds characters that hide or reorder what is written")
	}
	return err
}

// CheckMemory answers what no write would have stored in a memory. Its ids, its scope, its metadata and the
// words of its lists are the caller's to look at.
func CheckMemory(m memoryd.Memory) []error {
	w := &Writer{o: Options{Guard: guard.Cleaner{}}}
	_, notes, err := w.checkText("text", m.Text)
	_, said, err2 := w.checkLabels("labels", m.Labels)
	_, err3 := checkSpan("occurred", m.Occurred)
	return []error{asItIs("text", notes, err), asItIs("labels", said, err2), err3}
}

// CheckMessage answers what no write would have stored in a message. Its id, seq and metadata are the caller's to
// look at.
func CheckMessage(m memoryd.Message) []error {
	calls, err := checkCalls("tool_calls", m.ToolCalls)
	if err == nil && calls != nil && m.Role != memoryd.RoleAssistant {
		err = memoryd.BadField("tool_calls", "belongs to a message of the assistant")
	}
	body, err2 := readContent("content", m.Content, calls != nil)
	if err2 == nil && body.size+len(calls) > maxMessage {
		err2 = memoryd.BadFieldAs("too-long", "content", "is larger than %d KiB together with its tool calls", maxMessage>>10)
	}
	_, notes := guard.Cleaner{}.Check(m.Text)
	var err3 error
	if len(m.Text) > maxMessage {
		err3 = memoryd.BadFieldAs("too-long", "text", "is larger than %d KiB", maxMessage>>10)
	}
	m.ID = ""
	return []error{err, asItIs("content", body.notes, err2), asItIs("text", notes, err3), checkMessage("", m)}
}

// CheckMetadata answers why no write would have stored the metadata of a memory, message or session.
func CheckMetadata(raw json.RawMessage) error {
	_, notes, err := checkMetadata("metadata", raw)
	return asItIs("metadata", notes, err)
}

// CheckNote looks at the words that a write puts beside a row: who wrote it, with what, and why it was put away.
func CheckNote(path, text string) error {
	if utf8.RuneCountInString(text) > maxText {
		return memoryd.BadFieldAs("too-long", path, "is longer than %d characters", maxText)
	}
	_, notes := guard.Cleaner{}.Check(text)
	return asItIs(path, notes, nil)
}
