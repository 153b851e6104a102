// Command memoryd is the memory server of a fleet of AI agents and its command line. It parses, defaults and checks the
// configuration, and is the only code that names backends: everything else gets plain options.
package main

import (
	"context"
	"os"
	"strings"
)

func main() {
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	os.Exit(run(context.Background(), os.Args[1:], system{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv, environ: names,
	}))
}
