package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a context promises, through the whole program.

func TestContextRounds(t *testing.T) {
	c := startServer(t, "")
	c.append("s", nil, "user", "u1", "assistant", "a1", "user", "u2", "assistant", "a2", "user", "u3")
	out := c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 1})
	if got := messages(out); !slices.Equal(got, []string{"user: u2", "assistant: a2", "user: u3"}) {
		t.Errorf("rounds 1: %q", got)
	}
	out = c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 0})
	if got := messages(out); len(got) != 0 || len(out["degraded"].([]any)) != 0 {
		t.Errorf("rounds 0: %q, degraded %v", got, out["degraded"])
	}
	out = c.want(200, "POST", "/v1/context", obj{"session": "not yet", "query": "x"})
	if len(messages(out)) != 0 || len(out["degraded"].([]any)) != 0 {
		t.Errorf("a session that does not exist: %v", out)
	}
	if r := c.do("GET", "/v1/sessions/not%20yet", nil); r.status != 404 {
		t.Errorf("the context made the session: %d", r.status)
	}
}

func TestContextWindowOfLongMessages(t *testing.T) {
	c := startServer(t, "")
	var list []obj
	for i := range 400 {
		role := []string{"user", "assistant"}[i%2]
		list = append(list, obj{"role": role, "content": fmt.Sprintf("message %d %s", i+1, strings.Repeat("and so it goes on ", 20+i%7*10))})
	}
	c.want(201, "POST", "/v1/sessions/s/messages", obj{"messages": list})
	out := c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 1000, "window_tokens": 4000})
	got := out["messages"].([]any)
	if len(got) < 5 {
		t.Fatalf("only %d messages came", len(got))
	}
	sum := 0
	for i, m := range got {
		m := m.(obj)
		sum += otherTokenizer(t, m["content"].(string))
		if want := []string{"user", "assistant"}[i%2]; m["role"] != want {
			t.Errorf("message %d is the %s's", i, m["role"])
		}
		if want := float64(400 - len(got) + 1 + i); m["seq"] != want {
			t.Errorf("message %d has seq %v, want %v: a gap", i, m["seq"], want)
		}
	}
	// Of the whole of 4,000 tokens a summary would get half; the next message back would not have fitted.
	first := int(got[0].(obj)["seq"].(float64))
	next := otherTokenizer(t, list[first-2]["content"].(string)) + otherTokenizer(t, list[first-3]["content"].(string))
	if sum > 2000 || sum+next <= 2000 {
		t.Errorf("the window takes %d tokens, with the two before %d", sum, sum+next)
	}
	if said := int(out["tokens"].(obj)["messages"].(float64)); said != sum {
		t.Errorf("tokens.messages says %d, another tokenizer %d", said, sum)
	}
	if !slices.Contains(out["notes"].([]any), any(fmt.Sprintf("gap:%d", first-1))) {
		t.Errorf("the notes do not say what is missing: %v", out["notes"])
	}
}

func TestContextBudget(t *testing.T) {
	c := startServer(t, "agents: {named: {ops: {long_term: true, read: [global], write: [global]}}}")
	for _, scope := range []string{"global", "agent:ops"} {
		var items []obj
		for i := range 200 {
			items = append(items, obj{"scope": scope, "type": "fact", "trust": "high",
				"text": fmt.Sprintf("harbour note %d of %s: %s", i, scope, strings.TrimSpace(strings.Repeat("the tide table and the crane ", 4+i%9)))})
		}
		c.want(200, "POST", "/v1/memories:batch", obj{"items": items})
	}
	out := c.want(200, "POST", "/v1/context", obj{"query": "harbour note tide table crane", "agent": "ops", "memory_tokens": 1000})
	rendered := out["rendered"].(string)
	whole := otherTokenizer(t, rendered)
	profile := otherTokenizer(t, out["user_profile"].(obj)["text"].(string))
	if whole > 1000 || profile > 600 || profile == 0 {
		t.Errorf("%d tokens, user profile %d", whole, profile)
	}
	if agent := out["agent"].(obj)["items"].([]any); len(agent) == 0 {
		t.Error("the agent's part is empty")
	}
	stored := map[string]bool{}
	for _, scope := range []string{"global", "agent:ops"} {
		for _, text := range texts(c.want(200, "GET", "/v1/memories?limit=200&scope="+scope, nil), "text") {
			stored[text] = true
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(rendered), "\n") {
		if text, ok := strings.CutPrefix(line, "- ["); ok {
			if _, text, _ = strings.Cut(text, "] "); !stored[strings.TrimSpace(text)] {
				t.Errorf("a line is no whole memory: %q", line)
			}
		}
	}
}

func TestOneMemoryIsFoundByItsOwnWords(t *testing.T) {
	for _, text := range []string{"The spare key hangs behind the boiler", "备用钥匙挂在锅炉后面", "Zq7"} {
		c := startServer(t, "")
		c.add(obj{"text": text, "scope": "global"})
		items := c.want(200, "POST", "/v1/search", obj{"query": text})["items"].([]any)
		if len(items) != 1 || items[0].(obj)["score"].(float64) <= 0.3 {
			t.Errorf("%s: %v", text, items)
		}
	}
}

func TestPreferenceStandsWhateverIsAsked(t *testing.T) {
	c := startServer(t, "")
	c.add(obj{"text": "I prefer short answers without exclamation marks", "scope": "global", "source": "user_direct"})
	out := c.want(200, "POST", "/v1/context", obj{"query": "写一下这周的进展"})
	if !strings.Contains(out["user_profile"].(obj)["text"].(string), "short answers") || !strings.Contains(out["rendered"].(string), "short answers") {
		t.Errorf("the preference is missing: %v", out)
	}
}

func TestRenderedBlockIsNotRemembered(t *testing.T) {
	c := startServer(t, "")
	c.add(obj{"text": "The ferry to Brunnen leaves at nine", "scope": "global", "type": "fact"})
	block := c.want(200, "POST", "/v1/context", obj{"query": "when does the ferry leave"})["rendered"].(string)
	if block == "" {
		t.Fatal("nothing was rendered")
	}
	c.append("echo", nil, "user", block, "user", "Pack the lunch boxes.\n"+block)
	out := c.want(200, "POST", "/v1/search", obj{"query": "ferry Brunnen leaves nine", "include": []string{"turn"}, "min_score": 0})
	if got := texts(out, "content"); len(got) != 0 {
		t.Errorf("the block was searched: %q", got)
	}
	out = c.want(200, "POST", "/v1/search", obj{"query": "lunch boxes", "include": []string{"turn"}, "min_score": 0})
	if len(out["items"].([]any)) != 1 {
		t.Errorf("the words beside the block are not found: %v", out)
	}
	kept := c.want(200, "GET", "/v1/sessions/echo/messages", nil)["items"].([]any)
	if kept[0].(obj)["content"] != block {
		t.Errorf("the message was not kept as it was sent: %v", kept[0])
	}
	ctx := c.want(200, "POST", "/v1/context", obj{"query": "lunch boxes for the ferry"})["rendered"].(string)
	if strings.Count(ctx, "Brunnen") > 1 || strings.Count(ctx, "<memory ") != 1 {
		t.Errorf("the block came back as something said: %s", ctx)
	}
}
