package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// batch is how many messages or memories go in one request.
const batch = 100

type message struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Name    string    `json:"name"`
	Content string    `json:"content"`
	Time    time.Time `json:"time"`
}

type memory struct {
	Text     string            `json:"text"`
	Scope    string            `json:"scope"`
	Source   string            `json:"source"`
	Occurred map[string]string `json:"occurred"`
	Metadata map[string]string `json:"metadata"`
}

// load stores what was said as the messages of its session, in the order of the file, and statements as memories.
func (e *evaluation) load(ctx context.Context, rows []row) error {
	type place struct {
		conversation string
		session      int
	}
	var order []place
	said := map[place][]row{}
	var statements []row
	for _, r := range rows {
		if r.Speaker == "" {
			statements = append(statements, r)
			continue
		}
		p := place{r.Conversation, r.Session}
		if said[p] == nil {
			order = append(order, p)
		}
		said[p] = append(said[p], r)
	}
	for _, p := range order {
		if err := e.converse(ctx, p.conversation, p.session, said[p]); err != nil {
			return err
		}
	}
	for len(statements) > 0 {
		n := 1
		for n < min(batch, len(statements)) && statements[n].Conversation == statements[0].Conversation {
			n++
		}
		if err := e.state(ctx, statements[:n]); err != nil {
			return err
		}
		statements = statements[n:]
	}
	return nil
}

func (e *evaluation) converse(ctx context.Context, conversation string, session int, rows []row) error {
	path := "/v1/sessions/" + url.PathEscape(fmt.Sprintf("%s %d %s", conversation, session, e.run)) + "/messages"
	for len(rows) > 0 {
		n := min(batch, len(rows))
		list := make([]message, n)
		for i, r := range rows[:n] {
			list[i] = message{ID: r.ID, Role: role(r.Speaker), Name: r.Speaker, Content: r.content(), Time: r.Time}
		}
		var out struct {
			Items []struct {
				Duplicate bool `json:"duplicate"`
			} `json:"items"`
		}
		if err := e.post(ctx, path, map[string]any{"user": e.user(conversation), "messages": list}, &out); err != nil {
			return err
		}
		if len(out.Items) != n {
			return fmt.Errorf("%s stored %d of %d messages", path, len(out.Items), n)
		}
		e.stats.messages += n
		rows = rows[n:]
	}
	return nil
}

// role is who a speaker is to the server. In a talk between people all are users; a name that says it is a machine is
// the assistant's.
func role(speaker string) string {
	switch speaker {
	case "AI", "AI伴侣", "Assistant", "assistant":
		return "assistant"
	}
	return "user"
}

// state stores statements of one conversation as memories; an answer that one is there already makes its row a source of that memory too.
func (e *evaluation) state(ctx context.Context, rows []row) error {
	items := make([]memory, len(rows))
	for i, r := range rows {
		items[i] = memory{
			Text: r.content(), Scope: "global", Source: "import",
			Occurred: map[string]string{"start": r.Time.Format(time.RFC3339)}, Metadata: map[string]string{"id": r.ID},
		}
	}
	var out struct {
		Items []struct {
			State  string `json:"state"`
			Memory struct {
				ID string `json:"id"`
			} `json:"memory"`
			Problem map[string]any `json:"problem"`
		} `json:"items"`
	}
	if err := e.post(ctx, "/v1/memories:batch", map[string]any{"user": e.user(rows[0].Conversation), "items": items}, &out); err != nil {
		return err
	}
	if len(out.Items) != len(items) {
		return fmt.Errorf("the batch answered %d of %d items", len(out.Items), len(items))
	}
	for i, item := range out.Items {
		switch item.State {
		case "stored":
		case "duplicate":
			e.stats.duplicates++
		case "quarantined":
			e.stats.quarantined++
		default:
			return fmt.Errorf("row %s was not stored: %v", rows[i].ID, item.Problem)
		}
		e.stats.memories++
		e.source[item.Memory.ID] = append(e.source[item.Memory.ID], rows[i].ID)
	}
	return nil
}
