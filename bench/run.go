package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

const usage = `usage:
  bench eval --set DIR --out RUN.jsonl [--server URL] [--key KEY]
  bench load [--clients 16] [--seconds 5] [--server URL] [--key KEY]`

// run is the whole program but for os.Exit.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.SetOutput(progress)
	server := f.String("server", first(os.Getenv("MEMORYD_URL"), "http://127.0.0.1:7788"), "address of the running server (MEMORYD_URL)")
	key := f.String("key", os.Getenv("MEMORYD_KEY"), "key to send (MEMORYD_KEY)")
	switch args[0] {
	case "eval":
		set := f.String("set", "", "folder with turns.jsonl and questions.jsonl")
		file := f.String("out", "", "where the run is written, for score.py")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if *set == "" || *file == "" {
			return errors.New(usage)
		}
		return eval(ctx, newClient(*server, *key), *set, *file, progress)
	case "load":
		clients := f.Int("clients", 16, "clients that add side by side")
		seconds := f.Float64("seconds", 5, "how long each of the two parts takes")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if *clients < 1 || *seconds <= 0 {
			return errors.New(usage)
		}
		line, err := load(ctx, *server, *key, *clients, time.Duration(*seconds*float64(time.Second)))
		if err == nil {
			_, err = fmt.Fprintln(out, line)
		}
		return err
	}
	return errors.New(usage)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
