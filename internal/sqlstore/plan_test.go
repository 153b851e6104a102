package sqlstore

import (
	"errors"
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
	c, err := s.readers.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.readers.give(c)
	for query := range c.stmts {
		if !strings.HasPrefix(query, "SELECT") {
			continue
		}
		// By use or importance a partition's rows are sorted for the list: an index each would cost every write more
		// than such lists are worth.
		sorts := strings.Contains(query, "ORDER BY last_used") || strings.Contains(query, "ORDER BY importance")
		for _, step := range plan(t, c, query) {
			scan := strings.HasPrefix(step, "SCAN") && !strings.HasSuffix(step, "VALUES CLAUSE") && !strings.HasSuffix(step, "CONSTANT ROW") &&
				!strings.Contains(step, "VIRTUAL TABLE")
			if scan || !sorts && strings.Contains(query, "LIMIT") && strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\n%s", query[strings.Index(query, " FROM "):], step)
			}
			if strings.Contains(query, "live = ?") && strings.Contains(query, "part = ? AND scope") && !strings.Contains(step, "memories_live") {
				t.Errorf("%s\n%s", query[strings.Index(query, " FROM "):], step)
			}
		}
	}
}

func everyRead(t *testing.T, s *Store) {
	err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		for i := range 10 {
			if err := tx.Memories.Insert(memory(i)); err != nil {
				return err
			}
			g := memory(i + 100)
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
	err = s.Read(t.Context(), func(tx memoryd.Tx) error { return errors.Join(lists(tx), lookups(tx), dumps(tx)) })
	if err != nil {
		t.Fatal(err)
	}
}

func lists(tx memoryd.Tx) error {
	var errs []error
	for _, o := range []memoryd.Owner{{Tenant: "t", User: "user-1"}, {Tenant: "t"}} {
		for _, scopes := range []memoryd.Scopes{memoryd.AllScopes(), memoryd.ScopesOf(memoryd.Global, memoryd.GroupScope("g"))} {
			filters := []memoryd.MemoryFilter{{Hash: "h", Limit: 1}}
			for _, sort := range []memoryd.Sort{memoryd.ByRecorded, memoryd.ByLastUsed, memoryd.ByImportance} {
				filters = append(filters, memoryd.MemoryFilter{Sort: sort, Limit: 50}, memoryd.MemoryFilter{Sort: sort, Limit: 50,
					After: &memoryd.MemoryPos{Value: 5, ID: "x"}, Unexpired: time.Now(), Contains: "x", Labels: map[string]string{"a": "b"},
					Types: memoryd.Types, Statuses: memoryd.Statuses})
			}
			for _, f := range filters {
				_, err := tx.Memories.List(o, scopes, f)
				errs = append(errs, err)
			}
			for _, f := range []memoryd.SessionFilter{{Limit: 50}, {Limit: 50, State: "open", Agent: "a", Before: time.Now(), BeforeID: "x"}} {
				_, err := tx.Sessions.List(o, scopes, f)
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func lookups(tx memoryd.Tx) error {
	o, session := memoryd.Owner{Tenant: "t", User: "user-1"}, memoryd.Session{Tenant: "t", ID: "s"}
	_, err1 := tx.Memories.Get(o, memoryd.AllScopes(), "a", "b")
	_, err2 := tx.Messages.Turns(o, memoryd.AllScopes(), []memoryd.TurnKey{{Session: "s", Seq: 1}, {Session: "s", Seq: 2}})
	_, err3 := tx.Messages.Newest(session, 0, 5)
	_, err4 := tx.Messages.ByID(session, []string{"a"})
	_, err5 := tx.Partitions.Versions([]memoryd.Partition{{Tenant: "t", User: "u"}, {Tenant: "t", Group: "g"}})
	_, err6 := tx.Partitions.Groups("t")
	_, err7 := tx.Versions.List("t", "x")
	_, err8 := tx.Partitions.Changes(memoryd.Partition{Tenant: "t", User: "user-1"}, 0)
	_, err9 := tx.Contents.Users("t", "", 50)
	_, err10 := tx.Contents.Count("t")
	_, err11 := tx.Scratch.Get(memoryd.Run{Tenant: "t", ID: "r"}, time.Now(), "k")
	_, missing := tx.Receipts.Get([]byte("x"))
	if !errors.Is(missing, memoryd.ErrNotFound) {
		return missing
	}
	return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11)
}

func dumps(tx memoryd.Tx) error {
	var errs []error
	for _, user := range []string{"", "user-1"} {
		o := memoryd.Owner{Tenant: "t", User: user}
		_, err := tx.Dump.Sessions(o, "", 10)
		_, err2 := tx.Dump.Memories(o, "", 10)
		errs = append(errs, err, err2)
	}
	_, err := tx.Dump.Messages(memoryd.Session{Tenant: "t", ID: "s"}, 0, 10)
	_, err2 := tx.Load.Twins([]memoryd.Memory{memory(1)})
	return errors.Join(append(errs, err, err2)...)
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
