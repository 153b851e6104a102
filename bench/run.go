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
  bench load [--clients 16] [--seconds 5] [--server URL] [--key KEY]
  bench measure [--clients 16] [--seconds 5] [--server URL] [--key KEY]
  bench ask --user NAME [--queries 300] [--server URL] [--key KEY]
  bench seed --db FILE --memories N [--owners 1] [--first 0]     the server must be off`

// options is every flag; a command uses those that its line above names.
type options struct {
	server, key                       string
	set, out, user, db                string
	clients, queries, owners, n, from int
	seconds                           float64
}

func (o *options) client() *client { return newClient(o.server, o.key) }

func (o *options) length() time.Duration { return time.Duration(o.seconds * float64(time.Second)) }

func (o *options) parse(args []string, progress io.Writer) error {
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&o.server, "server", first(os.Getenv("MEMORYD_URL"), "http://127.0.0.1:7788"), "address of the running server (MEMORYD_URL)")
	f.StringVar(&o.key, "key", os.Getenv("MEMORYD_KEY"), "key to send (MEMORYD_KEY)")
	f.StringVar(&o.set, "set", "", "folder with turns.jsonl and questions.jsonl")
	f.StringVar(&o.out, "out", "", "where the run is written, for score.py")
	f.IntVar(&o.clients, "clients", 16, "clients side by side")
	f.Float64Var(&o.seconds, "seconds", 5, "how long each part takes")
	f.StringVar(&o.user, "user", "", "whose memories are searched")
	f.IntVar(&o.queries, "queries", 300, "how many searches")
	f.StringVar(&o.db, "db", "", "database file of a store whose server is off")
	f.IntVar(&o.owners, "owners", 1, "how many owners get memories")
	f.IntVar(&o.n, "memories", 0, "how many memories each owner gets")
	f.IntVar(&o.from, "first", 0, "number of the first owner")
	return f.Parse(args[1:])
}

// run is the whole program but for os.Exit.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	var o options
	if err := o.parse(args, progress); err != nil {
		return err
	}
	timed := o.clients >= 1 && o.seconds > 0
	switch {
	case args[0] == "eval" && o.set != "" && o.out != "":
		return eval(ctx, o.client(), o.set, o.out, progress)
	case args[0] == "load" && timed:
		line, err := load(ctx, o.server, o.key, o.clients, o.length())
		if err == nil {
			_, err = fmt.Fprintln(out, line)
		}
		return err
	case args[0] == "measure" && timed:
		return measure(ctx, o.client(), o.clients, o.length(), out)
	case args[0] == "ask" && o.user != "" && o.queries >= 1:
		return ask(ctx, o.client(), o.user, o.queries, out)
	case args[0] == "seed" && o.db != "" && o.owners >= 1 && o.n >= 1:
		return seed(ctx, o.db, o.from, o.owners, o.n, progress)
	}
	return errors.New(usage)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
