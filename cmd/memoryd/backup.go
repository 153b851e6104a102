package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"memoryd/internal/sqlstore"
)

func backupCommand(sys system) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "backup FILE", Short: "Copy the store to a file", Args: args(1, 1, "one file"),
		Long: "Copy the store to a file, as it is when the command starts and encrypted where the store is. A running server need not be\n" +
			"stopped: the file holds every write that it acknowledged before.",
	}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, words []string) error {
		cfg, err := flags.read()
		if err != nil {
			return err
		}
		done, err := backup(c.Context(), sys, cfg, words[0])
		if err != nil {
			return plainError(err)
		}
		return printed(sys.out, asJSON, done, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %d bytes, schema %d\n", done.File, done.Bytes, done.Schema)
		})
	}
	return c
}

// copied is what a backup or a restore made.
type copied struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Schema int64  `json:"schema"`
}

func backup(ctx context.Context, sys system, cfg config, path string) (copied, error) {
	o := storeOptions(cfg, slog.New(slog.DiscardHandler))
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return copied{}, fmt.Errorf("there is no store at %s", o.Path)
	}
	bar := newProgress(sys, "backup", "pages")
	err := sqlstore.Backup(ctx, o, path, bar.say)
	bar.end()
	if err != nil {
		return copied{}, err
	}
	schema, _, err := sqlstore.Status(ctx, o)
	if err != nil {
		return copied{}, err
	}
	return sized(copied{File: path, Schema: schema})
}

func restoreCommand(sys system) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "restore FILE", Short: "Make the store from a backup", Args: args(1, 1, "one file"),
		Long: "Make the store from a backup. The server must be off, and the data folder without a store: nothing is replaced. The backup is\n" +
			"checked as a whole before it becomes the store.",
	}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, words []string) error {
		cfg, err := flags.read()
		if err != nil {
			return err
		}
		o := storeOptions(cfg, slog.New(slog.DiscardHandler))
		if err := sqlstore.Restore(c.Context(), o, words[0]); err != nil {
			if err = plainError(err); !strings.Contains(err.Error(), words[0]) {
				err = fmt.Errorf("restore %s: %w", plain(words[0]), err)
			}
			return err
		}
		schema, latest, err := sqlstore.Status(c.Context(), o)
		if err != nil {
			return plainError(err)
		}
		done, err := sized(copied{File: o.Path, Schema: schema})
		if err != nil {
			return err
		}
		return printed(sys.out, asJSON, done, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %d bytes, schema %d of %d\n", done.File, done.Bytes, schema, latest)
		})
	}
	return c
}

func sized(c copied) (copied, error) {
	info, err := os.Stat(c.File)
	if err != nil {
		return c, err
	}
	c.Bytes = info.Size()
	return c, nil
}
