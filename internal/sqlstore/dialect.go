package sqlstore

import "strings"

// dialect is what differs between databases. The statements of the ports are shared: they use ? for parameters, no
// RETURNING, and no word that MySQL or PostgreSQL reserves.
type dialect struct {
	name string
	// contains is a condition on a column: it holds the parameter, literally and with case.
	contains func(column string) string
	// labels is a condition on a column of JSON objects: it holds all pairs of the parameter, a JSON object of texts.
	labels func(column string) string
	// rows is the right side of "(a, b) IN": n rows of width parameters each.
	rows func(n, width int) string
	// twin says that a statement broke a unique rule other than the primary key.
	twin func(error) bool
	// fault turns a driver's error into one of ours where callers can act on it.
	fault func(error) error
}

// marks is n parameters, separated by commas.
func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// padded is the number of parameters for n values of a list: the next power of two, so that lists of all lengths
// share a few prepared statements. The last value is repeated, which changes nothing in an IN.
func padded(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// pad appends the values and repeats the last one up to padded(len(values)).
func pad[T ~string](args []any, values []T) []any {
	for i := range padded(len(values)) {
		args = append(args, string(values[min(i, len(values)-1)]))
	}
	return args
}
