package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"memoryd"
)

// system is what the program gets from the machine, so that tests can start it in process.
type system struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)
	environ  []string // the names of all variables
}

// The exit codes.
const (
	exitOK = iota
	exitError
	exitUsage
	exitDenied
	exitUnavailable
)

// failure is an error that has an exit code of its own.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usagef(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// plainError is an error in the caller's words, with the exit code of its kind.
func plainError(err error) error {
	var e *memoryd.Error
	if !errors.As(err, &e) || e.Code == memoryd.Internal {
		return err
	}
	code := exitError
	switch e.Code {
	case memoryd.Unauthenticated, memoryd.Denied:
		code = exitDenied
	case memoryd.Unavailable:
		code = exitUnavailable
	}
	return &failure{code, errors.New(plain(e.Detail))}
}

// run is the whole program but for os.Exit.
func run(ctx context.Context, args []string, sys system) int {
	ctx, stop := untilSignal(ctx)
	defer stop()
	root := rootCommand(sys)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(sys.err, "memoryd: "+err.Error())
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitError
}

// untilSignal ends the context at the first SIGINT or SIGTERM. By then nothing handles them any more, so that a second
// one kills; signal.NotifyContext would leave a moment in which it is lost.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, func() { cancel(); <-done }
}

func rootCommand(sys system) *cobra.Command {
	root := &cobra.Command{
		Use:           "memoryd",
		Short:         "The memory of a fleet of AI agents",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          group,
		Args:          cobra.ArbitraryArgs,
	}
	root.SetIn(sys.in)
	root.SetOut(sys.out)
	root.SetErr(sys.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", err, c.CommandPath())
	})
	root.AddCommand(
		serveCommand(sys), demoCommand(sys), versionCommand(sys),
		initCommand(sys), configCommand(sys), doctorCommand(sys), statusCommand(sys),
		keyCommand(sys), tenantCommand(sys), agentCommand(sys), userCommand(sys), migrateCommand(sys),
		addCommand(sys), searchCommand(sys), contextCommand(sys), sessionCommand(sys), memoryCommand(sys),
		exportCommand(sys), importCommand(sys), backupCommand(sys), restoreCommand(sys),
	)
	return root
}

// group is what a command that only holds others does: it shows them, and refuses a word that is none of them.
func group(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s has no command %q (see %s --help)", c.CommandPath(), args[0], c.CommandPath())
	}
	return c.Help()
}

// args checks the number of words behind a command; high < 0 is no bound.
func args(low, high int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, list []string) error {
		if len(list) < low || high >= 0 && len(list) > high {
			return usagef("%s takes %s (see %s --help)", c.CommandPath(), what, c.CommandPath())
		}
		return nil
	}
}
