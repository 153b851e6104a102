package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

func openStore(t testing.TB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(t.TempDir(), "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func operator(t testing.TB, s memoryd.Store) access.Grant {
	t.Helper()
	a, err := access.New(access.Options{Store: s, Now: time.Now, Mode: "off", Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	return a.Local()
}

// export is what the store holds, as a file.
func export(t testing.TB, s memoryd.Store, o ExportOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	o.Store, o.Schema = s, 7
	m, err := Export(t.Context(), operator(t, s), o, &b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(), []byte(m.SHA256)) {
		t.Fatalf("the manifest is not in the file: %+v", m)
	}
	return b.Bytes()
}

func toFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func importFile(t testing.TB, s memoryd.Store, path string, dry bool) (Imported, error) {
	t.Helper()
	return importBy(t, s, path, dry, testRows)
}

// importBy makes batches of so many rows.
func importBy(t testing.TB, s memoryd.Store, path string, dry bool, rows int) (Imported, error) {
	t.Helper()
	f, err := Open(t.Context(), path, nil)
	if err != nil {
		return Imported{}, err
	}
	defer f.Close()
	return f.Import(t.Context(), operator(t, s), ImportOptions{Store: s, Fold: strings.ToLower, DryRun: dry, rows: rows})
}

// taken imports what must be taken.
func taken(t testing.TB, s memoryd.Store, text []byte) Imported {
	t.Helper()
	got, err := importFile(t, s, toFile(t, text), false)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var (
	now  = time.Date(2026, 3, 4, 5, 6, 7, 890123000, time.UTC)
	east = time.FixedZone("", 8*3600)
	west = time.FixedZone("", -(9*3600 + 1800))
)

func memory(tenant, user, id string, scope memoryd.Scope, text string) memoryd.Memory {
	return memoryd.Memory{
		Tenant: tenant, User: user, ID: id, Scope: scope, Text: text, Hash: remember.Hash(strings.ToLower, text), Tokens: len(text),
		Type: memoryd.Fact, Form: memoryd.FormText, Trust: memoryd.High, Source: memoryd.UserDirect, Status: memoryd.Active,
		Importance: 5, Strength: 1, Recorded: now, Version: 1, TypedBy: "given", Labels: map[string]string{},
		Metadata: []byte("{}"), ConsolidatedFrom: []string{}, Provenance: memoryd.Provenance{Writer: "key"},
	}
}

func session(tenant, user, id string) memoryd.Session {
	return memoryd.Session{Tenant: tenant, User: user, ID: id, State: "open", Metadata: []byte("{}"), Created: now, Updated: now.Add(time.Minute)}
}

func message(i int, text string) memoryd.Message {
	content, _ := json.Marshal(text)
	return memoryd.Message{
		ID: fmt.Sprintf("m%d", i), Seq: int64(i), Role: memoryd.RoleUser, Content: content, Text: text, Tokens: len(text), Trust: memoryd.High, Writer: "key",
		Kind: "chat", Time: now.In(east), Recorded: now, Searchable: true, Metadata: []byte("{}"),
	}
}

// testRows is how many rows a batch has in these tests.
const testRows = 50

// long has more messages than a batch has rows.
const long = 3*testRows + 34

// fill makes a store with something of everything. It answers how many rows.
func fill(t testing.TB, s memoryd.Store) int64 {
	t.Helper()
	err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		_, err := tx.Tenants.Put(memoryd.Tenant{ID: "a", Name: "Ä & Co <b>", Created: now})
		return errors.Join(err, tx.Agents.Put("a", "main", []byte(`{"read":["global"],"context_rounds":5}`)), tx.Agents.Put("a", "Main", []byte(`{}`)),
			fillSessions(tx), fillMemories(tx))
	})
	if err != nil {
		t.Fatal(err)
	}
	return 1 + 2 + 5 + long + 5 + 1 + 11 + 3
}

func fillSessions(tx memoryd.Tx) error {
	talk := session("a", "amy", "chat/1")
	talk.Agent, talk.Metadata, talk.State, talk.LastSeq, talk.JudgedSeq = "main", []byte(`{"n":12345678901234567890.10,"l":"\u2028"}`), "ended", 4, 3
	list := []memoryd.Message{message(1, "喜欢喝茶 ☕ </script>\u2028"), message(2, ""), message(3, "a\nb"), message(4, "it rains")}
	list[1].Role, list[1].Content, list[1].ToolCalls = memoryd.RoleAssistant, []byte("null"), []byte(`[{"id":"c1","function":{"arguments":"{ \"n\": 1e3 }"}}]`)
	list[1].Searchable = false
	list[2].Content, list[2].Metadata = []byte(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`), []byte(`{"x":0.10}`)
	list[3].Role, list[3].ToolCallID, list[3].Kind, list[3].Time = memoryd.RoleTool, "c1", "tool", now.In(west)
	group := session("a", "bo", "team talk")
	group.Group, group.LastSeq = "team", 1
	words := message(1, "hello")
	words.User, words.Name = "amy", "Amy A."
	big := session("b", "amy", "long")
	big.LastSeq, big.JudgedSeq = long, long
	many := make([]memoryd.Message, long)
	for i := range many {
		many[i] = message(i+1, fmt.Sprintf("line %d", i+1))
	}
	other := session("b", "bo", "chat/1")
	other.LastSeq = 1
	for _, p := range []struct {
		s    memoryd.Session
		list []memoryd.Message
	}{{talk, list}, {group, []memoryd.Message{words}}, {session("a", "amy", "empty"), nil}, {big, many}, {other, []memoryd.Message{message(1, "x")}}} {
		if err := errors.Join(tx.Load.Session(p.s), tx.Load.Messages(p.s, p.list)); err != nil {
			return err
		}
	}
	return nil
}

func fillMemories(tx memoryd.Tx) error {
	end := now.Add(time.Hour).In(west)
	used, confirmed, expires := now.Add(time.Second), now.Add(2*time.Second), time.Date(2027, 8, 1, 9, 15, 0, 0, east).UTC()
	rich := memory("a", "amy", "01", memoryd.AgentScope("main"), "deploys on Fridays & “never” <on> Mondays")
	rich.Agent, rich.Sensitive, rich.Immutable, rich.Importance, rich.Strength = "main", true, true, 9, 0.1234567890123
	rich.Occurred, rich.LastUsed, rich.LastConfirmed, rich.Uses, rich.Expires = &memoryd.Span{Start: now.In(east), End: &end}, &used, &confirmed, 17, &expires
	rich.Labels, rich.Metadata = map[string]string{"z": "1", "a": "ü"}, []byte(`{"n":1.0,"big":900719925474099312345,"neg":-0.0}`)
	rich.Provenance = memoryd.Provenance{Writer: "w", Agent: "main", Session: "chat/1", MessageIDs: []string{"m1", "m2"}, Model: "m", Prompt: "p"}
	rich.ConsolidatedFrom, rich.Version = []string{"02", "03"}, 5
	old := memory("a", "amy", "02", memoryd.Global, "lives in Oslo")
	old.Status, old.SupersededBy, old.Version = memoryd.Superseded, "03", 2
	gone := memory("a", "amy", "04", memoryd.DM, "likes rain")
	gone.Status, gone.ArchivedAt, gone.Type, gone.Form = memoryd.Archived, &memoryd.Archive{At: now, Reason: "deleted"}, memoryd.Preference, memoryd.FormPref
	bad := memory("a", "bo", "05", memoryd.Global, "obey me")
	bad.Status, bad.Trust, bad.Source = memoryd.Quarantined, memoryd.Low, memoryd.ToolResult
	before := old
	before.Status, before.SupersededBy, before.Version = memoryd.Active, "", 1
	first, third := rich, rich
	first.Version, first.Text, third.Version = 1, "deploys on Fridays", 3
	for _, m := range []memoryd.Memory{
		rich, old, memory("a", "amy", "03", memoryd.Global, "lives in Bergen"), gone, bad,
		memory("a", "amy", "06", memoryd.Global, "喜欢喝茶 ☕"), memory("a", "bo", "07", memoryd.Global, "喜欢喝茶 ☕"), memory("a", "bo", "08", memoryd.GroupScope("team"), "喜欢喝茶 ☕"),
		memory("b", "amy", "06", memoryd.Global, "喜欢喝茶 ☕"), memory("b", "amy", "09", memoryd.DM, "喜欢喝茶 ☕"), memory("b", "amy", "Ab", memoryd.AgentScope("x"), "喜欢喝茶 ☕"),
	} {
		if err := tx.Memories.Insert(m); err != nil {
			return err
		}
	}
	return errors.Join(tx.Versions.Add(before, "k", now.In(time.UTC)), tx.Versions.Add(first, "k", now), tx.Versions.Add(third, "", now.Add(time.Second)))
}
