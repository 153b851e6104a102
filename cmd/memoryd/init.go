package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"memoryd/internal/access"
)

//go:embed presets
var presets embed.FS

func initCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "init", Short: "Write a configuration file and make an operator's key", Args: args(0, 0, "no words")}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data; goes into the file"})
	var preset string
	c.Flags().StringVar(&preset, "preset", "fleet", "fleet (agents on one machine) or platform (a backend that serves users)")
	c.RunE = func(c *cobra.Command, _ []string) error { return initialise(c.Context(), flags, preset) }
	return c
}

// initialise prints the key alone on stdout, so that scripts can take it, and what it did on stderr.
func initialise(ctx context.Context, flags *configFlags, preset string) (err error) {
	text, err := presets.ReadFile("presets/" + preset + ".yaml")
	if err != nil {
		return usagef("--preset takes fleet or platform")
	}
	if *flags.set["data"] != "" {
		dir, err := filepath.Abs(*flags.set["data"])
		if err != nil {
			return fmt.Errorf("init: %w", err)
		}
		*flags.set["data"] = dir
		text = []byte(strings.Replace(string(text), `data: ""  `, "data: "+strconv.Quote(dir)+"  ", 1))
	}
	named := "" // what the next commands need to find the file again
	if flags.config != "" {
		named = " --config " + shellWord(flags.config)
	}
	if flags.config == "" {
		flags.config, _ = flags.sys.env("MEMORYD_CONFIG")
	}
	if flags.config == "" {
		flags.config = "memoryd.yaml"
	}
	if err := writeNew(flags.config, text); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(flags.config))
		}
	}()
	k := &keys{config: flags}
	return k.local(ctx, func(a *access.Access, g access.Grant) error {
		secret, made, err := a.CreateKey(ctx, g, access.NewKey{Kind: "operator", Name: "made by init"})
		if err != nil {
			return err
		}
		fmt.Fprintf(flags.sys.err, "wrote %s\nmade the operator's key %s; it is shown this once:\n", flags.config, made.ID)
		fmt.Fprintln(flags.sys.out, secret)
		fmt.Fprintf(flags.sys.err, "next: export MEMORYD_KEY=that key; memoryd config check%[1]s; memoryd serve%[1]s; memoryd doctor%[1]s\n", named)
		return nil
	})
}

// writeNew refuses to touch a file that is there. Only its owner may read it: it may come to hold secrets.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("init: %s is there already; move it away, or name another with --config", path)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("init: %w", err), os.Remove(path))
	}
	return nil
}
