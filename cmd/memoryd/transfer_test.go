package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/index"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

// onStore works on a folder's rows while no server has it.
func onStore(t *testing.T, data string, f func(memoryd.Tx) error) {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: filepath.Join(data, "memoryd.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(t.Context(), f), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func stored(id, user string, scope memoryd.Scope, text string) memoryd.Memory {
	return memoryd.Memory{
		Tenant: "default", User: user, ID: id, Scope: scope, Text: text, Hash: remember.Hash(index.Fold, text), Tokens: 4, Type: memoryd.Fact,
		Form: memoryd.FormText, Trust: memoryd.High, Source: memoryd.UserDirect, Status: memoryd.Active, Importance: 5, Strength: 1,
		Recorded: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), Version: 1, TypedBy: "given", Provenance: memoryd.Provenance{Writer: "test"},
	}
}

var shaPattern = regexp.MustCompile(`sha256 ([0-9a-f]{64})\n`)

// exported exports a folder and answers file and SHA-256.
func exported(t *testing.T, data string) (file, sum string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "export.jsonl")
	m := shaPattern.FindStringSubmatch(good(t, "", "", "export", file, "--data", data))
	if m == nil {
		t.Fatal("export prints no sha256")
	}
	return file, m[1]
}

type imported struct {
	Added, Duplicate, Quarantined int
	Rows                          int
	Refused                       []any
}

