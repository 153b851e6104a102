package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// Errors about the schema, for errors.Is.
var (
	// ErrNewer says that a newer program made the schema; this one would not know what it breaks.
	ErrNewer = errors.New("the schema is newer than this program")
	// ErrBehind says that the schema waits for a migration that was not asked for.
	ErrBehind = errors.New("the schema is behind this program")
)

// Migrate brings the schema up to date, and makes the store where there is none. It locks the store's folder.
func Migrate(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	o.Manual = false
	if err := makeSQLite(o.Path); err != nil {
		return err
	}
	lock, err := lockFolder(filepath.Dir(o.Path))
	if err != nil {
		return err
	}
	f, err := o.files()
	if err == nil {
		err = prepareSchema(ctx, o, f)
		f.close()
	}
	return errors.Join(err, lock.release())
}

// Status says which version the schema has, 0 where there is none, and which this program wants. It changes nothing
// and takes no lock.
func Status(ctx context.Context, o Options) (current, latest int64, err error) {
	if err := o.check(); err != nil {
		return 0, 0, err
	}
	f, err := o.beside()
	if err != nil {
		return 0, 0, err
	}
	defer f.close()
	db, err := f.openReader()
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		return 0, 0, err
	}
	latest = newest(p)
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return 0, latest, nil
	}
	current, err = schemaVersion(ctx, db)
	return current, latest, err
}

// prepareSchema migrates or, with Manual, demands that there is nothing to migrate.
func prepareSchema(ctx context.Context, o Options, f *files) error {
	if err := f.checkLog(); err != nil {
		return err
	}
	db, err := f.openWriter()
	if err != nil {
		return err
	}
	err = drainLog(ctx, db)
	if err == nil {
		err = migrate(ctx, db, o)
	}
	return errors.Join(err, db.Close())
}

func migrate(ctx context.Context, db *sql.DB, o Options) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	current, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	switch latest := newest(p); {
	case current > latest:
		return fmt.Errorf("sqlstore: %w: it has version %d, the program knows %d; run a newer memoryd", ErrNewer, current, latest)
	case current == latest:
		return nil
	case o.Manual:
		return fmt.Errorf("sqlstore: %w: it has version %d, the program wants %d; run memoryd migrate up", ErrBehind, current, latest)
	}
	results, err := p.Up(ctx)
	for _, r := range results {
		o.log().Info("schema migrated", "version", r.Source.Version, "took", r.Duration)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: migrate: %w", sqliteFault(err))
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("sqlstore: migrations: %w", err)
	}
	return p, nil
}

func newest(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// schemaVersion reads goose's table itself, because goose would make it where it is missing.
func schemaVersion(ctx context.Context, db *sql.DB) (int64, error) {
	var tables, version int64
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?",
		goose.DefaultTablename).Scan(&tables)
	if err == nil && tables > 0 {
		err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: schema version: %w", sqliteFault(err))
	}
	return version, nil
}
