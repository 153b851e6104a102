package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Backup is Store.Backup of a store that another process may have open. It takes no lock but SQLite's own, which
// readers and the writer hold beside each other, and neither makes nor migrates anything.
func Backup(ctx context.Context, o Options, path string, progress func(done, total int64)) error {
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("sqlstore: backup: %w", err)
	}
	f, err := o.beside()
	if err != nil {
		return err
	}
	defer f.close()
	db, err := f.openReader()
	if err != nil {
		return err
	}
	s := &Store{files: f, readers: newPool(db, sqlite(), 1)} // all that a backup uses
	return errors.Join(s.Backup(ctx, path, progress), s.readers.stop(), db.Close())
}
