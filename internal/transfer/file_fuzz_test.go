package transfer

import (
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memoryd"
)

var fault = regexp.MustCompile(`\.jsonl:\d+: `)

// FuzzFile: a file is refused with the line at fault, or holds the rows that its manifest counts, in order. Signed
// anew, so that a changed row gets past the manifest, rows that are taken can all be written again.
func FuzzFile(f *testing.F) {
	good := signed(first, `{"row":"tenant","id":"a","created":"2026-01-02T03:04:05Z"}`, `{"row":"agent","tenant":"a","id":"x","settings":{}}`, aSession, aMessage, aMemory, aVersion(1))
	for _, s := range []string{good, "", first + "\n", good + good, good[:len(good)-5], signed(first, aMemory, aMemory), signed(first, aMemory, aSession), signed(first, aMessage), "\x1f\x8b", "\x1f\x8b\x08\x00",
		strings.Replace(good, `"sha256":"`, `"sha256":"0`, 1), signed(`{"row":"export","format":2}`), signed(first, strings.Replace(aMemory, `"version":2`, `"version":9223372036854775807`, 1))} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	path := f.TempDir() + "/f.jsonl"
	open := func(t *testing.T, text []byte) *File {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Open(t.Context(), path, nil)
		if err != nil {
			if memoryd.CodeOf(err) == memoryd.Invalid != fault.MatchString(err.Error()) || file != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return nil
		}
		return file
	}
	f.Fuzz(func(t *testing.T, text []byte, zipped bool) {
		if zipped {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(text); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			if file := open(t, b.Bytes()); file != nil {
				file.Close()
			}
			if file := open(t, b.Bytes()[:b.Len()/2]); file != nil {
				t.Fatalf("half of %q is taken", text)
			}
		}
		file := open(t, text)
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(l string) bool { return l == "" || strings.Contains(l, rowManifest) })
		if file == nil && len(lines) > 0 {
			file = open(t, []byte(signed(lines...)))
		}
		if file == nil {
			return
		}
		defer file.Close()
		r, err := file.reader()
		if err != nil {
			t.Fatal(err)
		}
		var counts Counts
		for {
			row, err := r.next()
			if err != nil {
				break
			}
			counts.add(row.v)
			if line, err := encode(row.v); err != nil || bytes.Count(line, []byte("\n")) != 1 {
				t.Fatalf("%+v becomes %q: %v", row.v, line, err)
			}
		}
		if counts != file.Manifest.Counts {
			t.Fatalf("%+v rows, the manifest counts %+v", counts, file.Manifest.Counts)
		}
	})
}
