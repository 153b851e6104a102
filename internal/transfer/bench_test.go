package transfer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"memoryd"
)

// BenchmarkThereAndBack moves 2,000 memories of 100 characters into an empty store.
func BenchmarkThereAndBack(b *testing.B) {
	const n = 2000
	s := openStore(b)
	list := make([]memoryd.Memory, n)
	for i := range list {
		list[i] = memory("a", fmt.Sprintf("u%d", i%10), fmt.Sprintf("%06d", i), memoryd.Global, fmt.Sprintf("%d %s", i, strings.Repeat("word ", 20)))
	}
	if err := s.Write(b.Context(), func(tx memoryd.Tx) error { return tx.Load.Memories(list) }); err != nil {
		b.Fatal(err)
	}
	text := export(b, s, ExportOptions{})
	b.Run("export", func(b *testing.B) {
		for b.Loop() {
			if !bytes.Equal(export(b, s, ExportOptions{}), text) {
				b.Fatal("it differs")
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("import", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fresh := openStore(b)
			b.StartTimer()
			if got := taken(b, fresh, text); got.Added != n {
				b.Fatalf("%+v", got)
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
