package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"memoryd"
)

func run(id string) memoryd.Run { return memoryd.Run{Tenant: "t", User: "u", Agent: "a", ID: id} }

// entry is written at a time and lives an hour.
func entry(key, value string, at time.Time) memoryd.Entry {
	return memoryd.Entry{Key: key, Value: []byte(value), Updated: at, Expires: at.Add(time.Hour)}
}

// Scratch tests the port of that name.
func Scratch(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"values":  scratchValues,
		"runs":    scratchRuns,
		"limit":   scratchLimit,
		"expired": scratchExpired,
	})
}

func keep(t *testing.T, s memoryd.Store, r memoryd.Run, want bool, e memoryd.Entry, limit int) {
	t.Helper()
	write(t, s, func(tx memoryd.Tx) error {
		kept, err := tx.Scratch.Put(r, e, limit)
		same(t, "kept "+e.Key, kept, want)
		return err
	})
}

func entries(t *testing.T, s memoryd.Store, r memoryd.Run, at time.Time, keys ...string) (list []memoryd.Entry) {
	t.Helper()
	read(t, s, func(tx memoryd.Tx) (err error) {
		list, err = tx.Scratch.Get(r, at, keys...)
		return err
	})
	return list
}

func scratchValues(t *testing.T, s memoryd.Store) {
	r := run("r")
	big := `"` + strings.Repeat("長", 20_000) + `"`
	var want []memoryd.Entry
	for _, key := range slices.Sorted(slices.Values(odd)) {
		e := entry(key, fmt.Sprintf(`{"k":%q,"n":1.50}`, key), now)
		keep(t, s, r, true, entry(key, "0", now), 100)
		keep(t, s, r, true, e, 100)
		want = append(want, e)
	}
	same(t, "all, in order", entries(t, s, r, now), want)
	keep(t, s, r, true, entry("big", big, now), 100)
	same(t, "one", entries(t, s, r, now, "big"), []memoryd.Entry{entry("big", big, now)})
	same(t, "none", len(entries(t, s, r, now, "BIG")), 0)
	same(t, "three", len(entries(t, s, r, now, "big", "ab", "missing", "Ab")), 3)
	write(t, s, func(tx memoryd.Tx) error {
		n, err := tx.Scratch.Delete(r, now, "ab", "missing")
		same(t, "deleted", n, 1)
		n, err2 := tx.Scratch.Delete(r, now)
		same(t, "the rest", n, len(odd))
		n, err3 := tx.Scratch.Delete(r, now)
		same(t, "nothing", n, 0)
		return errors.Join(err, err2, err3)
	})
	same(t, "after", len(entries(t, s, r, now)), 0)
}

func scratchRuns(t *testing.T, s memoryd.Store) {
	runs := []memoryd.Run{run("r"), run("R"), run("r "), {Tenant: "T", User: "u", Agent: "a", ID: "r"}, {Tenant: "t", User: "U", Agent: "a", ID: "r"},
		{Tenant: "t", User: "u", ID: "r"}, {Tenant: "t", User: "u", Agent: "A", ID: "r"}}
	for i, r := range runs {
		keep(t, s, r, true, entry("k", fmt.Sprint(i), now), 1)
	}
	for i, r := range runs {
		same(t, "its own", entries(t, s, r, now), []memoryd.Entry{entry("k", fmt.Sprint(i), now)})
	}
	write(t, s, func(tx memoryd.Tx) error { _, err := tx.Scratch.Delete(runs[0], now); return err })
	for i, r := range runs {
		same(t, "left", len(entries(t, s, r, now)), min(i, 1))
	}
}

func scratchLimit(t *testing.T, s memoryd.Store) {
	r := run("r")
	keep(t, s, r, true, entry("a", "1", now), 2)
	keep(t, s, r, true, entry("b", "1", now.Add(30*time.Minute)), 2)
	keep(t, s, r, false, entry("c", "1", now.Add(40*time.Minute)), 2)
	keep(t, s, r, true, entry("b", "2", now.Add(40*time.Minute)), 2)
	keep(t, s, run("other"), true, entry("c", "1", now.Add(40*time.Minute)), 2)
	// What has expired takes no place, and gets its own back only where there is one.
	keep(t, s, r, true, entry("c", "1", now.Add(61*time.Minute)), 2)
	keep(t, s, r, false, entry("a", "2", now.Add(62*time.Minute)), 2)
	keep(t, s, r, true, entry("a", "3", now.Add(101*time.Minute)), 2)
	same(t, "a lives again", entries(t, s, r, now.Add(102*time.Minute), "a"), []memoryd.Entry{entry("a", "3", now.Add(101*time.Minute))})
	busy := run("busy")
	kept := make([]bool, 20)
	whole(t, parallel(len(kept), func(i int) error {
		return s.Write(t.Context(), func(tx memoryd.Tx) (err error) {
			kept[i], err = tx.Scratch.Put(busy, entry(fmt.Sprint(i), "1", now), 5)
			return err
		})
	}))
	same(t, "kept at once", len(entries(t, s, busy, now)), 5)
}

func scratchExpired(t *testing.T, s memoryd.Store) {
	r := run("r")
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Second) }
	for _, i := range []int{2, 0, 3, 1} {
		keep(t, s, r, true, entry(fmt.Sprint(i), "1", at(i)), 9)
	}
	same(t, "at the end of 1", len(entries(t, s, r, at(3601))), 2)
	same(t, "just before", len(entries(t, s, r, at(3601).Add(-time.Microsecond))), 3)
	write(t, s, func(tx memoryd.Tx) error {
		n, err := tx.Scratch.Delete(r, at(3601), "1")
		same(t, "an expired one is not there", n, 0)
		n, err2 := tx.Scratch.Purge(at(3602), 1)
		same(t, "the oldest", n, 1)
		n, err3 := tx.Scratch.Purge(at(3602), 9)
		same(t, "all that have expired", n, 1)
		return errors.Join(err, err2, err3)
	})
	same(t, "as if it were early", entries(t, s, r, at(3)), []memoryd.Entry{entry("3", "1", at(3))})
}
