package judge

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// patterns match where one of them does. Each carries the literal parts (lower case) of which every text that it
// matches holds at least one: looking for those first keeps typing off the profile of an add, where matching the
// expressions one after the other took a quarter of it.
type patterns []pattern

type pattern struct {
	re    *regexp.Regexp
	needs []string // empty: nothing can be said
}

// match takes the text and the same text in lower case.
func (p patterns) match(text, lower string) bool {
	for i := range p {
		if p[i].may(lower) && p[i].re.MatchString(text) {
			return true
		}
	}
	return false
}

func (p *pattern) may(lower string) bool {
	if len(p.needs) == 0 {
		return true
	}
	for _, n := range p.needs {
		if strings.Contains(lower, n) {
			return true
		}
	}
	return false
}

func compile(expr string) pattern {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err) // as regexp.MustCompile does; the expressions are constants
	}
	return pattern{re: regexp.MustCompile(expr), needs: needs(tree)}
}

// words matches any of the alternatives as whole words, in any case. One that starts with ^ or ends with a colon
// needs no boundary there.
func words(alternatives ...string) patterns {
	out := make(patterns, len(alternatives))
	for i, a := range alternatives {
		expr := `(?:` + a + `)`
		if !strings.HasPrefix(a, "^") {
			expr = `\b` + expr
		}
		if !strings.HasSuffix(a, ":") {
			expr += `\b`
		}
		out[i] = compile(`(?i)` + expr)
	}
	return out
}

func han(alternatives ...string) patterns {
	out := make(patterns, len(alternatives))
	for i, a := range alternatives {
		out[i] = compile(a)
	}
	return out
}

// needs is a set of strings of which every match holds one, nil when there is none to name.
func needs(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return needs(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needs(re.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			n := needs(sub)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if n := needs(sub); rarer(n, best) {
				best = n
			}
		}
		return best
	}
	return nil
}

// rarer says whether texts are less likely to hold one of a than one of b: the shortest part decides.
func rarer(a, b []string) bool {
	return a != nil && (b == nil || shortest(a) > shortest(b) || shortest(a) == shortest(b) && len(a) < len(b))
}

// shortest counts a Han character as three letters, which is also what it takes in bytes.
func shortest(list []string) int {
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}
