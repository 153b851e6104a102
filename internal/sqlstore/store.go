// Package sqlstore keeps everything in a SQL database: SQLite now, with statements shaped so that MySQL and PostgreSQL
// can follow as dialects. It stores and finds what it is told to; who may ask for what is decided before.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"memoryd"
)

var _ memoryd.Store = (*Store)(nil)

// Options is what Open needs.
type Options struct {
	Driver  string // "sqlite", which is also what "" means
	Path    string // the database file; its folder belongs to one process at a time
	MaxOpen int    // connections for reading; 0: 16
	Manual  bool   // do not migrate: refuse to open a store whose schema is behind
	Log     *slog.Logger

	// EncryptionKey encrypts all that is written: 32 bytes in hex or base64, or a passphrase. "": no encryption.
	EncryptionKey string

	vfs     string // for tests: what the files are reached through
	pragmas string // for tests: run on the writer after its own
}

// MinPassphrase is how many bytes a passphrase has at least.
const MinPassphrase = 12

func (o Options) check() error {
	if o.Driver != "" && o.Driver != "sqlite" {
		return fmt.Errorf("sqlstore: there is no driver %q; want sqlite", o.Driver)
	}
	if o.Path == "" {
		return errors.New("sqlstore: no path to a database file")
	}
	return nil
}

func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	lock    *folderLock
	files   *files
	dbs     []*sql.DB
	writer  *group
	readers *pool

	once sync.Once
	err  error
}

// Open opens the store, and makes it where there is none. It migrates the schema unless told not to. The store's
// folder is locked until Close.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := makeSQLite(o.Path); err != nil {
		return nil, err
	}
	lock, err := lockFolder(filepath.Dir(o.Path))
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, o)
	if err != nil {
		lock.release()
		return nil, err
	}
	s.lock = lock
	// The connection that this opens stays: with the last one the log would be closed, and read anew by the next.
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open is Open under the lock.
func open(ctx context.Context, o Options) (*Store, error) {
	f, err := o.files()
	if err != nil {
		return nil, err
	}
	s, err := openFiles(ctx, o, f)
	if err != nil {
		f.close()
	}
	return s, err
}

func openFiles(ctx context.Context, o Options, f *files) (*Store, error) {
	if err := prepareSchema(ctx, o, f); err != nil {
		return nil, err
	}
	d := sqlite()
	write, err := f.openWriter()
	if err != nil {
		return nil, err
	}
	read, err := f.openReader()
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	size := o.MaxOpen
	if size <= 0 {
		size = 16
	}
	return &Store{files: f, dbs: []*sql.DB{write, read}, writer: newGroup(write, d), readers: newPool(read, d, size)}, nil
}

// Read runs f on one consistent snapshot, which is taken by its first statement.
func (s *Store) Read(ctx context.Context, f func(memoryd.Tx) error) error {
	return s.readers.read(ctx, f)
}

// Write runs f in a transaction that it may share with others, and returns once that is on disk.
func (s *Store) Write(ctx context.Context, f func(memoryd.Tx) error) error {
	return s.writer.write(ctx, f)
}

// Ping says whether the store can be read.
func (s *Store) Ping(ctx context.Context) error {
	return s.Read(ctx, func(t memoryd.Tx) error {
		_, err := t.Partitions.Versions([]memoryd.Partition{{}})
		return err
	})
}

// Close finishes the writes and reads that were accepted and refuses new ones. It may be repeated.
func (s *Store) Close() error {
	s.once.Do(func() {
		errs := []error{s.writer.stop(), s.readers.stop()}
		for _, db := range s.dbs {
			errs = append(errs, db.Close())
		}
		s.files.close()
		s.err = errors.Join(append(errs, s.lock.release())...)
	})
	return s.err
}
