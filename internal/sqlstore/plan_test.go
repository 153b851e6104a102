package sqlstore

import (
	"strings"
	"testing"
	"time"

	"memoryd"
)

// A search or list of one owner stays as fast when others' rows grow: each statement that one runs is answered by
// indexes, in their order.
func TestPlans(t *testing.T) {
	s := openTest(t)
	everyRead(t, s)
	c := s.readers.pop()
	defer s.readers.give(c)
	for query := range c.stmts {
		if !strings.HasPrefix(query, "SELECT") {
			continue
		}
		for _, step := range plan(t, c, query) {
			t.Log(query[:20], "...", query[max(0,len(query)-220):], "=>", step)
		}
	}
}

func everyRead(t *testing.T, s *Store) {
	err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		for i := range 10 {
			if err := tx.Memories.Insert(memory(i)); err != nil {
				return err
			}
			g := memory(i+100)
			g.Scope = memoryd.GroupScope("g")
			if err := tx.Memories.Insert(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o := memoryd.Owner{Tenant: "t", User: "user-1"}
	err = s.Read(t.Context(), func(tx memoryd.Tx) error {
		for _, o := range []memoryd.Owner{o, {Tenant: "t"}} {
			for _, scopes := range []memoryd.Scopes{memoryd.AllScopes(), memoryd.ScopesOf(memoryd.Global, memoryd.GroupScope("g"))} {
				for _, sort := range []memoryd.Sort{memoryd.ByRecorded, memoryd.ByLastUsed, memoryd.ByImportance} {
					tx.Memories.List(o, scopes, memoryd.MemoryFilter{Sort: sort, Limit: 50})
					tx.Memories.List(o, scopes, memoryd.MemoryFilter{Sort: sort, Limit: 50, After: &memoryd.MemoryPos{Value: 5, ID: "x"}, Unexpired: time.Now()})
				}
				tx.Memories.List(o, scopes, memoryd.MemoryFilter{Hash: "h", Limit: 1})
				tx.Sessions.List(o, scopes, memoryd.SessionFilter{Limit: 50})
				tx.Sessions.List(o, scopes, memoryd.SessionFilter{Limit: 50, State: "open", Before: time.Now(), BeforeID: "x"})
			}
		}
		tx.Memories.Get(o, memoryd.AllScopes(), "a", "b")
		tx.Messages.Turns(o, memoryd.AllScopes(), []memoryd.TurnKey{{Session: "s", Seq: 1}, {Session: "s", Seq: 2}})
		tx.Messages.Newest(memoryd.Session{Tenant: "t", ID: "s"}, 0, 5)
		tx.Messages.ByID(memoryd.Session{Tenant: "t", ID: "s"}, []string{"a"})
		tx.Partitions.Versions([]memoryd.Partition{{Tenant: "t", User: "u"}, {Tenant: "t", Group: "g"}})
		tx.Partitions.Groups("t")
		tx.Versions.List("t", "x")
		_, err := tx.Partitions.Changes(memoryd.Partition{Tenant: "t", User: "user-1"}, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plan(t *testing.T, c *conn, query string) []string {
	t.Helper()
	rows, err := c.c.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	return steps
}
