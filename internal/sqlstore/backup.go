package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"memoryd"
)

// backupPages is how many pages are copied between two reports and looks at the context: 1 MiB.
const backupPages = 256

// Backup writes the store as it is now to a file of its own, while others read and write: it holds every write that was
// acknowledged before, whole, and is encrypted where the store is. The file appears under its name when it is complete
// and on disk; one that is there already is not touched. progress, which may be nil, is told pages.
//
// While it copies, the log keeps what is written meanwhile, and grows by it.
func (s *Store) Backup(ctx context.Context, path string, progress func(done, total int64)) error {
	if _, err := os.Lstat(path); err == nil {
		return memoryd.Errorf(memoryd.Conflict, "conflict", "%s is there already", path)
	}
	DropParts(path + ".part-")
	part := path + ".part-" + rand.Text()[:8]
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("sqlstore: backup: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("sqlstore: backup: %w", err)
	}
	defer removePart(part)
	if err := s.copyTo(ctx, part, progress); err != nil {
		return fmt.Errorf("sqlstore: backup: %w", sqliteFault(err))
	}
	return publish(part, path)
}

// copyTo fills an empty file with one snapshot.
func (s *Store) copyTo(ctx context.Context, part string, progress func(done, total int64)) error {
	dst, err := s.files.dsn(part)
	if err != nil {
		return err
	}
	if err := s.files.stamp(ctx, part); err != nil {
		return err
	}
	c, err := s.readers.take(ctx) // Close waits for it
	if err != nil {
		return err
	}
	defer s.readers.give(c)
	return c.raw(func(c *sqlite3.Conn) error {
		// One transaction for all steps: a new one would find another state, and start from the beginning.
		if err := c.Exec("BEGIN; SELECT COUNT(*) FROM sqlite_schema"); err != nil {
			return err
		}
		b, err := c.BackupInit("main", dst)
		if err != nil {
			return err
		}
		return errors.Join(steps(ctx, b, progress), b.Close())
	})
}

// stamp makes the file a database with checksums: the library computes them for what it writes to a file that it found
// so when it opened it.
func (f *files) stamp(ctx context.Context, path string) error {
	db, err := f.open(path, "PRAGMA user_version = 1;")
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

func steps(ctx context.Context, b *sqlite3.Backup, progress func(done, total int64)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := b.Step(backupPages)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
		}
		if done {
			return nil
		}
	}
}

// publish gives a finished file its name, and brings both to the disk.
func publish(part, path string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Link(part, path) // unlike a renaming it replaces nothing
		if errors.Is(err, fs.ErrExist) {
			return memoryd.Errorf(memoryd.Conflict, "conflict", "%s is there already", path)
		}
		if err != nil { // a file system without links
			err = os.Rename(part, path)
		}
	}
	if err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// Restore puts a backup into a data folder that has no store yet. It checks all of it first, and nothing stands under
// the store's name before that. It locks the folder; o says where, and how the backup is encrypted.
func Restore(ctx context.Context, o Options, from string) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(o.Path)); err != nil {
		return err
	}
	lock, err := lockFolder(filepath.Dir(o.Path))
	if err != nil {
		return err
	}
	return errors.Join(restore(ctx, o, from), lock.release())
}

func restore(ctx context.Context, o Options, from string) error {
	path := o.Path
	for _, name := range []string{"", "-wal", "-journal"} {
		if _, err := os.Lstat(o.Path + name); err == nil {
			return memoryd.Errorf(memoryd.Conflict, "conflict", "%s is there already; restore into an empty data folder", o.Path+name)
		}
		if info, err := os.Stat(from + name); name != "" && err == nil && info.Size() > 0 {
			return memoryd.Errorf(memoryd.Invalid, "bad-field", "%s is there: %s is the file of a store in use, or of one that was; back that up", from+name, from)
		}
	}
	source := o
	source.Path = from
	f, err := source.files() // looks whether the key fits
	if err != nil {
		return err
	}
	f.close()
	part := o.Path + ".part"
	defer os.Remove(part)
	if err := copyFile(ctx, from, part); err != nil {
		return fmt.Errorf("sqlstore: restore: %w", err)
	}
	o.Path = part
	if err := checkBackup(ctx, o); err != nil {
		return fmt.Errorf("sqlstore: restore %s: %w", from, err)
	}
	return publish(part, path)
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, reader{ctx, in})
	return errors.Join(err, out.Close())
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// checkBackup reads the whole file. It opens it as one that nobody writes, which leaves no others beside it.
func checkBackup(ctx context.Context, o Options) error {
	f, err := o.files()
	if err != nil {
		return err
	}
	defer f.close()
	db, err := f.open(o.Path, readerPragmas, "immutable", "1")
	if err != nil {
		return err
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return sqliteFault(err)
	}
	if verdict != "ok" {
		return damaged(fmt.Errorf("integrity_check: %s", verdict))
	}
	p, err := provider(db)
	if err != nil {
		return err
	}
	current, err := schemaVersion(ctx, db)
	switch {
	case err != nil:
		return err
	case current == 0:
		return memoryd.Errorf(memoryd.Invalid, "bad-field", "it holds no store")
	case current > newest(p):
		return fmt.Errorf("%w: it has version %d, the program knows %d; use a newer memoryd", ErrNewer, current, newest(p))
	}
	return nil
}
