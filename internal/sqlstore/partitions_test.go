package sqlstore

import (
	"fmt"
	"testing"

	"memoryd"
)

// A tenant may have more groups than a statement takes parameters.
func TestVersionsOfManyPartitions(t *testing.T) {
	s := openTest(t)
	if err := s.Write(t.Context(), func(tx memoryd.Tx) error {
		m := memory(1)
		m.Scope = memoryd.GroupScope("g19999")
		return tx.Memories.Insert(m)
	}); err != nil {
		t.Fatal(err)
	}
	parts := make([]memoryd.Partition, 20000)
	for i := range parts {
		parts[i] = memoryd.Partition{Tenant: "t", Group: fmt.Sprintf("g%d", i)}
	}
	if err := s.Read(t.Context(), func(tx memoryd.Tx) error {
		list, err := tx.Partitions.Versions(parts)
		if err == nil && (len(list) != len(parts) || list[19999] != 1 || list[0] != 0) {
			t.Errorf("%d versions, the last is %d", len(list), list[19999])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
