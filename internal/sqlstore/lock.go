package sqlstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"memoryd"
)

// folderLock keeps a second process out of a data folder: two would each believe that nobody else writes. The file
// stays behind when the lock is released; removing it would let two processes lock two files of one name.
type folderLock struct{ f *os.File }

// errHeld is what lockFile answers while another holds the file.
var errHeld = errors.New("sqlstore: the lock is held")

func lockFolder(dir string) (*folderLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "memoryd.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: lock: %w", err)
	}
	err = lockFile(f)
	if errors.Is(err, errHeld) {
		holder := pid(f)
		f.Close()
		return nil, memoryd.Errorf(memoryd.Unavailable, "store-down",
			"the data folder %s is in use by another memoryd%s; stop it, or talk to it over HTTP", dir, holder)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil && !noRoom(err) {
		f.Close()
		return nil, fmt.Errorf("sqlstore: lock: %w", err)
	}
	return &folderLock{f: f}, nil
}

// pid is who holds the lock, for people to read; it may have been written by a process that is gone.
func pid(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 20))
	n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || bad != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", n)
}

func (l *folderLock) release() error { return l.f.Close() }
