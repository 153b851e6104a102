package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"memoryd/internal/sqlstore"
)

// newFile makes a file that is there whole or not at all, closed to other users of the machine, and compressed where
// its name ends in .gz. One that is there already stays.
func newFile(path string, write func(io.Writer) error) (err error) {
	if err := mustBeNew(path); err != nil {
		return err
	}
	prefix := "." + filepath.Base(path) + ".part-"
	sqlstore.DropParts(filepath.Join(filepath.Dir(path), prefix))
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // the file is of no use any more, whatever its end was
			os.Remove(f.Name())
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err := packed(path, buffered, write); err != nil {
		return err
	}
	if err := errors.Join(buffered.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := mustBeNew(path); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes durable that the file is there under its name. Windows knows no such thing.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func packed(path string, w io.Writer, write func(io.Writer) error) error {
	if !strings.HasSuffix(path, ".gz") {
		return write(w)
	}
	z := gzip.NewWriter(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

func mustBeNew(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; choose another name", path)
	}
	return nil
}
