package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of this tree; a build from a tagged module carries its own.
const release = "0.1.0-dev"

func versionCommand(sys system) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  args(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(sys.out, versionLine())
			return err
		},
	}
}

func versionLine() string {
	version, commit := release, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				commit = " commit " + s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (changed)"
			}
		}
	}
	return fmt.Sprintf("memoryd %s%s %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
