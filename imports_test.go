package memoryd_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport is the architecture: which of our packages a package may import. A package that is not named here may not
// exist, and "*" means anything. A new arrow needs its reason in the commit that draws it.
var mayImport = map[string][]string{
	".":                         {},
	"cmd/memoryd":               {"*"},
	"internal/access":           {"."},
	"internal/guard":            {"."},
	"internal/index":            {"."},
	"internal/judge":            {"."},
	"internal/provider/builtin": {".", "internal/index"},
	"internal/recall":           {".", "internal/access"},
	"internal/remember":         {".", "internal/access", "internal/guard", "internal/judge"},
	"internal/server":           {".", "internal/access", "internal/recall", "internal/remember"},
	"internal/sqlstore":         {"."},
	"internal/storetest":        {"."},
	"internal/transfer":         {".", "internal/access", "internal/recall", "internal/remember"},
	"bench":                     {},
}

// testsMayImport is what test files import beyond that: a real store behind the package under test.
var testsMayImport = map[string][]string{
	".":                         {},
	"internal/access":           {"internal/sqlstore"},
	"internal/provider/builtin": {"internal/sqlstore"},
	"internal/recall":           {"internal/sqlstore", "internal/provider/builtin", "internal/remember", "internal/guard", "internal/index"},
	"internal/remember":         {"internal/sqlstore", "internal/index"},
	"internal/server":           {"internal/sqlstore", "internal/provider/builtin", "internal/guard", "internal/index"},
	"internal/sqlstore":         {"internal/storetest"},
	"internal/transfer":         {"internal/sqlstore"},
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range goFiles(t) {
		pkg := path.Dir(file)
		seen[pkg] = true
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of imports_test.go", file, pkg)
			continue
		}
		if strings.HasSuffix(file, "_test.go") {
			allowed = slices.Concat(allowed, testsMayImport[pkg], []string{pkg})
		}
		for _, imp := range importsOf(t, file) {
			if checkImport(pkg, imp, allowed) {
				continue
			}
			t.Errorf("%s imports %q: the table of imports_test.go does not let %s do that", file, imp, pkg)
		}
	}
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("the table of imports_test.go names %s, which has no Go file", pkg)
		}
	}
}

// checkImport lets everything through that is not ours, but for the root, which takes the standard library only.
func checkImport(pkg, imp string, allowed []string) bool {
	ours := imp == "memoryd" || strings.HasPrefix(imp, "memoryd/")
	if !ours {
		return pkg != "." || !strings.Contains(strings.Split(imp, "/")[0], ".")
	}
	target := strings.TrimPrefix(strings.TrimPrefix(imp, "memoryd"), "/")
	if target == "" {
		target = "."
	}
	return slices.Contains(allowed, "*") || slices.Contains(allowed, target)
}

const (
	maxLines     = 600
	maxMainLines = 40
)

func TestFileSizes(t *testing.T) {
	for _, file := range goFiles(t) {
		limit := maxLines
		if path.Base(file) == "main.go" {
			limit = maxMainLines
		}
		if n := strings.Count(read(t, file), "\n"); n > limit {
			t.Errorf("%s has %d lines, at most %d are allowed", file, n, limit)
		}
	}
}

func TestPackageComments(t *testing.T) {
	commented := map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		commented[path.Dir(file)] = commented[path.Dir(file)] || f.Doc != nil
	}
	for pkg, ok := range commented {
		if !ok {
			t.Errorf("package %s opens with no comment that says what it does", pkg)
		}
	}
}

func goFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			out = append(out, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, spec := range f.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
