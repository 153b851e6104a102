package remember_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/remember"
)

func (w *world) update(g access.Grant, id string, p remember.Patch) memoryd.Memory {
	w.t.Helper()
	m, _, err := w.Update(w.t.Context(), g, id, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func TestUpdate(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "global", Labels: map[string]string{"a": "1"}, Metadata: json.RawMessage(`{"k":1}`)}).Memory

	w.now = w.now.Add(time.Minute)
	soon := w.now.Add(time.Hour)
	p := remember.Patch{
		IfVersion: 1, Text: ptr("coffee"), Type: ptr(memoryd.Preference), Expires: &soon,
		Labels: map[string]string{"b": "2"}, Metadata: json.RawMessage(`{"k":2.00}`),
	}
	got := w.update(g, m.ID, p)
	diff(t, "answered and stored", fmt.Sprint(got), fmt.Sprint(w.get(m.ID)))
	diff(t, "what changed", []any{got.Text, got.Type, got.TypedBy, got.Version, got.Tokens, string(got.Metadata), got.Labels["b"], len(got.Labels)},
		[]any{"coffee", memoryd.Preference, "given", int64(2), 6, `{"k":2.00}`, "2", 1})
	if got.Hash == m.Hash || !got.Expires.Equal(soon) || !got.Recorded.Equal(m.Recorded) || got.Trust != memoryd.High {
		t.Errorf("%+v", got)
	}
	v := w.versions(m.ID)
	if len(v) != 1 || v[0].Text != "tea" || v[0].Version != 1 || v[0].ReplacedBy != "cli" || !v[0].ReplacedAt.Equal(w.now) {
		t.Errorf("versions %+v", v)
	}
	cleared := w.update(g, m.ID, remember.Patch{NoExpiry: true, Labels: map[string]string{}})
	if cleared.Expires != nil || len(cleared.Labels) > 0 || cleared.Version != 3 {
		t.Errorf("%+v", cleared)
	}
	// The hash follows the text: its old one is free, its new one taken.
	if s := w.add(g, remember.AddRequest{Text: "tea", Scope: "global"}).State; s != remember.Stored {
		t.Errorf("the old text: %s", s)
	}
	if s := w.add(g, remember.AddRequest{Text: "coffee", Scope: "global"}).State; s != remember.Duplicate {
		t.Errorf("the new text: %s", s)
	}
}

func TestUpdateThatChangesNothing(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "global", Type: "fact", Labels: map[string]string{"a": "1"}}).Memory
	before := w.all()
	for name, p := range map[string]remember.Patch{
		"empty":       {},
		"the version": {IfVersion: 1},
		"equal":       {Text: ptr("tea"), Type: ptr(memoryd.Fact), NoExpiry: true, Labels: map[string]string{"a": "1"}, Metadata: json.RawMessage(`{}`)},
		"cleaned":     {Text: ptr("te\x00a")},
	} {
		got, notes, err := w.Update(t.Context(), g, m.ID, p)
		if err != nil || got.Version != 1 {
			t.Errorf("%s: version %d, %v", name, got.Version, err)
		}
		if (len(notes) == 1) != (name == "cleaned") {
			t.Errorf("%s: notes %v", name, notes)
		}
	}
	if after := w.all(); after != before {
		t.Errorf("changed:\n%s\n%s", before, after)
	}
	if got := w.update(g, m.ID, remember.Patch{Text: ptr("TEA")}); got.Text != "TEA" || got.Version != 2 {
		t.Errorf("its own text in another case: %+v", got)
	}
}

func TestUpdateLowersTrust(t *testing.T) {
	w := newWorld(t)
	m := w.add(w.grant("", ""), remember.AddRequest{Text: "the door code is 1", Scope: "global", Type: "fact"}).Memory
	got, notes, err := w.Update(t.Context(), w.grant("", "w"), m.ID, remember.Patch{Labels: map[string]string{"a": ""}})
	if err != nil || got.Trust != memoryd.High || got.Source != memoryd.UserDirect || len(notes) > 0 {
		t.Errorf("a label: %+v, %v, %v", got, notes, err)
	}
	got, notes, err = w.Update(t.Context(), w.grant("", "w"), m.ID, remember.Patch{Text: ptr("the door code is 2")})
	if err != nil || got.Trust != memoryd.Medium || got.Source != memoryd.AgentOutput || len(notes) != 1 || notes[0] != remember.TrustLowered {
		t.Errorf("an agent's words in the user's mouth: %s %s, %v, %v", got.Trust, got.Source, notes, err)
	}
	if v := w.versions(m.ID); v[1].Trust != memoryd.High || v[1].Text != "the door code is 1" {
		t.Errorf("versions %+v", v)
	}
}

