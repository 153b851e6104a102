package sqlstore

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// partAge is when a part that nobody has written to was left by a process that was killed. One that is under way is
// written to all the time, and is never taken from under its process.
const partAge = time.Hour

// DropParts removes what killed processes left of files that they were making: those beside path whose names are path,
// then a random word. What cannot be removed stays.
func DropParts(path string) {
	dir, prefix := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		word, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || word == "" || strings.Trim(word, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > partAge {
			removePart(filepath.Join(dir, e.Name()))
		}
	}
}

func removePart(part string) {
	for _, left := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(part + left)
	}
}
