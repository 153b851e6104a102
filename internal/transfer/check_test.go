package transfer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	aTenant = `{"row":"tenant","id":"a","created":"2026-01-02T03:04:05Z"}`
	anAgent = `{"row":"agent","tenant":"a","id":"x","settings":{"read":["global"]}}`
)

// TestRefusedRows gives each kind of row what REST refuses: that row is named with its line, and the others are taken.
func TestRefusedRows(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	soon := time.Now().Add(25 * time.Hour).UTC().Format(time.RFC3339)
	var labels []string
	for i := range 65 {
		labels = append(labels, fmt.Sprintf(`"k%d":""`, i))
	}
	for name, c := range map[string]struct{ row, old, new, why string }{
		"tenant name":          {aTenant, `"created"`, `"name":"a\u0007","created"`, "name"},
		"tenant tomorrow":      {aTenant, "2026-01-02T03:04:05Z", soon, "created: lies in the future"},
		"operator":             {anAgent, `"read"`, `"operator":true,"read"`, "operator"},
		"operator in capitals": {anAgent, `"read"`, `"OPERATOR":true,"read"`, "operator"},
		"no operator":          {anAgent, `"read"`, `"operator":false,"read"`, "operator"},
		"scope of an agent":    {anAgent, `"global"`, `"everything"`, "read[0]"},
		"unknown setting":      {anAgent, `"read"`, `"reads":[],"read"`, "reads"},
		"many rounds":          {anAgent, `"read"`, `"context_rounds":1001,"read"`, "context_rounds"},
		"trust of an agent":    {anAgent, `"read"`, `"max_trust":"total","read"`, "max_trust"},
		"type of an agent":     {anAgent, `"read"`, `"allowed_types":["lie"],"read"`, "allowed_types"},
		"settings":             {anAgent, `{"read":["global"]}`, "null", "settings: want an object"},
		"many scopes":          {anAgent, `"global"`, strings.Repeat(`"dm",`, 1000) + `"global"`, "1000 scopes"},
		"state":                {aSession, `"open"`, `"shut"`, "state"},
		"judged":               {aSession, `"judged_seq":0`, `"judged_seq":3`, "judged_seq"},
		"session metadata":     {aSession, `"state"`, `"metadata":{"a":"\u202e"},"state"`, "metadata"},
		"metadata list":        {aSession, `"state"`, `"metadata":[],"state"`, "metadata"},
		"group":                {aSession, `"state"`, `"group":"a b","state"`, "group"},
		"session tomorrow":     {aSession, `"updated":"2026-01-02T03:04:05Z"`, `"updated":"` + soon + `"`, "updated: lies in the future"},
		"role":                 {aMessage, `"role":"user"`, `"role":"root"`, "role"},
		"kind":                 {aMessage, `"chat"`, `"talk"`, "kind"},
		"no content":           {aMessage, `"content":"x"`, `"content":null`, "content"},
		"content object":       {aMessage, `"content":"x"`, `"content":{}`, "content"},
		"part without type":    {aMessage, `"content":"x"`, `"content":[{}]`, "type"},
		"hidden in content":    {aMessage, `"content":"x"`, `"content":"x\u200b"`, "hide"},
		"hidden in its text":   {aMessage, `"content":"x"`, `"content":"x","text":"\u0000"`, "text"},
		"large content":        {aMessage, `"content":"x"`, `"content":"` + strings.Repeat("x", 64<<10+1) + `"`, "64 KiB"},
		"calls of a user":      {aMessage, `"content":"x"`, `"content":"x","tool_calls":[{}]`, "tool_calls"},
		"name":                 {aMessage, `"content"`, `"name":"` + long(129) + `","content"`, "name"},
		"message tomorrow":     {aMessage, `"recorded":"2026-01-02T03:04:05Z"`, `"recorded":"` + soon + `"`, "recorded: lies in the future"},
		"no text":              {aMemory, `"text":"x"`, `"text":""`, "text: says nothing"},
		"long text":            {aMemory, `"text":"x"`, `"text":"` + long(16_385) + `"`, "16384"},
		"control":              {aMemory, `"text":"x"`, `"text":"x\u001b[2J"`, "text: holds characters"},
		"bidi":                 {aMemory, `"text":"x"`, `"text":"x\u202e"`, "text: holds characters"},
		"zero width":           {aMemory, `"text":"x"`, `"text":"x\u200b"`, "text: holds characters"},
		"many labels":          {aMemory, `"tokens"`, `"labels":{` + strings.Join(labels, ",") + `},"tokens"`, "labels"},
		"long label":           {aMemory, `"tokens"`, `"labels":{"k":"` + long(257) + `"},"tokens"`, "labels"},
		"hidden in a label":    {aMemory, `"tokens"`, `"labels":{"k":"\u2066"},"tokens"`, "labels"},
		"large metadata":       {aMemory, `"tokens"`, `"metadata":{"k":"` + strings.Repeat("x", 16<<10) + `"},"tokens"`, "metadata"},
		"metadata":             {aMemory, `"tokens"`, `"metadata":[1],"tokens"`, "metadata: want an object"},
		"id":                   {aMemory, `"id":"1"`, `"id":".."`, "id: an id cannot be"},
		"long id":              {aMemory, `"id":"1"`, `"id":"` + long(129) + `"`, "id"},
		"user":                 {aMemory, `"user":"u"`, `"user":""`, "user"},
		"scope":                {aMemory, `"dm"`, `"group:*"`, "scope"},
		"two faults":           {aMemory, `"dm","text":"x","type":"fact"`, `"all","text":"x","type":"lie"`, "type"},
		"form":                 {aMemory, `"form":"text"`, `"form":"song"`, "form"},
		"trust":                {aMemory, `"high"`, `"total"`, "trust"},
		"source":               {aMemory, `"import"`, `"hearsay"`, "source"},
		"status":               {aMemory, `"active"`, `"erased"`, "status"},
		"typed by":             {aMemory, `"given"`, `"me"`, "typed_by"},
		"importance":           {aMemory, `"importance":5`, `"importance":11`, "importance"},
		"strength":             {aMemory, `"strength":1`, `"strength":1.01`, "strength"},
		"version 0":            {aMemory, `"version":2`, `"version":0`, "version"},
		"version too high":     {aMemory, `"version":2`, `"version":9007199254740993`, "version: want 1 to 2^53"},
		"uses":                 {aMemory, `"tokens"`, `"uses":-1,"tokens"`, "uses"},
		"memory tomorrow":      {aMemory, "2026-01-02T03:04:05Z", soon, "recorded: lies in the future"},
		"year 0":               {aMemory, `"tokens"`, `"expires":"0000-01-02T03:04:05Z","tokens"`, "expires"},
		"year 10000":           {aMemory, `"tokens"`, `"expires":"9999-12-31T23:59:59-01:00","tokens"`, "expires"},
		"span":                 {aMemory, `"tokens"`, `"occurred":{"start":"2026-01-02T03:04:05Z","end":"2026-01-01T03:04:05Z"},"tokens"`, "occurred"},
		"archived tomorrow":    {aMemory, `"tokens"`, `"archived":{"at":"` + soon + `","reason":"r"},"tokens"`, "archived.at"},
		"writer":               {aMemory, `{"writer":"k"}`, `{"writer":"k\u0000"}`, "provenance.writer"},
		"source session":       {aMemory, `{"writer":"k"}`, `{"writer":"k","session":".."}`, "provenance.session"},
		"text of a version":    {aVersion(1), `"text":"x"`, `"text":" "`, "text: says nothing"},
		"version in memory":    {aMemory, `"tokens"`, `"replaced_by":"k","replaced_at":"2026-01-03T00:00:00Z","tokens"`, "replaced_by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(c.row, c.old, c.new, 1)
			if bad == c.row {
				t.Fatalf("%s is not in the row", c.old)
			}
			lines, after := []string{first}, strings.NewReplacer(`"id":"1"`, `"id":"é~"`, `"text":"x"`, `"text":"y"`).Replace(aMemory)
			at, behind := 0, int64(0) // rows that go with the bad one
			for _, l := range []string{aTenant, anAgent, aSession, aMessage, aMemory, aVersion(1)} {
				if l == c.row {
					l, at = bad, len(lines)+1
				}
				if c.row == aMemory && l == aVersion(1) {
					// A version names its memory, and must stand behind it.
					continue
				}
				lines = append(lines, l)
			}
			if c.row == aSession {
				behind = 1
			}
			if !strings.HasPrefix(name, "long id") {
				lines = append(lines, after)
			}
			s := openStore(t)
			text := []byte(signed(lines...))
			dry, err := importFile(t, s, toFile(t, text), true)
			if err != nil {
				t.Fatal(err)
			}
			got := taken(t, s, text)
			if len(got.Refused) != 1 || got.Refused[0].Line != int64(at) || !strings.Contains(got.Refused[0].Why, c.why) {
				t.Fatalf("line %d: %+v", at, got.Refused)
			}
			if got.RefusedRows != 1+behind || got.Added != got.Rows-1-behind || dry.Added != got.Added || dry.RefusedRows != got.RefusedRows {
				t.Errorf("%+v, dry run %+v", got, dry)
			}
			stands := export(t, s, ExportOptions{})
			if again := taken(t, s, text); again.Added != 0 || again.RefusedRows != got.RefusedRows {
				t.Errorf("again: %+v", again)
			}
			if own := taken(t, s, stands); own.Duplicate != own.Rows || !bytes.Equal(export(t, s, ExportOptions{}), stands) {
				t.Errorf("its own export: %+v", own)
			}
		})
	}
}

