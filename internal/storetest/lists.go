package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"memoryd"
)

// Lists tests Memories.List.
func Lists(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"filters":                 memoryFilters,
		"a part of the text":      contains,
		"labels":                  labels,
		"ids byte for byte":       memoryIDs,
		"pages over equal values": memoryPages,
	})
}

func list(t testing.TB, s memoryd.Store, f memoryd.MemoryFilter) []memoryd.Memory {
	t.Helper()
	var out []memoryd.Memory
	read(t, s, func(tx memoryd.Tx) (err error) {
		out, err = tx.Memories.List(own, all, f)
		return err
	})
	return out
}

func memoryFilters(t *testing.T, s memoryd.Store) {
	base := memory(1, memoryd.Global, "base")
	edit := func(i int, f func(*memoryd.Memory)) memoryd.Memory {
		m := memory(i, memoryd.Global, fmt.Sprint("text ", i))
		f(&m)
		return m
	}
	at := func(d time.Duration) *time.Time { x := now.Add(d); return &x }
	write(t, s, insert(base,
		edit(2, func(m *memoryd.Memory) { m.Status, m.Expires = memoryd.Archived, at(0) }),
		edit(3, func(m *memoryd.Memory) { m.Status = memoryd.Quarantined; m.Hash = base.Hash }),
		edit(4, func(m *memoryd.Memory) { m.Type = memoryd.Lesson }),
		edit(5, func(m *memoryd.Memory) { m.Form = memoryd.FormTool }),
		edit(6, func(m *memoryd.Memory) { m.Trust = memoryd.Low }),
		edit(7, func(m *memoryd.Memory) { m.Agent = "a" }),
		edit(8, func(m *memoryd.Memory) { m.Expires = at(0) }),
		edit(9, func(m *memoryd.Memory) { m.Expires = at(time.Microsecond) }),
	))
	second := func(i int) time.Time { return now.Add(time.Duration(i) * time.Second) }
	for _, c := range []struct {
		name string
		f    memoryd.MemoryFilter
		want []int
	}{
		{"active, newest first", memoryd.MemoryFilter{}, []int{9, 8, 7, 6, 5, 4, 1}},
		{"limit", memoryd.MemoryFilter{Limit: 2}, []int{9, 8}},
		{"archived", memoryd.MemoryFilter{Statuses: []memoryd.Status{memoryd.Archived}}, []int{2}},
		{"two statuses", memoryd.MemoryFilter{Statuses: []memoryd.Status{memoryd.Archived, memoryd.Quarantined}}, []int{3, 2}},
		{"type", memoryd.MemoryFilter{Types: []memoryd.Type{memoryd.Lesson}}, []int{4}},
		{"types", memoryd.MemoryFilter{Types: []memoryd.Type{memoryd.Lesson, memoryd.Fact}}, []int{9, 8, 7, 6, 5, 4, 1}},
		{"form", memoryd.MemoryFilter{Forms: []memoryd.Form{memoryd.FormTool}}, []int{5}},
		{"trust", memoryd.MemoryFilter{Trusts: []memoryd.Trust{memoryd.Low, memoryd.Medium}}, []int{6}},
		{"agent", memoryd.MemoryFilter{Agent: "a"}, []int{7}},
		{"agent, not folded", memoryd.MemoryFilter{Agent: "A"}, nil},
		{"since", memoryd.MemoryFilter{Since: second(8)}, []int{9, 8}},
		{"until", memoryd.MemoryFilter{Until: second(5)}, []int{4, 1}},
		{"between", memoryd.MemoryFilter{Since: second(5), Until: second(7)}, []int{6, 5}},
		{"hash", memoryd.MemoryFilter{Hash: base.Hash}, []int{1}},
		{"hash by status", memoryd.MemoryFilter{Hash: base.Hash, Statuses: memoryd.Statuses}, []int{3, 1}},
		{"unexpired", memoryd.MemoryFilter{Unexpired: now, Since: second(7)}, []int{9, 7}},
		{"unexpired or not active", memoryd.MemoryFilter{Unexpired: now, Statuses: memoryd.Statuses}, []int{9, 7, 6, 5, 4, 3, 2, 1}},
		{"together", memoryd.MemoryFilter{Types: []memoryd.Type{memoryd.Fact}, Forms: []memoryd.Form{memoryd.FormTool}, Contains: "5"}, []int{5}},
	} {
		var want []string
		for _, i := range c.want {
			want = append(want, uuid(i))
		}
		same(t, c.name, ids(list(t, s, c.f)), append([]string{}, want...))
	}
}

