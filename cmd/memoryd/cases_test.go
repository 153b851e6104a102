package main

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Faults that users of other memory systems reported, each told as steps with made-up texts.

func TestCaseListQIsLiteral(t *testing.T) {
	c := startServer(t, "")
	for _, s := range []string{"返现比例是100%", "返现上限是1000元", "变量名是a_b", "变量名是aXb", `路径是C:\tmp`} {
		c.add(obj{"text": s, "scope": "global"})
	}
	for q, want := range map[string]string{"100%": "返现比例是100%", "a_b": "变量名是a_b", "%": "返现比例是100%", `C:\tmp`: `路径是C:\tmp`} {
		got := texts(c.want(200, "GET", "/v1/memories?q="+url.QueryEscape(q), nil), "text")
		if !slices.Equal(got, []string{want}) {
			t.Errorf("q=%s: %q, want only %q", q, got, want)
		}
	}
}

func TestCaseToolResultAtTheRoundsCut(t *testing.T) {
	c := startServer(t, "")
	c.want(201, "POST", "/v1/sessions/s/messages", obj{"messages": []obj{
		{"role": "user", "content": "weather in Oslo?"},
		{"role": "assistant", "content": "", "tool_calls": []obj{{"id": "c1", "type": "function", "function": obj{"name": "weather", "arguments": "{}"}}}},
		{"role": "tool", "tool_call_id": "c1", "content": "4 degrees"},
		{"role": "assistant", "content": "It is 4 degrees."},
		{"role": "user", "content": "and tomorrow?"},
	}})
	one := messages(c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 1}))
	if !slices.Equal(one, []string{"user: and tomorrow?"}) {
		t.Errorf("rounds 1: %q", one)
	}
	two := messages(c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 2}))
	want := []string{"user: weather in Oslo?", "assistant: ", "tool: 4 degrees", "assistant: It is 4 degrees.", "user: and tomorrow?"}
	if !slices.Equal(two, want) {
		t.Errorf("rounds 2: %q", two)
	}
}

func messages(out obj) []string {
	list := []string{}
	for _, m := range out["messages"].([]any) {
		list = append(list, fmt.Sprintf("%s: %s", m.(obj)["role"], m.(obj)["content"]))
	}
	return list
}

func TestCaseSystemPromptResentEachTurn(t *testing.T) {
	c := startServer(t, "")
	prompt := strings.Repeat("You answer briefly and kindly. ", 16)
	for i := range 40 {
		c.append("s", nil, "system", prompt, "user", fmt.Sprintf("question %d", i), "assistant", fmt.Sprintf("answer %d", i))
	}
	out := c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "x", "rounds": 1000, "window_tokens": 4000})
	got := messages(out)
	if len(got) == 0 || got[0] != "system: "+prompt {
		t.Fatalf("the system prompt does not stand in front: %q", got)
	}
	all := strings.Join(got, "\n")
	if n := strings.Count(all, prompt); n != 1 {
		t.Errorf("the system prompt stands there %d times", n)
	}
	for i := range 40 {
		if !slices.Contains(got, fmt.Sprintf("user: question %d", i)) {
			t.Errorf("question %d is missing", i)
		}
	}
	if n := out["tokens"].(obj)["messages"].(float64); n > 4000 {
		t.Errorf("%v tokens", n)
	}
}

func TestCaseNewestMessageLargerThanWindow(t *testing.T) {
	c := startServer(t, "")
	var big strings.Builder
	for i := range 20000 {
		big.WriteRune(rune(0x4e00 + i))
	}
	c.append("s", nil, "user", "先看这个", "assistant", "好的", "user", big.String())
	out := c.want(200, "POST", "/v1/context", obj{"session": "s", "query": "看完了吗", "window_tokens": 4000})
	if got := messages(out); len(got) != 0 {
		t.Errorf("%d messages came, the newest should close the window", len(got))
	}
	if n := out["tokens"].(obj)["messages"].(float64); n != 0 {
		t.Errorf("%v tokens", n)
	}
	if !slices.Contains(out["notes"].([]any), any("newest_too_long")) {
		t.Errorf("an empty window does not say why: %v", out["notes"])
	}
}