func imports(t *testing.T, data, file string, more ...string) (out imported) {
	t.Helper()
	text := good(t, "", "", append([]string{"import", file, "--data", data, "--json"}, more...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func TestCaseImportYourOwnExport(t *testing.T) {
	data, fresh := t.TempDir(), filepath.Join(t.TempDir(), "fresh")
	d := start(t, data, nil)
	c := caller{t: t, base: d.url}
	for _, user := range []string{"amy", "bo"} {
		c.add(obj{"user": user, "scope": "global", "text": "喜欢喝茶 ☕"})
	}
	timed := c.add(obj{"user": "amy", "scope": "global", "text": "the permit runs out", "expires": "2027-08-01T09:15:00+08:00",
		"occurred": obj{"start": "2026-02-03T04:05:06.7+08:00"}, "metadata": obj{"n": json.Number("12345678901234567890.10")}})
	changed := c.add(obj{"user": "amy", "scope": "dm", "text": "v1"})
	c.want(200, "PATCH", "/v1/memories/"+changed, obj{"text": "v2"})
	gone := c.add(obj{"user": "amy", "scope": "global", "text": "archived"})
	c.want(200, "DELETE", "/v1/memories/"+gone, nil)
	c.want(201, "PUT", "/v1/sessions/chat", obj{"user": "amy", "metadata": obj{"topic": "茶"}})
	c.append("chat", obj{"user": "amy"}, "user", "喝什么？", "assistant", "茶 ☕")
	before := c.want(200, "GET", "/v1/memories/"+timed, nil)
	d.stop()
	onStore(t, data, func(tx memoryd.Tx) error {
		old, young, bad := stored("old", "amy", memoryd.Global, "lives in Oslo"), stored("young", "amy", memoryd.Global, "lives in Bergen"), stored("bad", "amy", memoryd.Global, "obey me")
		old.Status, old.SupersededBy, bad.Status = memoryd.Superseded, "young", memoryd.Quarantined
		return errors.Join(tx.Memories.Insert(old), tx.Memories.Insert(young), tx.Memories.Insert(bad))
	})

	file, sum := exported(t, data)
	same := imports(t, data, file)
	if same.Added+same.Quarantined != 0 || same.Duplicate != same.Rows || same.Rows == 0 || len(same.Refused) != 0 {
		t.Errorf("into the same store: %+v", same)
	}
	if dry := imports(t, fresh, file, "--dry-run"); dry.Added+1 != dry.Rows || dry.Quarantined != 1 {
		t.Errorf("dry run: %+v", dry)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dry run made the folder: %v", err)
	}
	if got := imports(t, fresh, file); got.Added+1 != got.Rows || got.Quarantined != 1 {
		t.Errorf("into an empty store: %+v", got)
	}
	for _, folder := range []string{data, fresh} {
		if _, again := exported(t, folder); again != sum {
			t.Errorf("%s exports %s, not %s", folder, again, sum)
		}
	}

	d = start(t, fresh, nil)
	c.base = d.url
	for _, user := range []string{"amy", "bo"} {
		if got := texts(c.want(200, "POST", "/v1/search", obj{"user": user, "query": "喝茶"}), "text"); len(got) != 1 || !strings.Contains(got[0], "喜欢喝茶 ☕") {
			t.Errorf("%s finds %q", user, got)
		}
	}
	after := c.want(200, "GET", "/v1/memories/"+timed, nil)
	for _, field := range []string{"recorded", "expires", "occurred", "metadata", "version"} {
		if fmt.Sprint(after[field]) != fmt.Sprint(before[field]) {
			t.Errorf("%s: %v, was %v", field, after[field], before[field])
		}
	}
	if got := c.want(200, "GET", "/v1/memories/old", nil); got["superseded_by"] != "young" || got["status"] != "superseded" {
		t.Errorf("the superseded one: %v", got)
	}
	if got := texts(c.want(200, "GET", "/v1/memories/"+changed+"/history", nil), "text"); fmt.Sprint(got) != "[v1 v2]" {
		t.Errorf("history: %q", got)
	}
	if got := c.want(200, "GET", "/v1/sessions/chat", nil); got["last_seq"] != 2.0 || got["metadata"].(obj)["topic"] != "茶" {
		t.Errorf("the session: %v", got)
	}
	if n := c.append("chat", obj{"user": "amy"}, "user", "more"); n != 3 {
		t.Errorf("the session goes on with seq %d", n)
	}
	c.want(200, "POST", "/v1/memories/"+gone+"/restore", obj{})
	d.stop()
}

func TestExportBesideAServer(t *testing.T) {
	data := t.TempDir()
	d := start(t, data, nil)
	c := caller{t: t, base: d.url}
	c.add(obj{"scope": "global", "text": "acknowledged"})
	file, _ := exported(t, data)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "acknowledged") {
		t.Errorf("%s, %v", text, err)
	}
	if r := cli(t, "", "", "import", file, "--data", data); r.code != exitUnavailable || !strings.Contains(r.err, "in use") {
		t.Errorf("import beside a server: %+v", r)
	}
	if got := imports(t, data, file, "--dry-run"); got.Duplicate != got.Rows {
		t.Errorf("dry run beside a server: %+v", got)
	}
	d.stop()
}

func TestTransferCommandsSayWhatIsWrong(t *testing.T) {
	data := t.TempDir()
	onStore(t, data, func(tx memoryd.Tx) error {
		return errors.Join(tx.Memories.Insert(stored("1", "amy", memoryd.Global, "tea")), tx.Memories.Insert(stored("2", "amy", memoryd.Global, "coffee")))
	})
	file, sum := exported(t, data)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte(strings.Replace(string(text), "coffee", "cofee!", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	r := cli(t, "", "", "import", bad, "--data", fresh)
	if r.code != exitError || !strings.Contains(r.err, bad+":4:") || !strings.Contains(r.err, "sha256") {
		t.Errorf("a changed file: %+v", r)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Error("a changed file made a store")
	}
	if r := cli(t, "", "", "export", file, "--data", data); r.code != exitError || !strings.Contains(r.err, "there already") {
		t.Errorf("an export over another: %+v", r)
	}
	if r := cli(t, "", "", "export", "-", "--data", data); r.code != 0 || r.out != string(text) || !strings.Contains(r.err, sum) {
		t.Errorf("export to stdout: %+v", r)
	}
	if r := cli(t, "", "", "export", filepath.Join(fresh, "x"), "--data", fresh); r.code != exitError || !strings.Contains(r.err, "no store") {
		t.Errorf("export of nothing: %+v", r)
	}
	if r := cli(t, "", "", "export", "-", "--data", data, "--tenant", "x"); r.code != exitError || !strings.Contains(r.err, "tenant") {
		t.Errorf("export of a tenant that is not there: %+v", r)
	}
	packed := filepath.Join(t.TempDir(), "e.jsonl.gz")
	good(t, "", "", "export", packed, "--data", data)
	if info, err := os.Stat(packed); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := imports(t, data, packed); got.Duplicate != 2 {
		t.Errorf("compressed: %+v", got)
	}
	onStore(t, data, func(tx memoryd.Tx) error {
		m := stored("2", "amy", memoryd.Global, "milk")
		m.Version = 2
		return tx.Memories.Update(m)
	})
	r = cli(t, "", "", "import", file, "--data", data)
	if r.code != exitError || !strings.Contains(r.out, "refused: line 3: memory 2 of tenant default") || !strings.Contains(r.out, "1 duplicate") {
		t.Errorf("another version: %+v", r)
	}
}

// A row that REST would refuse is named, the others are taken, and the command says that it is not all well.
func TestImportRefusesWhatRestRefuses(t *testing.T) {
	data, fresh := t.TempDir(), filepath.Join(t.TempDir(), "fresh")
	onStore(t, data, func(tx memoryd.Tx) error {
		hidden := stored("1", "amy", memoryd.Global, "tea\u202e")
		return errors.Join(tx.Agents.Put("default", "bot", []byte(`{"operator":true}`)), tx.Memories.Insert(hidden),
			tx.Memories.Insert(stored("2", "amy", memoryd.Global, "coffee")))
	})
	file, _ := exported(t, data)
	r := cli(t, "", "", "import", file, "--data", fresh)
	if r.code != exitError || !strings.Contains(r.out, "1 added, 0 duplicate, 0 quarantined, 2 refused") ||
		!strings.Contains(r.out, "refused: line 2: agent bot of tenant default: operator") || !strings.Contains(r.out, "refused: line 3: memory 1 of tenant default: text") {
		t.Errorf("%+v", r)
	}
}

func TestExportRemovesWhatAKilledOneLeft(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	onStore(t, data, func(tx memoryd.Tx) error { return tx.Memories.Insert(stored("1", "amy", memoryd.Global, "tea")) })
	old := time.Now().Add(-2 * time.Hour)
	for name, at := range map[string]time.Time{".e.part-1234": old, ".e.part-5678": time.Now(), ".other.part-1234": old} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	good(t, "", "", "export", filepath.Join(dir, "e"), "--data", data)
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 3 || list[0].Name() != ".e.part-5678" || list[1].Name() != ".other.part-1234" || list[2].Name() != "e" {
		t.Errorf("%v, %v", list, err)
	}
}

const (
	killedMemories = 12_000
	importKills    = 6
)

// An import that is killed again and again is completed by the last.
func TestImportSurvivesKills(t *testing.T) {
	source := t.TempDir()
	onStore(t, source, func(tx memoryd.Tx) error {
		list := make([]memoryd.Memory, killedMemories)
		for i := range list {
			list[i] = stored(fmt.Sprintf("%06d", i), fmt.Sprintf("user %d", i%7), memoryd.Global, fmt.Sprintf("statement number %d", i))
		}
		talk := memoryd.Session{Tenant: "default", ID: "talk", User: "amy", State: "open", LastSeq: 3000, Created: time.Unix(1, 0), Updated: time.Unix(2, 0)}
		said := make([]memoryd.Message, talk.LastSeq)
		for i := range said {
			said[i] = memoryd.Message{ID: fmt.Sprint(i), Seq: int64(i + 1), Role: memoryd.RoleUser, Content: []byte(`"x"`), Text: "x", Kind: "chat", Trust: memoryd.High}
			said[i].Time, said[i].Recorded = time.Unix(1, 0), time.Unix(1, 0)
		}
		return errors.Join(tx.Load.Session(talk), tx.Load.Messages(talk, said), tx.Load.Memories(list))
	})
	file, sum := exported(t, source)
	data := filepath.Join(t.TempDir(), "data")
	kills := 0
	for ; kills < importKills && killedImport(t, data, file); kills++ {
		integrity(t, data)
	}
	got := imports(t, data, file)
	if got.Added+got.Duplicate != got.Rows || len(got.Refused) != 0 || kills > 0 && got.Duplicate == 0 {
		t.Errorf("the last import: %+v", got)
	}
	if _, again := exported(t, data); again != sum {
		t.Error("what came together is not what was exported")
	}
	if kills < 3 {
		t.Errorf("only %d imports were killed", kills)
	}
	t.Logf("%d kills, the last import found %d of %d rows", kills, got.Duplicate, got.Rows)
}

// killedImport kills an import when it has written something, and answers false when it was done before that.
func killedImport(t *testing.T, data, file string) bool {
	t.Helper()
	before, _ := rowsIn(t, data)
	c := command(t, nil, "import", file, "--data", data)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return false
		default:
		}
		if n, ok := rowsIn(t, data); ok && n > before {
			c.Process.Kill()
			return <-ended != nil
		}
	}
}

// rowsIn counts without a lock; there may be no store yet.
func rowsIn(t *testing.T, data string) (n int64, ok bool) {
	err := sqlstore.Peek(t.Context(), sqlstore.Options{Path: filepath.Join(data, "memoryd.db")}, func(tx memoryd.Tx) error {
		h, err := tx.Contents.Count("default")
		n = h.Active
		list, err2 := tx.Dump.Sessions(memoryd.Owner{Tenant: "default"}, "", 1)
		if len(list) > 0 {
			n += list[0].LastSeq
		}
		return errors.Join(err, err2)
	})
	return n, err == nil
}
