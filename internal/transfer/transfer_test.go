package transfer

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"memoryd"
	"memoryd/internal/access"
)

func TestThereAndBack(t *testing.T) {
	a, b := openStore(t), openStore(t)
	rows := fill(t, a)
	text := export(t, a, ExportOptions{})
	dry, err := importFile(t, b, toFile(t, text), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, b); len(got) != 0 {
		t.Fatalf("a dry run left %d rows", len(got))
	}
	got := taken(t, b, text)
	want := Imported{SHA256: got.SHA256, Rows: rows, Added: rows - 1, Quarantined: 1, Refused: []Refusal{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("import: %+v, want %+v", got, want)
	}
	if dry.DryRun = false; !reflect.DeepEqual(dry, want) {
		t.Errorf("dry run: %+v, want %+v", dry, want)
	}
	if again := export(t, b, ExportOptions{}); !bytes.Equal(again, text) {
		t.Errorf("the export of the import differs:\n%s", firstDifference(text, again))
	}
	sameRows(t, contents(t, b), contents(t, a))

	for _, s := range []memoryd.Store{a, b} {
		twice := taken(t, s, text)
		if want := (Imported{SHA256: got.SHA256, Rows: rows, Duplicate: rows, Refused: []Refusal{}}); !reflect.DeepEqual(twice, want) {
			t.Errorf("import again: %+v", twice)
		}
		if again := export(t, s, ExportOptions{}); !bytes.Equal(again, text) {
			t.Error("importing twice changed the store")
		}
	}
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}

// contents is every row of a store as the ports give it, with what the file leaves out, and what indexes are told.
func contents(t testing.TB, s memoryd.Store) []any {
	t.Helper()
	var out []any
	err := s.Read(t.Context(), func(tx memoryd.Tx) error {
		tenants, err := tx.Dump.Tenants()
		for _, id := range tenants {
			o := memoryd.Owner{Tenant: id}
			sessions, err2 := tx.Dump.Sessions(o, "", 1e6)
			memories, err3 := tx.Dump.Memories(o, "", 1e6)
			agents, err4 := tx.Agents.List(id)
			err = errors.Join(err, err2, err3, err4)
			for _, x := range sessions {
				list, err5 := tx.Dump.Messages(x, 0, 1e6)
				out, err = append(out, x, list), errors.Join(err, err5)
			}
			parts := map[memoryd.Partition]bool{}
			for _, m := range memories {
				list, err5 := tx.Versions.List(id, m.ID)
				for i := range list {
					list[i].Hash = "" // nothing goes by it
				}
				out, err = append(out, m, list), errors.Join(err, err5)
				parts[m.Partition()] = true
			}
			for p := range parts {
				c, err5 := tx.Partitions.Changes(p, 0)
				err = errors.Join(err, err5)
				if len(c.Memories) == 0 || c.Version < int64(len(c.Memories)+len(c.Turns)) {
					t.Errorf("an index is told of %d memories and %d turns in version %d of %v", len(c.Memories), len(c.Turns), c.Version, p)
				}
			}
			out = append(out, id, agents)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameRows(t *testing.T, got, want []any) {
	t.Helper()
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d:\n got %+v\nwant %+v", i, got[min(i, len(got)-1)], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
}

// failing is a store whose writes fail after the first n.
type failing struct {
	memoryd.Store
	left int
}

var errPower = errors.New("the power is gone")

func (f *failing) Write(ctx context.Context, do func(memoryd.Tx) error) error {
	if f.left == 0 {
		return errPower
	}
	f.left--
	return f.Store.Write(ctx, do)
}

func TestGoesOnWhereItStopped(t *testing.T) {
	a := openStore(t)
	rows := fill(t, a)
	text := export(t, a, ExportOptions{})
	path := toFile(t, text)
	for n := 1; ; n++ {
		b := openStore(t)
		stopped, err := importFile(t, &failing{b, n}, path, false)
		if err == nil {
			if n < 4 {
				t.Errorf("only %d batches", n)
			}
			return
		}
		if !errors.Is(err, errPower) || stopped.Rows == 0 || stopped.Added+stopped.Quarantined != stopped.Rows {
			t.Fatalf("stopped after %d batches: %+v, %v", n, stopped, err)
		}
		wholeSessions(t, b)
		got, err := importFile(t, b, path, false)
		if err != nil || got.Duplicate < stopped.Rows || got.Added+got.Quarantined+got.Duplicate != rows {
			t.Fatalf("gone on after %d batches: %+v, %v", n, got, err)
		}
		if again := export(t, b, ExportOptions{}); !bytes.Equal(again, text) {
			t.Errorf("stopped after %d batches and gone on, the store differs: %s", n, firstDifference(text, again))
		}
	}
}

// wholeSessions demands that no session says more than it holds.
func wholeSessions(t *testing.T, s memoryd.Store) {
	t.Helper()
	for _, x := range contents(t, s) {
		if list, ok := x.([]memoryd.Message); ok {
			for i, m := range list {
				if m.Seq != int64(i+1) {
					t.Fatalf("place %d holds seq %d", i, m.Seq)
				}
			}
		}
	}
	err := s.Read(t.Context(), func(tx memoryd.Tx) error {
		list, err := tx.Dump.Sessions(memoryd.Owner{Tenant: "b"}, "", 10)
		for _, x := range list {
			messages, err := tx.Dump.Messages(x, 0, 1e6)
			if x.LastSeq != int64(len(messages)) || x.JudgedSeq > x.LastSeq || err != nil {
				t.Errorf("last_seq %d, judged %d, %d messages, %v", x.LastSeq, x.JudgedSeq, len(messages), err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatStandsThereStays(t *testing.T) {
	a, b := openStore(t), openStore(t)
	fill(t, a)
	text := export(t, a, ExportOptions{})
	taken(t, b, text)
	err := b.Write(t.Context(), func(tx memoryd.Tx) error {
		get := func(id string) memoryd.Memory {
			list, _ := tx.Memories.Get(memoryd.Owner{Tenant: "a"}, memoryd.AllScopes(), id)
			return list[0]
		}
		changed := get("03")
		changed.Version, changed.Text = 2, "lives in Bodø"
		used := get("06")
		used.Uses, used.Strength, used.LastUsed = 5, 0.5, &now
		used.Version++
		talk := session("a", "amy", "chat/1")
		talk.Agent = "main"
		_, err := tx.Messages.Append(talk, []memoryd.Message{message(5, "later")})
		_, err2 := tx.Sessions.Delete(memoryd.Owner{Tenant: "a"}, memoryd.AllScopes(), "team talk")
		again := session("a", "bo", "team talk")
		again.Group, again.Created = "team", now.AddDate(0, 0, 1)
		_, err3 := tx.Sessions.Put(again)
		empty := session("a", "amy", "empty")
		empty.Metadata = []byte(`{"now":1}`)
		_, err4 := tx.Sessions.Put(empty)
		parted := session("b", "bo", "chat/1")
		_, err5 := tx.Sessions.Delete(memoryd.Owner{Tenant: "b"}, memoryd.AllScopes(), "chat/1")
		_, err6 := tx.Sessions.Put(parted)
		_, err7 := tx.Messages.Append(parted, []memoryd.Message{message(1, "y")})
		return errors.Join(err, err2, err3, err4, err5, err6, err7, tx.Memories.Update(changed), tx.Agents.Put("a", "main", []byte(`{"read":[]}`)))
	})
	if err != nil {
		t.Fatal(err)
	}
	before := export(t, b, ExportOptions{})
	got := taken(t, b, text)
	var names []string
	for _, r := range got.Refused {
		names = append(names, r.Row+" "+r.Tenant+" "+r.ID+": "+r.Why)
		if r.Line < 2 || r.Line >= int64(bytes.Count(text, []byte("\n"))) {
			t.Errorf("line %d", r.Line)
		}
	}
	want := []string{
		"agent a main: the agent is there with other settings",
		"session a empty: the session is there with another state or other metadata",
		"session a team talk: the id stands for another session",
		"memory a 03: the memory is there in version 2, the file has 1",
		"message b chat/1/1: the session holds something else there",
	}
	// b's session has another updated too, so that its head is refused as well.
	want = slices.Insert(want, 4, "session b chat/1: the session is there with another state or other metadata")
	if !slices.Equal(names, want) {
		t.Errorf("refused:\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if got.RefusedRows != int64(len(want))+1 || got.Added != 0 { // the message of "team talk"
		t.Errorf("%+v", got)
	}
	if after := export(t, b, ExportOptions{}); !bytes.Equal(after, before) {
		t.Errorf("a refused row changed the store: %s", firstDifference(before, after))
	}
}

func TestTwinIsADuplicate(t *testing.T) {
	a, b := openStore(t), openStore(t)
	write := func(s memoryd.Store, list ...memoryd.Memory) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Load.Memories(list) }); err != nil {
			t.Fatal(err)
		}
	}
	tea := memory("a", "amy", "1", memoryd.Global, "Tea")
	tea.Version = 2
	write(a, tea, memory("a", "bo", "2", memoryd.Global, "Tea"), memory("a", "amy", "3", memoryd.DM, "Tea"))
	tea.Version = 1
	if err := a.Write(t.Context(), func(tx memoryd.Tx) error { return tx.Versions.Add(tea, "k", now) }); err != nil {
		t.Fatal(err)
	}
	write(b, memory("a", "amy", "9", memoryd.Global, "tea"))
	text := export(t, a, ExportOptions{})
	for range 2 {
		dry, err := importFile(t, b, toFile(t, text), true)
		got := taken(t, b, text)
		if dry.DryRun = false; err != nil || !reflect.DeepEqual(dry, got) {
			t.Errorf("dry run: %+v, %v; import: %+v", dry, err, got)
		}
		if got.Added+got.Duplicate != 4 || got.Duplicate < 2 || got.RefusedRows != 0 {
			t.Errorf("%+v", got)
		}
	}
	after := string(export(t, b, ExportOptions{}))
	for id, there := range map[string]bool{"1": false, "2": true, "3": true, "9": true} {
		if strings.Contains(after, `"id":"`+id+`"`) != there {
			t.Errorf("memory %s: %s", id, after)
		}
	}
}

func TestOneTenantOneUser(t *testing.T) {
	a := openStore(t)
	fill(t, a)
	text := string(export(t, a, ExportOptions{Tenant: "a"}))
	if strings.Contains(text, `"tenant":"b"`) || !strings.Contains(text, `"row":"agent"`) || strings.Count(text, `"row":"memory"`) != 8 {
		t.Errorf("tenant a: %s", text)
	}
	text = string(export(t, a, ExportOptions{Tenant: "a", User: "bo"}))
	if strings.Count(text, `"row":"memory"`) != 2 || strings.Contains(text, `"user":"amy"`) || strings.Contains(text, "team") || strings.Contains(text, `"row":"agent"`) {
		t.Errorf("user bo: %s", text)
	}
	var b bytes.Buffer
	for _, o := range []ExportOptions{{Store: a, User: "bo"}, {Store: a, Tenant: "c"}} {
		if _, err := Export(t.Context(), operator(t, a), o, &b); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestOperatorsOnly(t *testing.T) {
	a := openStore(t)
	fill(t, a)
	f, err := Open(t.Context(), toFile(t, export(t, a, ExportOptions{})), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = Export(t.Context(), access.Grant{}, ExportOptions{Store: a}, &b)
	_, err2 := f.Import(t.Context(), access.Grant{}, ImportOptions{Store: a, Fold: strings.ToLower})
	if memoryd.CodeOf(err) != memoryd.Denied || memoryd.CodeOf(err2) != memoryd.Denied || b.Len() > 0 {
		t.Errorf("%v, %v, %d bytes", err, err2, b.Len())
	}
}

func TestCompressed(t *testing.T) {
	a, b := openStore(t), openStore(t)
	rows := fill(t, a)
	text := export(t, a, ExportOptions{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got := taken(t, b, packed.Bytes()); got.Rows != rows {
		t.Errorf("%+v", got)
	}
	if _, err := importFile(t, b, toFile(t, packed.Bytes()[:packed.Len()/2]), false); err == nil {
		t.Error("half a file is taken")
	}
}
