package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"memoryd"
)

// Every slug that a package words errors with has its row in the table, under the same code, and so a page.
func TestEverySlugIsInTheTable(t *testing.T) {
	codes := map[string]memoryd.Code{
		"Invalid": memoryd.Invalid, "Unauthenticated": memoryd.Unauthenticated, "Denied": memoryd.Denied, "NotFound": memoryd.NotFound,
		"Conflict": memoryd.Conflict, "Exhausted": memoryd.Exhausted, "Unavailable": memoryd.Unavailable,
	}
	table, found := kinds(), 0
	check := func(file, code, slug string) {
		found++
		startUp := code == "Invalid" && slug == "no-key" // said by the program that does not start, never over HTTP
		if want, ok := codes[code]; ok && table[slug].code != want && !startUp {
			t.Errorf("%s: %s is %q in the table, %s here", file, slug, table[slug].code, code)
		}
	}
	for _, dir := range []string{"../..", "../access", "../recall", "../remember", "../sqlstore", "../guard", "../provider/builtin", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 {
					return true
				}
				switch name(call.Fun) {
				case "Errorf":
					if code := name(call.Args[0]); codes[code] != "" {
						check(file, code, literal(call.Args[1]))
					}
				case "BadFieldAs":
					if slug := literal(call.Args[0]); slug != "" {
						check(file, "Invalid", slug)
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("found only %d slugs", found)
	}
	for slug, k := range table {
		if k.status < 400 || k.title == "" || k.about == "" || k.status != 507 && statusOf(k.code)/100 != k.status/100 {
			t.Errorf("%s: %+v", slug, k)
		}
	}
}

func name(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	return ""
}