func TestUpdateRefuses(t *testing.T) {
	w := newWorld(t)
	g := w.grant("amy", "")
	m := w.add(g, remember.AddRequest{Text: "v1 ships on 1 July", Scope: "global", Type: "fact"}).Memory
	b := w.add(g, remember.AddRequest{Text: "v1 ships on 3 August", Scope: "global", Type: "fact"}).Memory
	priv := w.add(w.grant("amy", "w"), remember.AddRequest{Text: "w keeps the ledger", Scope: "agent:w", Type: "fact"}).Memory
	gone := w.add(g, remember.AddRequest{Text: "gone", Scope: "global", Type: "fact"}).Memory
	lesson := w.add(g, remember.AddRequest{Text: "a lesson", Scope: "global", Type: "lesson"}).Memory
	stays := w.add(g, remember.AddRequest{Text: "stays", Scope: "global", Type: "fact"}).Memory
	if _, err := w.Delete(t.Context(), g, gone.ID); err != nil {
		t.Fatal(err)
	}
	err := w.store.Write(t.Context(), func(tx memoryd.Tx) error {
		stays.Immutable, stays.Version = true, 2
		return tx.Memories.Update(stays)
	})
	if err != nil {
		t.Fatal(err)
	}
	before := w.all()
	text := remember.Patch{Text: ptr("x")}
	for name, c := range map[string]struct {
		g    access.Grant
		id   string
		p    remember.Patch
		want string
		path string
	}{
		"unknown":                {g, "0198f3a2-7c1d-7b2e-9a77-0c8f5d1e2b3a", text, "not_found not-found", ""},
		"NUL in the id":          {g, "a\x00", text, "invalid bad-field", "id"},
		"another user's":         {w.grant("bob", ""), m.ID, text, "not_found not-found", ""},
		"another tenant's":       {w.tenant("other"), m.ID, text, "not_found not-found", ""},
		"another agent's":        {w.grant("amy", "own"), priv.ID, text, "not_found not-found", ""},
		"global, of own":         {w.grant("amy", "own"), m.ID, text, "not_found not-found", ""},
		"may read it only":       {w.grant("amy", "reader"), m.ID, text, "denied scope-denied", ""},
		"empty patch of another": {w.grant("bob", ""), m.ID, remember.Patch{}, "not_found not-found", ""},
		"version":                {g, m.ID, remember.Patch{IfVersion: 2, Text: ptr("x")}, "conflict version", ""},
		"version, empty patch":   {g, m.ID, remember.Patch{IfVersion: 2}, "conflict version", ""},
		"twin":                   {g, b.ID, remember.Patch{Text: ptr("V1 ships on 1 July ")}, "conflict duplicate", ""},
		"immutable":              {g, stays.ID, text, "conflict immutable", ""},
		"deleted":                {g, gone.ID, text, "conflict conflict", ""},
		"to another type":        {w.grant("amy", "facts"), m.ID, remember.Patch{Type: ptr(memoryd.Procedure)}, "denied type-denied", ""},
		"of another type":        {w.grant("amy", "facts"), lesson.ID, text, "denied type-denied", ""},
		"blank":                  {g, m.ID, remember.Patch{Text: ptr(" \u200B")}, "invalid bad-field", "text"},
		"long":                   {g, m.ID, remember.Patch{Text: ptr(strings.Repeat("x", 16_385))}, "invalid too-long", "text"},
		"type":                   {g, m.ID, remember.Patch{Type: ptr(memoryd.Type("x"))}, "invalid bad-field", "type"},
		"expires":                {g, m.ID, remember.Patch{Expires: &w.now}, "invalid bad-field", "expires"},
		"expires twice":          {g, m.ID, remember.Patch{Expires: ptr(w.now.Add(1)), NoExpiry: true}, "invalid bad-field", "expires"},
		"labels":                 {g, m.ID, remember.Patch{Labels: manyOf(65)}, "invalid too-long", "labels"},
		"metadata":               {g, m.ID, remember.Patch{Metadata: json.RawMessage(`"x"`)}, "invalid bad-field", "metadata"},
	} {
		_, _, err := w.Update(t.Context(), c.g, c.id, c.p)
		refused(t, name, err, c.want, c.path)
	}
	for name, c := range map[string]struct {
		g    access.Grant
		id   string
		want string
	}{
		"unknown":         {g, "nope", "not_found not-found"},
		"bad id":          {g, "", "invalid bad-field"},
		"another user's":  {w.grant("bob", ""), m.ID, "not_found not-found"},
		"another agent's": {w.grant("amy", "own"), priv.ID, "not_found not-found"},
		"read only":       {w.grant("amy", "reader"), m.ID, "denied scope-denied"},
		"type":            {w.grant("amy", "facts"), lesson.ID, "denied type-denied"},
	} {
		_, err := w.Delete(t.Context(), c.g, c.id)
		refused(t, "delete, "+name, err, c.want, "")
		_, err = w.Restore(t.Context(), c.g, c.id)
		refused(t, "restore, "+name, err, c.want, "")
	}
	_, err = w.Restore(t.Context(), g, m.ID)
	refused(t, "restore an active one", err, "conflict conflict", "")
	if after := w.all(); after != before {
		t.Errorf("a refusal changed something:\n%s\n%s", before, after)
	}
}