func contains(t *testing.T, s memoryd.Store) {
	texts := []string{"100% sure", "100 sure", "a_b", "aXb", `a\b`, "it's", "Straße", "STRASSE", "你好世界", "e\u0301", "é", "* ?", "[a]", "plain"}
	for i, text := range texts {
		write(t, s, insert(memory(i, memoryd.Global, text)))
	}
	for part, want := range map[string][]string{
		"%": {"100% sure"}, "_": {"a_b"}, `\`: {`a\b`}, "'": {"it's"}, "Stra": {"Straße"}, "stra": nil, "好世": {"你好世界"}, "é": {"é"}, "*": {"* ?"},
		"?": {"* ?"}, "[a]": {"[a]"}, "sure": {"100% sure", "100 sure"}, "plain": {"plain"}, "plain ": nil, "": texts,
	} {
		var got []string
		for _, m := range list(t, s, memoryd.MemoryFilter{Contains: part}) {
			got = append(got, m.Text)
		}
		slices.Sort(got)
		same(t, fmt.Sprintf("%q", part), got, slices.Sorted(slices.Values(want)))
	}
}

func labels(t *testing.T, s memoryd.Store) {
	for i, word := range odd {
		m := memory(i, memoryd.Global, word)
		m.Labels = map[string]string{word: "is key", "value": word, "shared": "yes"}
		write(t, s, insert(m))
	}
	for i, word := range odd {
		want := []string{uuid(i)}
		same(t, "key "+word, ids(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{word: "is key"}})), want)
		same(t, "value "+word, ids(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{"value": word, "shared": "yes"}})), want)
		same(t, "no value "+word, len(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{word: "is kez"}})), 0)
	}
	same(t, "shared", len(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{"shared": "yes"}})), len(odd))
	same(t, "absent", len(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{"absent": ""}})), 0)
	same(t, "both", len(list(t, s, memoryd.MemoryFilter{Labels: map[string]string{"Ab": "is key", "ab": "is key"}})), 0)
}

// Tenants, users, agents' scopes, groups and ids that only bytes tell apart stay apart.
func memoryIDs(t *testing.T, s memoryd.Store) {
	write(t, s, func(tx memoryd.Tx) error {
		for i, id := range odd {
			tenant, user, agent, group, plain := memory(i, memoryd.Global, "tenant"), memory(i+100, memoryd.Global, "user"),
				memory(i+200, memoryd.AgentScope(id), "agent"), memory(i+300, memoryd.GroupScope(id), "group"), memory(i, memoryd.Global, id)
			tenant.Tenant, user.User, plain.ID = id, id, id
			if err := insert(tenant, user, agent, group, plain)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	read(t, s, func(tx memoryd.Tx) error {
		for i, id := range odd {
			for _, c := range []struct {
				o    memoryd.Owner
				s    memoryd.Scopes
				want int
			}{
				{memoryd.Owner{Tenant: id, User: "u"}, all, i}, {memoryd.Owner{Tenant: "t", User: id}, memoryd.ScopesOf(memoryd.Global), i + 100},
				{own, memoryd.ScopesOf(memoryd.AgentScope(id)), i + 200}, {own, memoryd.ScopesOf(memoryd.GroupScope(id)), i + 300},
			} {
				got, err := tx.Memories.List(c.o, c.s, memoryd.MemoryFilter{})
				if err != nil {
					return err
				}
				same(t, fmt.Sprintf("%+v %+v", c.o, c.s), ids(got), []string{uuid(c.want)})
			}
			got, err := tx.Memories.Get(own, all, id)
			if err != nil || len(got) != 1 || got[0].Text != id {
				t.Errorf("id %q: %+v %v", id, got, err)
			}
		}
		return nil
	})
}

// Values are equal in runs, rows lie in several partitions, and some were never used.
func memoryPages(t *testing.T, s memoryd.Store) {
	var every []memoryd.Memory
	for i := range 48 {
		m := memory((i*7)%48, []memoryd.Scope{memoryd.Global, team, memoryd.DM, memoryd.AgentScope("a"), memoryd.GroupScope("b")}[i%5], fmt.Sprint("text ", i))
		m.Recorded = now.Add(time.Duration(i/10) * time.Microsecond)
		m.Importance = 1 + i%3
		if i%2 == 0 {
			used := now.Add(time.Duration(i%6) * time.Microsecond)
			m.LastUsed = &used
		}
		every = append(every, m)
	}
	write(t, s, insert(every...))
	value := map[memoryd.Sort]func(memoryd.Memory) int64{
		memoryd.ByRecorded:   func(m memoryd.Memory) int64 { return m.Recorded.UnixMicro() },
		memoryd.ByImportance: func(m memoryd.Memory) int64 { return int64(m.Importance) },
		memoryd.ByLastUsed: func(m memoryd.Memory) int64 {
			if m.LastUsed == nil {
				return 0
			}
			return m.LastUsed.UnixMicro()
		},
	}
	sets := []memoryd.Scopes{all, memoryd.ScopesOf(memoryd.Global, memoryd.DM, memoryd.AgentScope("a"), team, memoryd.GroupScope("b"))}
	for sort, of := range value {
		want := slices.Clone(every)
		slices.SortFunc(want, func(a, b memoryd.Memory) int { return cmp.Or(cmp.Compare(of(b), of(a)), cmp.Compare(b.ID, a.ID)) })
		for _, o := range []memoryd.Owner{own, {Tenant: "t"}} {
			for _, set := range sets {
				var got []memoryd.Memory
				f := memoryd.MemoryFilter{Sort: sort, Limit: 7}
				for page := 0; ; page++ {
					var found []memoryd.Memory
					read(t, s, func(tx memoryd.Tx) (err error) {
						found, err = tx.Memories.List(o, set, f)
						return err
					})
					if len(found) == 0 || page > len(every) {
						break
					}
					got = append(got, found...)
					last := found[len(found)-1]
					f.After = &memoryd.MemoryPos{Value: of(last), ID: last.ID}
				}
				same(t, fmt.Sprintf("%s %+v", sort, o), ids(got), ids(want))
			}
		}
	}
	read(t, s, func(tx memoryd.Tx) error {
		if _, err := tx.Memories.List(own, all, memoryd.MemoryFilter{Sort: "id; DROP TABLE memories"}); err == nil {
			return errors.New("an unknown sort was taken")
		}
		return nil
	})
}
