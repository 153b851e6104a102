package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Older releases of Go carry known holes in what an HTTP server uses of its library. An environment that sets
// GOTOOLCHAIN=local ignores go.mod's toolchain line in silence, so the program itself is asked.
func TestBuiltWithTheToolchainOfGoMod(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^toolchain (go\S+)$`).FindSubmatch(mod)
	if m == nil {
		t.Fatal("go.mod names no toolchain")
	}
	out, err := command(t, nil, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), " "+string(m[1])+" ") {
		t.Errorf("built with another Go than %s (run make, which exports GOTOOLCHAIN): %s", m[1], out)
	}
}