func TestCaseLongLineDoesNotHideShortOnes(t *testing.T) {
	c := startServer(t, "")
	long := "报销流程"
	for i := range 850 {
		long += string(rune(0x5000 + i*7%2000))
	}
	c.add(obj{"text": long, "scope": "global", "type": "fact"})
	s1 := "报销流程：每月五号前交单"
	s2 := "报销流程：要附电子发票"
	c.add(obj{"text": s1, "scope": "global", "type": "fact"})
	c.add(obj{"text": s2, "scope": "global", "type": "fact"})
	out := c.want(200, "POST", "/v1/context", obj{"query": "报销流程", "memory_tokens": 300})
	got := texts(out["user_profile"].(obj), "text")
	slices.Sort(got)
	if !slices.Equal(got, []string{s1, s2}) {
		t.Errorf("user_profile holds %q", got)
	}
	rendered := out["rendered"].(string)
	if !strings.Contains(rendered, s1+"\n") || !strings.Contains(rendered, s2+"\n") || strings.Contains(rendered, long[len(long)-30:]) {
		t.Errorf("rendered: %s", rendered)
	}
	if n := out["tokens"].(obj)["long_term"].(float64); n > 300 {
		t.Errorf("%v tokens", n)
	}
}

func TestCaseCJKTokenBudgetIsReal(t *testing.T) {
	c := startServer(t, "")
	var items []obj
	for i := range 80 {
		text := []rune(fmt.Sprintf("那次旅行第%d天", i))
		for j := 0; len(text) < 100; j++ {
			text = append(text, rune(0x4e00+(i*131+j*37)%6000))
		}
		items = append(items, obj{"text": string(text), "scope": "global", "type": "fact"})
	}
	c.want(200, "POST", "/v1/memories:batch", obj{"items": items})
	out := c.want(200, "POST", "/v1/context", obj{"query": "那次旅行", "memory_tokens": 1000})
	whole := otherTokenizer(t, out["rendered"].(string))
	profile := otherTokenizer(t, out["user_profile"].(obj)["text"].(string))
	if whole > 1000 || profile > 600 || whole < 400 {
		t.Errorf("rendered takes %d tokens, user_profile %d", whole, profile)
	}
	if said := int(out["tokens"].(obj)["long_term"].(float64)); said != whole {
		t.Errorf("the answer says %d tokens, another tokenizer %d", said, whole)
	}
}

func TestCaseSameSessionIDTwoUsers(t *testing.T) {
	c := startServer(t, "agents: {named: {helper: {read: [dm, global], write: [dm]}}}")
	c.append("chat-1", obj{"user": "amy"}, "user", "My name is Amy, my PIN hint is the harbour")
	op := c.as(c.want(201, "POST", "/v1/keys", obj{"kind": "operator"})["key"].(string))
	bob := c.as(op.want(201, "POST", "/v1/keys", obj{"kind": "agent", "tenant": "default", "agent": "helper", "user": "bob"})["key"].(string))
	for _, as := range []struct {
		who  caller
		user any
	}{{op, "bob"}, {bob, nil}} {
		body := func(b obj) obj {
			if as.user != nil {
				b["user"] = as.user
			}
			return b
		}
		for _, r := range []reply{
			as.who.do("POST", "/v1/sessions/chat-1/messages", body(obj{"messages": []obj{{"role": "user", "content": "hello"}}})),
			as.who.do("POST", "/v1/context", body(obj{"session": "chat-1", "query": "what is my name"})),
			as.who.do("GET", "/v1/sessions/chat-1?user=bob", nil),
			as.who.do("GET", "/v1/sessions/chat-1/messages?user=bob", nil),
			as.who.do("DELETE", "/v1/sessions/chat-1?user=bob", nil),
		} {
			if r.status != 404 || strings.Contains(string(r.body), "Amy") || strings.Contains(string(r.body), "harbour") {
				t.Errorf("status %d: %s", r.status, r.body)
			}
		}
		if got := as.who.want(200, "GET", "/v1/sessions?user=bob", nil)["items"].([]any); len(got) != 0 {
			t.Errorf("bob's sessions: %v", got)
		}
	}
	if got := op.want(200, "GET", "/v1/sessions/chat-1?user=amy", nil)["last_seq"]; got != 1.0 {
		t.Errorf("amy's session has last_seq %v", got)
	}
}

