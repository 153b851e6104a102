package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"memoryd"
	"memoryd/internal/recall"
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

// What the description promises, recall's and access's own checks let pass, and no more.
func TestDescribedLimits(t *testing.T) {
	schemas := start(t, nil).spec.Components.Schemas.Map()
	for _, c := range []struct {
		schema, field string
		want          int
	}{
		{"ContextBody", "rounds", recall.MaxRounds},
		{"ContextBody", "window_tokens", recall.MaxWindowTokens},
		{"ContextBody", "memory_tokens", recall.MaxMemoryTokens},
		{"SearchBody", "limit", recall.MaxHits},
	} {
		if m := schemas[c.schema].Properties[c.field].Maximum; m == nil || *m != float64(c.want) {
			t.Errorf("%s.%s: maximum %v, want %d", c.schema, c.field, m, c.want)
		}
	}
	for _, name := range []string{"ContextBody", "SearchBody"} {
		for _, field := range []string{"query", "context"} {
			if m := schemas[name].Properties[field].MaxLength; m == nil || *m != recall.MaxQuery {
				t.Errorf("%s.%s: length %v, want %d", name, field, m, recall.MaxQuery)
			}
		}
	}
	r := start(t, nil)
	for body, told := range map[string]string{
		`{"query":"q","window_tokens":1000001}`: "takes 1000000 or less",
		`{"query":"q","memory_tokens":100001}`:  "takes 100000 or less",
	} {
		if p := r.must(422, "POST", "/v1/context", body).problem(t); len(p.Fields) != 1 || p.Fields[0].Message != told {
			t.Errorf("%s: %+v", body, p)
		}
	}
	r.must(200, "POST", "/v1/context", `{"query":"q","window_tokens":1000000,"memory_tokens":100000,"rounds":1000}`)
	r.must(200, "POST", "/v1/search", `{"query":"q","limit":100}`)
}

// The reference lists every slug under its code and status, and no other.
func TestDocsListEverySlug(t *testing.T) {
	page, err := os.ReadFile("../../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Errors\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z_]+) \| ([0-9][^|]*) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1) {
		for _, slug := range regexp.MustCompile(`\([^)]*\)`).Split(row[3], -1) {
			for word := range strings.FieldsFuncSeq(slug, func(r rune) bool { return r == ',' || r == ' ' }) {
				listed[word] = true
				if k := kinds()[word]; string(k.code) != row[1] || !strings.Contains(row[2], strconv.Itoa(k.status)) {
					t.Errorf("%s stands under %s %s, and is %s %d", word, row[1], row[2], k.code, k.status)
				}
			}
		}
	}
	for slug := range kinds() {
		if !listed[slug] {
			t.Errorf("the page does not list %s", slug)
		}
	}
}
