package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"memoryd/internal/sqlstore"
)

func migrateCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "The schema of the store; works with the server off", RunE: group, Args: cobra.ArbitraryArgs}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	c.AddCommand(
		&cobra.Command{Use: "up", Short: "Bring the schema to this program's version", Args: args(0, 0, "no words"),
			RunE: func(c *cobra.Command, _ []string) error { return migrateUp(c.Context(), flags) }},
		&cobra.Command{Use: "status", Short: "Show the schema's version and this program's", Args: args(0, 0, "no words"),
			RunE: func(c *cobra.Command, _ []string) error { return migrateStatus(c.Context(), flags) }},
	)
	return c
}

func migrateUp(ctx context.Context, flags *configFlags) error {
	c, err := flags.read()
	if err != nil {
		return err
	}
	o := storeOptions(c, slog.New(slog.DiscardHandler))
	if err := sqlstore.Migrate(ctx, o); err != nil {
		return storeError(o.Path, err)
	}
	return migrateStatus(ctx, flags)
}

// migrateStatus only looks: it makes no store where there is none.
func migrateStatus(ctx context.Context, flags *configFlags) error {
	c, err := flags.read()
	if err != nil {
		return err
	}
	o := storeOptions(c, slog.New(slog.DiscardHandler))
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("migrate: there is no store at %s", o.Path)
	}
	current, latest, err := sqlstore.Status(ctx, o)
	if err != nil {
		return storeError(o.Path, err)
	}
	state := "up to date"
	switch {
	case current < latest:
		state = "behind; run: memoryd migrate up"
	case current > latest:
		state = "newer than this program"
	}
	_, err = fmt.Fprintf(flags.sys.out, "schema %d of %d: %s\n", current, latest, state)
	return err
}