func TestCaseOtherGroupNotRecalled(t *testing.T) {
	c := startServer(t, "")
	for _, g := range []struct{ id, text string }{{"a", "小林的妈妈叫陈梅"}, {"b", "小林的妈妈叫周兰"}} {
		c.add(obj{"user": "amy", "scope": "group:" + g.id, "text": g.text})
		c.append("s"+g.id, obj{"user": "amy", "group": g.id}, "user", g.text)
	}
	q := "小林的妈妈叫什么"
	search := c.do("POST", "/v1/search", obj{"user": "amy", "query": q, "scope": "group:a", "include": []string{"memory", "turn"}, "min_score": 0})
	inB := c.do("POST", "/v1/context", obj{"user": "amy", "group": "b", "query": q})
	alone := c.do("POST", "/v1/context", obj{"user": "amy", "query": q})
	for _, x := range []struct {
		name       string
		r          reply
		chen, zhou bool
	}{{"search in a", search, true, false}, {"context in b", inB, false, true}, {"context alone", alone, false, false}} {
		if x.r.status != 200 || strings.Contains(string(x.r.body), "陈梅") != x.chen || strings.Contains(string(x.r.body), "周兰") != x.zhou {
			t.Errorf("%s: %d %s", x.name, x.r.status, x.r.body)
		}
	}
}

func TestCaseMetadataCannotMoveARow(t *testing.T) {
	c := startServer(t, "")
	id := c.add(obj{"user": "amy", "scope": "dm", "text": "the spare key is under the blue pot",
		"metadata": obj{"user": "bob", "user_id": "bob", "scope": "global", "trust": "high", "status": "active", "tenant": "t2"}})
	sent := obj{"user": "bob", "scope": "global", "agent": "z", "expires": "2020-01-01T00:00:00Z"}
	c.want(200, "PATCH", "/v1/memories/"+id, obj{"metadata": sent})
	if r := c.do("PATCH", "/v1/memories/"+id, obj{"user": "bob"}); r.status != 422 || !slices.Contains(r.fieldNames(t), "user") {
		t.Errorf("PATCH user: %d %s", r.status, r.body)
	}
	got := c.want(200, "GET", "/v1/memories/"+id, nil)
	if got["user"] != "amy" || got["scope"] != "dm" || got["status"] != "active" || got["expires"] != nil || !reflect.DeepEqual(got["metadata"], any(map[string]any(sent))) {
		t.Errorf("the row moved: %v", got)
	}
	if list := c.want(200, "GET", "/v1/memories?user=bob", nil)["items"].([]any); len(list) != 0 {
		t.Errorf("bob's list: %v", list)
	}
}

