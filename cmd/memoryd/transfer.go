package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/index"
	"memoryd/internal/sqlstore"
	"memoryd/internal/transfer"
)

func exportCommand(sys system) *cobra.Command {
	var (
		o      transfer.ExportOptions
		asJSON bool
	)
	c := &cobra.Command{
		Use: "export FILE", Short: "Write the rows of the store to a file", Args: args(1, 1, "one file; - is stdout"),
		Long: "Write the rows of the store to a file of JSON lines, compressed where its name ends in .gz; - is stdout. Keys, working memory\n" +
			"and idempotency keys are not in it. A running server need not be stopped.",
	}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	c.Flags().StringVar(&o.Tenant, "tenant", "", "that tenant only")
	c.Flags().StringVar(&o.User, "user", "", "with --tenant: that user's own rows only, without groups")
	c.Flags().BoolVar(&asJSON, "json", false, "print the manifest as JSON")
	c.RunE = func(c *cobra.Command, words []string) error {
		cfg, err := flags.read()
		if err != nil {
			return err
		}
		m, err := exportTo(c.Context(), sys, cfg, o, words[0])
		if err != nil {
			return plainError(err)
		}
		out := sys.out
		if words[0] == stdout {
			out = sys.err
		}
		return printed(out, asJSON, m, func(w io.Writer) {
			n := m.Counts
			fmt.Fprintf(w, "%d rows: %d tenants, %d agents, %d sessions, %d messages, %d memories, %d versions\nsha256 %s\n",
				n.Rows(), n.Tenants, n.Agents, n.Sessions, n.Messages, n.Memories, n.Versions, m.SHA256)
		})
	}
	return c
}

const stdout = "-"

func exportTo(ctx context.Context, sys system, cfg config, o transfer.ExportOptions, path string) (m transfer.Manifest, err error) {
	store, schema, err := besideStore(ctx, cfg)
	if err != nil {
		return m, err
	}
	g, err := localGrant(cfg, store)
	if err != nil {
		return m, err
	}
	bar := newProgress(sys, "export", "rows")
	defer bar.end()
	o.Store, o.Schema, o.Progress = store, schema, bar.say
	write := func(w io.Writer) error {
		m, err = transfer.Export(ctx, g, o, w)
		return err
	}
	if path == stdout {
		return m, write(sys.out)
	}
	return m, newFile(path, write)
}

// beside reads a store that another process may have open.
type beside struct{ o sqlstore.Options }

func (b beside) Read(ctx context.Context, f func(memoryd.Tx) error) error {
	return sqlstore.Peek(ctx, b.o, f)
}

func (b beside) Write(context.Context, func(memoryd.Tx) error) error {
	return errors.New("the store was opened to be read only")
}

// besideStore answers the store that is there, whose schema must be this program's: nothing is migrated.
func besideStore(ctx context.Context, cfg config) (b beside, schema int64, err error) {
	b.o = storeOptions(cfg, slog.New(slog.DiscardHandler))
	if _, err := os.Stat(b.o.Path); errors.Is(err, fs.ErrNotExist) {
		return b, 0, fmt.Errorf("there is no store at %s", b.o.Path)
	}
	schema, latest, err := sqlstore.Status(ctx, b.o)
	switch {
	case err != nil:
		return b, 0, err
	case schema > latest:
		return b, 0, fmt.Errorf("store: %w; run a newer memoryd", sqlstore.ErrNewer)
	case schema < latest:
		return b, 0, fmt.Errorf("store: %w; run memoryd migrate up", sqlstore.ErrBehind)
	}
	return b, schema, nil
}

// localGrant is that of whoever may open the store's file.
func localGrant(cfg config, store memoryd.Store) (access.Grant, error) {
	a, err := access.New(cfg.access(store, true))
	if err != nil {
		return access.Grant{}, err
	}
	return a.Local(), nil
}

func importCommand(sys system) *cobra.Command {
	var dry, asJSON bool
	c := &cobra.Command{
		Use: "import FILE", Short: "Put the rows of an export into the store", Args: args(1, 1, "one file"),
		Long: "Put the rows of an export into the store, which is made where there is none; the server must be off. The whole file is verified\n" +
			"first. What is there already stays: an import that was broken off is completed by another, and one that is repeated adds nothing.",
	}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would happen, and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, words []string) error {
		cfg, err := flags.read()
		if err != nil {
			return err
		}
		done, err := importFrom(c.Context(), sys, cfg, words[0], dry)
		if err != nil {
			if done.Added+done.Quarantined > 0 && !dry {
				fmt.Fprintf(sys.err, "memoryd: %d rows were taken before it stopped; the same command goes on from there\n", done.Added+done.Quarantined)
			}
			if errors.Is(err, context.Canceled) {
				return errors.New("import: interrupted")
			}
			return plainError(err)
		}
		if err := printed(sys.out, asJSON, done, func(w io.Writer) { printImported(w, done) }); err != nil {
			return err
		}
		if done.RefusedRows > 0 {
			return fmt.Errorf("import: %d rows were refused", done.RefusedRows)
		}
		return nil
	}
	return c
}

func importFrom(ctx context.Context, sys system, cfg config, path string, dry bool) (transfer.Imported, error) {
	check := newProgress(sys, "verify", "bytes")
	f, err := transfer.Open(ctx, path, check.say)
	check.end()
	if err != nil {
		return transfer.Imported{}, err
	}
	defer f.Close()
	store, closeStore, err := importStore(ctx, cfg, dry)
	if err != nil {
		return transfer.Imported{}, err
	}
	g, err := localGrant(cfg, store)
	if err != nil {
		return transfer.Imported{}, errors.Join(err, closeStore())
	}
	bar := newProgress(sys, "import", "bytes")
	done, err := f.Import(ctx, g, transfer.ImportOptions{Store: store, Fold: index.Fold, DryRun: dry, Progress: bar.say})
	bar.end()
	return done, errors.Join(err, closeStore())
}

// importStore is where the rows go. A dry run makes no store: where there is none, an empty one elsewhere stands for it.
func importStore(ctx context.Context, cfg config, dry bool) (memoryd.Store, func() error, error) {
	if !dry {
		store, err := openStore(ctx, cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	}
	if _, err := os.Stat(storeOptions(cfg, nil).Path); !errors.Is(err, fs.ErrNotExist) {
		store, _, err := besideStore(ctx, cfg)
		return store, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "memoryd-dry-run-")
	if err != nil {
		return nil, nil, fmt.Errorf("import: %w", err)
	}
	cfg.Data, cfg.Store.DSN = dir, ""
	store, err := openStore(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return store, func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) }, nil
}

func printImported(w io.Writer, done transfer.Imported) {
	would := ""
	if done.DryRun {
		would = "dry run, nothing was changed: "
	}
	fmt.Fprintf(w, "%s%d rows: %d added, %d duplicate, %d quarantined, %d refused\n",
		would, done.Rows, done.Added, done.Duplicate, done.Quarantined, done.RefusedRows)
	for _, r := range done.Refused {
		fmt.Fprintf(w, "refused: line %d: %s %s of tenant %s: %s\n", r.Line, r.Row, line(r.ID), line(r.Tenant), line(r.Why))
	}
	if n := done.RefusedRows - int64(len(done.Refused)); n > 0 {
		fmt.Fprintf(w, "refused: %d more that are not named here\n", n)
	}
	fmt.Fprintf(w, "sha256 %s\n", done.SHA256)
}

// printed prints the answer of a command that worked on the store itself.
func printed(w io.Writer, asJSON bool, answer any, print func(io.Writer)) error {
	if !asJSON {
		print(w)
		return nil
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
