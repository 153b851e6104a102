// Command bench measures a running memoryd over REST. It knows nothing of the program but its HTTP surface, so that
// anyone can run it against any server: eval loads a set of conversations and asks its questions, load counts durable
// adds.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}