func TestDeleteAndRestore(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "global", Type: "fact"}).Memory
	w.now = w.now.Add(time.Minute)
	gone, err := w.Delete(t.Context(), g, m.ID)
	if err != nil || gone.Status != memoryd.Archived || gone.ArchivedAt.Reason != "deleted" || !gone.ArchivedAt.At.Equal(w.now) || gone.Version != 2 {
		t.Fatalf("%+v, %v", gone, err)
	}
	w.now = w.now.Add(time.Minute)
	again, err := w.Delete(t.Context(), g, m.ID)
	if err != nil || again.Version != 2 || !again.ArchivedAt.At.Equal(gone.ArchivedAt.At) || w.get(m.ID).Version != 2 {
		t.Errorf("deleted twice: %+v, %v", again, err)
	}
	back, err := w.Restore(t.Context(), g, m.ID)
	if err != nil || back.Status != memoryd.Active || back.ArchivedAt != nil || back.Version != 3 || back.Text != "tea" {
		t.Fatalf("%+v, %v", back, err)
	}
	if v := w.versions(m.ID); len(v) != 2 || v[0].Status != memoryd.Active || v[1].Status != memoryd.Archived {
		t.Errorf("versions %+v", v)
	}
	if _, err := w.Delete(t.Context(), g, m.ID); err != nil {
		t.Fatal(err)
	}
	w.add(g, remember.AddRequest{Text: "TEA", Scope: "global"})
	before := w.all()
	_, err = w.Restore(t.Context(), g, m.ID)
	refused(t, "an active twin stands there", err, "conflict duplicate", "")
	if w.all() != before {
		t.Error("a refusal changed something")
	}
}

func TestDecayedOnesAreDeletedToo(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "global"}).Memory
	err := w.store.Write(t.Context(), func(tx memoryd.Tx) error {
		m.Status, m.ArchivedAt, m.Version = memoryd.Archived, &memoryd.Archive{At: w.now, Reason: "decayed"}, 2
		return tx.Memories.Update(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := w.Delete(t.Context(), g, m.ID)
	if err != nil || gone.ArchivedAt.Reason != "deleted" || gone.Version != 3 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// Twenty adds of a text and twenty patches of other memories to it: whoever is first, one active row stands.
func TestAddsAgainstPatches(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = w.add(g, remember.AddRequest{Text: fmt.Sprint("other ", i), Scope: "global"}).Memory.ID
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if _, err := w.Add(t.Context(), g, remember.AddRequest{Text: "v1 ships on 9 May", Scope: "global"}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			_, _, err := w.Update(t.Context(), g, id, remember.Patch{Text: ptr("v1 ships on 9 May")})
			if err != nil && memoryd.CodeOf(err) != memoryd.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, m := range w.memories("default") {
		if m.Text == "v1 ships on 9 May" && m.Status == memoryd.Active {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d active rows of one text", n)
	}
}

func TestConcurrentUpdatesAllCount(t *testing.T) {
	w := newWorld(t)
	g := w.grant("", "")
	m := w.add(g, remember.AddRequest{Text: "tea", Scope: "global"}).Memory
	var wg sync.WaitGroup
	won := make(chan bool, 20)
	for i := range 20 {
		wg.Go(func() {
			if _, _, err := w.Update(t.Context(), g, m.ID, remember.Patch{Labels: map[string]string{"n": fmt.Sprint(i)}}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			_, _, err := w.Update(t.Context(), g, m.ID, remember.Patch{IfVersion: 1, Metadata: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
			won <- err == nil
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for ok := range won {
		if ok {
			n++
		}
	}
	if n > 1 {
		t.Errorf("%d writers had version 1", n)
	}
	if got := w.get(m.ID).Version; got != int64(21+n) || len(w.versions(m.ID)) != 20+n {
		t.Errorf("version %d, %d versions", got, len(w.versions(m.ID)))
	}
}