// A bad memory takes its versions with it, and a bad message leaves those behind it, whatever the batches.
func TestRefusedAmongOthers(t *testing.T) {
	message := func(n int, text string) string {
		return strings.NewReplacer(`"seq":1`, fmt.Sprintf(`"seq":%d`, n), `"m"`, fmt.Sprintf(`"m%d"`, n), `"content":"x"`, `"content":"`+text+`"`).Replace(aMessage)
	}
	text := []byte(signed(first, strings.Replace(aSession, `"last_seq":2`, `"last_seq":4`, 1), message(1, "a"), message(2, `\u202e`), message(3, "c"), message(4, `\u202e`),
		strings.Replace(aMemory, `"fact"`, `"lie"`, 1), aVersion(1)))
	for rows := 1; rows < 9; rows++ {
		s := openStore(t)
		got, err := importBy(t, s, toFile(t, text), false, rows)
		if err != nil || got.Added != 3 || got.RefusedRows != 4 || len(got.Refused) != 3 {
			t.Fatalf("batches of %d: %+v, %v", rows, got, err)
		}
		again, err := importBy(t, s, toFile(t, text), false, rows)
		if err != nil || again.Added != 0 || again.Duplicate != 3 || again.RefusedRows != 4 {
			t.Fatalf("batches of %d, again: %+v, %v", rows, again, err)
		}
	}
}

// What a row names may have been erased since; the row is kept as it is.
func TestNamesWhatIsGone(t *testing.T) {
	s := openStore(t)
	row := strings.NewReplacer(`"active"`, `"superseded"`, `"tokens"`, `"superseded_by":"gone","consolidated_from":["gone too"],"tokens"`).Replace(aMemory)
	if got := taken(t, s, []byte(signed(first, row))); got.Added != 1 {
		t.Errorf("%+v", got)
	}
	if text := export(t, s, ExportOptions{}); !bytes.Contains(text, []byte(`"superseded_by":"gone"`)) {
		t.Errorf("%s", text)
	}
}
