package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/vfs"

	"memoryd"
)

// files is how SQLite reaches the files of one database: through a layer of its own over the system's.
type files struct {
	path    string
	vfs     string // the name of the layer
	base    string // of what is below it; "": the system's own
	pragmas string // run on the writer after its own
	cipher  *cipher
	beside  bool // only looked at
}

// files answers how to reach the database, and fails where that would not fit what is there. What it answers is closed
// when the database is.
func (o Options) files() (*files, error) {
	f := &files{path: o.Path, vfs: "memoryd-" + rand.Text(), base: o.vfs, pragmas: o.pragmas}
	over := vfs.VFS(layer{vfs.Find(o.vfs)})
	if o.EncryptionKey != "" {
		var err error
		if f.cipher, err = newCipher(o.EncryptionKey); err != nil {
			return nil, err
		}
		over = f.cipher.over(over)
	}
	vfs.Register(f.vfs, over)
	if err := f.fit(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// beside is files for looking on while another process may have the database open, or none: the log is left as it is.
func (o Options) beside() (*files, error) {
	f, err := o.files()
	if err == nil {
		f.beside = true
	}
	return f, err
}

const (
	blockSize = 4096 // of a page, and of what is encrypted at once
	reserved  = 20   // where the first page says how many bytes stay free at the end of each page
	checksum  = 8    // the bytes of a page's checksum
)

// starts is what the files of a database begin with: itself, and what a crash leaves beside it.
var starts = []struct{ suffix, magic string }{
	{"", "SQLite format 3\x00"},
	{"-wal", "\x37\x7f\x06\x82\x00\x2d\xe2\x18"},
	{"-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"},
}

// fit looks at what is there before SQLite does: to that, a log that the key does not fit is an empty one, and when it
// closes the database it removes the log with all that was acknowledged in it. The database's own first page may be one
// that a power cut tore; the log or the journal that mends it then says whether the key fits.
func (f *files) fit() error {
	fits := false
	for _, start := range starts {
		block, err := f.head(f.path + start.suffix)
		if err != nil {
			return err
		}
		main := start.suffix == ""
		if main && len(block) == 0 {
			return nil
		}
		plain := strings.HasPrefix(string(block), start.magic)
		if plain && f.cipher != nil {
			return unusable("%s is not encrypted, but store.encryption_key is set", f.path)
		}
		if f.cipher != nil && len(block) == blockSize {
			block = f.cipher.decrypt(block, 0)
		}
		if !strings.HasPrefix(string(block), start.magic) {
			continue
		}
		if main && block[reserved] != checksum {
			return unusable("%s is damaged, or another program made it: its pages have no checksums", f.path)
		}
		fits = true
	}
	switch {
	case fits:
		return nil
	case f.cipher == nil:
		return unusable("%s is encrypted, damaged or no database; for an encrypted one set store.encryption_key", f.path)
	}
	return unusable("store.encryption_key does not fit %s, or the file is damaged", f.path)
}

func unusable(format string, args ...any) error {
	return memoryd.Errorf(memoryd.Unavailable, "store-down", format, args...)
}

// head is the first block of a file, less where the file is shorter, nothing where there is none.
func (f *files) head(path string) ([]byte, error) {
	file, err := f.raw(path, false)
	if err != nil || file == nil {
		return nil, err
	}
	block := make([]byte, min(blockSize, file.size))
	_, err = file.ReadAt(block, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("sqlstore: %w", down(err))
	}
	return block, nil
}

// rawFile is a file as it lies on the disk.
type rawFile struct {
	size int64
	io.ReaderAt
	io.Closer
	truncater
}

type truncater interface{ Truncate(size int64) error }

// raw opens a file beside SQLite. It answers nil where there is none.
func (f *files) raw(path string, write bool) (*rawFile, error) {
	open := openRaw
	if f.base != "" {
		open = vfsOpener(vfs.Find(f.base))
	}
	file, err := open(path, write)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", down(err))
	}
	return file, nil
}

func openRaw(path string, write bool) (*rawFile, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	file, err := os.OpenFile(path, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &rawFile{info.Size(), file, file, file}, nil
}

func vfsOpener(disk vfs.VFS) func(string, bool) (*rawFile, error) {
	return func(path string, _ bool) (*rawFile, error) {
		if there, err := disk.Access(path, vfs.ACCESS_EXISTS); err != nil || !there {
			return nil, err
		}
		file, _, err := disk.Open(path, vfs.OPEN_READWRITE|vfs.OPEN_TRANSIENT_DB)
		if err != nil {
			return nil, err
		}
		size, err := file.Size()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &rawFile{size, file, file, file}, nil
	}
}

func (f *files) close() { vfs.Unregister(f.vfs) }

// openWriter opens the database to write and openReader to read; pragmas are run on each connection.
func (f *files) openWriter() (*sql.DB, error) { return f.open(f.path, writerPragmas+f.pragmas) }
func (f *files) openReader() (*sql.DB, error) { return f.open(f.path, readerPragmas) }

func (f *files) open(path, pragmas string, options ...string) (*sql.DB, error) {
	dsn, err := f.dsn(path, options...)
	if err != nil {
		return nil, err
	}
	db, err := driver.Open(dsn, func(c *sqlite3.Conn) error {
		// A new database keeps a checksum at the end of each page, so that what the disk garbles is not believed.
		if _, err := c.FileControl("main", sqlite3.FCNTL_RESERVE_BYTES, checksum); err != nil {
			return err
		}
		// Closing the last connection would move the log into the database, unchecked.
		if _, err := c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, f.beside); err != nil {
			return err
		}
		// Without it, statements are planned anew for each value bound to some of their places, which took more time
		// than running them, and a rare value could bring a plan of its own.
		if _, err := c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
			return err
		}
		return c.Exec(pragmas)
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	return db, nil
}

// dsn names a file of the database's kind; options are pairs of a name and a value.
func (f *files) dsn(path string, options ...string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlstore: %w", err)
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/data
	}
	// The log beside the database holds the same texts, and must be closed to the same people.
	query := url.Values{"vfs": {f.vfs}, "modeof": {abs}}
	if f.cipher != nil {
		query.Set("key", "") // asks for encryption; the key itself never stands in a name or a statement
	}
	for i := 0; i < len(options); i += 2 {
		query.Set(options[i], options[i+1])
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}).String(), nil // SQLite reads + as itself
}

// makeSQLite creates the folder and the empty file where they are missing, closed to other users of the machine.
func makeSQLite(path string) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return f.Close()
}

// makeFolder makes a folder and those above it such that a power cut does not take them away again, with all that was
// written into them. SQLite sees to the folder's own files when it syncs its first log.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // what else is wrong with it will show
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return syncFolder(parent)
}

// syncFolder makes durable which files the folder holds. Windows knows no such thing.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return nil
}

// onConn calls f with a connection of SQLite's own.
func onConn(ctx context.Context, db *sql.DB, f func(*sqlite3.Conn) error) error {
	c, err := openConn(ctx, db)
	if err != nil {
		return err
	}
	return errors.Join(c.raw(f), c.close())
}

// raw calls f with SQLite's own connection below database/sql's.
func (c *conn) raw(f func(*sqlite3.Conn) error) error {
	return c.c.Raw(func(dc any) error { return f(dc.(driver.Conn).Raw()) })
}
