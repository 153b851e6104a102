package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"memoryd"
)

func receipt(key string, made time.Time) memoryd.Receipt {
	r := memoryd.Repeat{Key: key, Route: "POST /x", Digest: []byte{0, 255, 39}}.Receipt("t", "w")
	r.Result, r.Made = []byte(`{"id":"`+key+`"}`), made
	return r
}

// Receipts tests the port of that name.
func Receipts(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, memoryd.Store){
		"kept once":     receiptsOnce,
		"expired":       receiptsExpired,
		"with its work": receiptsWithWork,
	})
	ids := map[string]bool{}
	for _, r := range []memoryd.Receipt{
		receipt("a", now), receipt("b", now), memoryd.Repeat{Key: "a", Route: "POST /y"}.Receipt("t", "w"),
		memoryd.Repeat{Key: "a", Route: "POST /x"}.Receipt("T", "w"), memoryd.Repeat{Key: "a", Route: "POST /x"}.Receipt("t", "v"),
		memoryd.Repeat{Key: "xa", Route: "POST /"}.Receipt("t", "w"), memoryd.Repeat{Key: "a", Route: "POST /x"}.Receipt("tw", ""),
	} {
		ids[string(r.ID)] = true
	}
	same(t, "ids that differ", len(ids), 7)
}

func receiptsOnce(t *testing.T, s memoryd.Store) {
	for _, key := range odd {
		write(t, s, func(tx memoryd.Tx) error {
			kept, err := tx.Receipts.Put(receipt(key, now), now.Add(-time.Hour))
			same(t, key, kept, true)
			return err
		})
	}
	again := receipt("ab", now.Add(time.Minute))
	again.Result = []byte("{}")
	write(t, s, func(tx memoryd.Tx) error {
		kept, err := tx.Receipts.Put(again, now)
		same(t, "kept in the place of a young one", kept, false)
		return err
	})
	read(t, s, func(tx memoryd.Tx) error {
		for _, key := range odd {
			got, err := tx.Receipts.Get(receipt(key, now).ID)
			same(t, key, got, receipt(key, now))
			if err != nil {
				return err
			}
		}
		_, missing := tx.Receipts.Get(receipt("missing", now).ID)
		same(t, "missing", errors.Is(missing, memoryd.ErrNotFound), true)
		return nil
	})
	kept := make([]bool, 20)
	whole(t, parallel(len(kept), func(i int) error {
		return s.Write(t.Context(), func(tx memoryd.Tx) (err error) {
			kept[i], err = tx.Receipts.Put(receipt("once", now), now.Add(-time.Hour))
			return err
		})
	}))
	n := 0
	for _, k := range kept {
		if k {
			n++
		}
	}
	same(t, "kept by one of many", n, 1)
}

func receiptsExpired(t *testing.T, s memoryd.Store) {
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Second) }
	write(t, s, func(tx memoryd.Tx) error {
		for _, i := range []int{3, 1, 4, 0, 2} {
			if _, err := tx.Receipts.Put(receipt(fmt.Sprint(i), at(i)), now.Add(-time.Hour)); err != nil {
				return err
			}
		}
		return nil
	})
	write(t, s, func(tx memoryd.Tx) error {
		n, err := tx.Receipts.Purge(at(3), 2)
		same(t, "the two oldest", n, 2)
		kept, err2 := tx.Receipts.Put(receipt("2", at(9)), at(3))
		same(t, "in the place of an old one", kept, true)
		return errors.Join(err, err2)
	})
	for i, there := range []bool{false, false, true, true, true} {
		read(t, s, func(tx memoryd.Tx) error {
			got, err := tx.Receipts.Get(receipt(fmt.Sprint(i), now).ID)
			if there != (err == nil) || i == 2 && !got.Made.Equal(at(9)) {
				t.Errorf("%d: %+v %v", i, got, err)
			}
			return nil
		})
	}
	write(t, s, func(tx memoryd.Tx) error {
		n, err := tx.Receipts.Purge(at(3), 9)
		same(t, "nothing is as old", n, 0)
		n, err2 := tx.Receipts.Purge(at(100), 9)
		same(t, "the rest", n, 3)
		return errors.Join(err, err2)
	})
}

// A receipt stands exactly where the write that it is for does.
func receiptsWithWork(t *testing.T, s memoryd.Store) {
	boom := errors.New("boom")
	fails(t, s, boom, func(tx memoryd.Tx) error {
		_, err := tx.Receipts.Put(receipt("r", now), now.Add(-time.Hour))
		return errors.Join(err, boom)
	})
	read(t, s, func(tx memoryd.Tx) error {
		_, missing := tx.Receipts.Get(receipt("r", now).ID)
		same(t, "missing", errors.Is(missing, memoryd.ErrNotFound), true)
		return nil
	})
}