func TestCaseByIDWithoutTheRight(t *testing.T) {
	c := startServer(t, "agents: {named: {w1: {read: [], write: []}, w2: {read: [], write: []}}}")
	id := c.add(obj{"agent": "w2", "scope": "agent:w2", "text": "w2 keeps the ledger"})
	op := c.as(c.want(201, "POST", "/v1/keys", obj{"kind": "operator"})["key"].(string))
	w1 := c.as(op.want(201, "POST", "/v1/keys", obj{"kind": "agent", "tenant": "default", "agent": "w1"})["key"].(string))
	at := "/v1/memories/" + id
	for _, r := range []reply{
		w1.do("GET", at, nil),
		w1.do("PATCH", at, obj{"text": "x"}),
		w1.do("DELETE", at, nil),
		w1.do("GET", at+"/history", nil),
		w1.do("POST", at+"/restore", obj{}),
		w1.do("GET", "/v1/memories/01900000-0000-7000-8000-000000000000", nil),
		w1.do("DELETE", "/v1/memories/01900000-0000-7000-8000-000000000000", nil),
	} {
		if r.status != 404 || len(r.fieldNames(t)) != 0 || strings.Contains(string(r.body), "ledger") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	got := op.want(200, "GET", at, nil)
	if got["text"] != "w2 keeps the ledger" || got["version"] != 1.0 || got["uses"] != 0.0 {
		t.Errorf("the row changed: %v", got)
	}
}

func TestCasePagesWithEqualTimes(t *testing.T) {
	for _, sort := range []string{"recorded", "last_used", "importance"} {
		t.Run(sort, func(t *testing.T) { pageThrough(t, sort) })
	}
}

func pageThrough(t *testing.T, sort string) {
	c := startServer(t, "")
	var items []obj
	for i := range 500 {
		items = append(items, obj{"text": fmt.Sprintf("row number %d", i), "scope": "global", "importance": 5, "type": "fact"})
	}
	c.want(200, "POST", "/v1/memories:batch", obj{"items": items})
	c.add(obj{"text": "row number 500", "scope": "global", "importance": 5, "type": "fact"})
	first := c.want(200, "GET", "/v1/memories?limit=200&sort="+sort, nil)
	seen := texts(first, "id")
	var unread string
	for _, it := range c.want(200, "GET", "/v1/memories?limit=200&sort="+sort+"&cursor="+url.QueryEscape(first["next_cursor"].(string)), nil)["items"].([]any) {
		unread = it.(obj)["id"].(string)
	}
	c.want(200, "PATCH", "/v1/memories/"+unread, obj{"labels": obj{"seen": "no"}})
	c.want(200, "DELETE", "/v1/memories/"+seen[7], nil)
	c.add(obj{"text": "one that came late", "scope": "global", "importance": 5, "type": "fact"})
	sizes := []int{len(seen)}
	for next := first["next_cursor"]; next != nil; {
		page := c.want(200, "GET", "/v1/memories?limit=200&sort="+sort+"&cursor="+url.QueryEscape(next.(string)), nil)
		sizes = append(sizes, len(page["items"].([]any)))
		seen = append(seen, texts(page, "id")...)
		next = page["next_cursor"]
	}
	unique := slices.Compact(slices.Sorted(slices.Values(seen)))
	if len(unique) != len(seen) {
		t.Errorf("%d rows came twice", len(seen)-len(unique))
	}
	if !slices.Equal(sizes, []int{200, 200, 101}) && !slices.Equal(sizes, []int{200, 200, 102}) {
		t.Errorf("pages of %v", sizes)
	}
	for _, bad := range []string{"0", "-1", "201", "ten"} {
		if r := c.do("GET", "/v1/memories?limit="+bad, nil); r.status != 422 || !slices.Equal(r.fieldNames(t), []string{"limit"}) {
			t.Errorf("limit=%s: %d %s", bad, r.status, r.body)
		}
	}
	other := map[string]string{"recorded": "importance", "last_used": "recorded", "importance": "last_used"}[sort]
	cursor := url.QueryEscape(first["next_cursor"].(string))
	for _, q := range []string{"sort=" + other, "sort=" + sort + "&user=bob"} {
		if r := c.do("GET", "/v1/memories?limit=200&"+q+"&cursor="+cursor, nil); r.status != 422 || !slices.Equal(r.fieldNames(t), []string{"cursor"}) {
			t.Errorf("a cursor of another list with %s: %d %s", q, r.status, r.body)
		}
	}
}

func TestCasePagesOfMessages(t *testing.T) {
	c := startServer(t, "")
	var list []obj
	for i := range 501 {
		list = append(list, obj{"role": "user", "content": fmt.Sprintf("message %d", i), "time": "2026-05-01T10:00:00Z"})
	}
	c.want(201, "POST", "/v1/sessions/s/messages", obj{"messages": list})
	var seqs []float64
	pages := 0
	for path := "/v1/sessions/s/messages?limit=50"; ; pages++ {
		out := c.want(200, "GET", path, nil)
		var page []float64
		for _, m := range out["items"].([]any) {
			page = append(page, m.(obj)["seq"].(float64))
		}
		seqs = append(page, seqs...)
		if out["next_cursor"] == nil {
			break
		}
		path = "/v1/sessions/s/messages?limit=50&cursor=" + url.QueryEscape(out["next_cursor"].(string))
	}
	if len(seqs) != 501 || pages != 10 {
		t.Fatalf("%d messages in %d pages", len(seqs), pages+1)
	}
	for i, s := range seqs {
		if s != float64(i+1) {
			t.Fatalf("place %d holds seq %v", i, s)
		}
	}
}

func TestCaseInstantsNotStrings(t *testing.T) {
	c := startServer(t, "")
	id := c.add(obj{"text": "the tide table hangs by the door", "scope": "global"})
	at := c.want(200, "GET", "/v1/memories/"+id, nil)["recorded"].(string)
	for _, q := range []struct {
		query string
		n     int
	}{
		{"since=2026-01-01T00:00:00%2B09:00&until=2100-01-01T00:00:00%2B09:00", 1},
		{"since=2025-12-31T15:00:00Z&until=2099-12-31T15:00:00Z", 1},
		{"since=" + url.QueryEscape(at), 1},
		{"until=" + url.QueryEscape(at), 0},
	} {
		if got := c.want(200, "GET", "/v1/memories?"+q.query, nil)["items"].([]any); len(got) != q.n {
			t.Errorf("%s: %d rows, want %d", q.query, len(got), q.n)
		}
	}
	for _, bad := range []string{"2026-09-04", "2026-09-04T00:00:00", "1788447600"} {
		if r := c.do("GET", "/v1/memories?since="+bad, nil); r.status != 422 || !slices.Equal(r.fieldNames(t), []string{"since"}) {
			t.Errorf("since=%s: %d %s", bad, r.status, r.body)
		}
	}
}

func TestCasePatchIntoATwin(t *testing.T) {
	c := startServer(t, "agents: {named: {scribe: {write: [global], read: [global], allowed_types: [fact]}}}")
	c.add(obj{"text": "v1 ships on 1 July", "scope": "global", "type": "fact"})
	b := c.add(obj{"text": "v1 ships on 3 August", "scope": "global", "type": "fact"})
	if r := c.do("PATCH", "/v1/memories/"+b, obj{"text": "v1 ships on 1 July"}); r.status != 409 {
		t.Errorf("PATCH into a twin: %d %s", r.status, r.body)
	}
	if got := c.want(200, "GET", "/v1/memories/"+b, nil); got["text"] != "v1 ships on 3 August" || got["version"] != 1.0 {
		t.Errorf("b changed: %v", got)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c.do("POST", "/v1/memories", obj{"text": "v1 ships on 9 May", "scope": "global", "type": "fact"})
		})
		wg.Go(func() { c.do("PATCH", "/v1/memories/"+b, obj{"text": "v1 ships on 9 May"}) })
	}
	wg.Wait()
	if got := texts(c.want(200, "GET", "/v1/memories?q="+url.QueryEscape("9 May"), nil), "text"); len(got) != 1 {
		t.Errorf("%d active rows of one text", len(got))
	}
	mine := c.add(obj{"agent": "scribe", "text": "the harbour opens at six", "scope": "global", "type": "fact"})
	if r := c.do("PATCH", "/v1/memories/"+mine+"?agent=scribe", obj{"type": "procedure"}); r.status != 403 || !strings.Contains(string(r.body), "type-denied") {
		t.Errorf("PATCH type: %d %s", r.status, r.body)
	}
	if got := c.want(200, "GET", "/v1/memories/"+mine, nil); got["type"] != "fact" || got["version"] != 1.0 {
		t.Errorf("the row changed: %v", got)
	}
}
