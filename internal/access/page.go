package access

import (
	"encoding/base64"
	"slices"
	"strings"

	"memoryd"
)

// A page of a list that is ordered by id.
const (
	defaultPage = 50
	maxPage     = 200
)

// Page is which part of a list is wanted.
type Page struct {
	Limit  int    // 1 to 200; 0: 50
	Cursor string // where the page before ended, "" for the first
}

// cut answers the page of a list whose ids ascend, and the cursor of the next, "" at the end. A cursor belongs to the
// list that it was given for, and carries no rights.
func cut[T any](p Page, list string, all []T, id func(T) string) (page []T, next string, err error) {
	size := p.Limit
	if size == 0 {
		size = defaultPage
	}
	if size < 1 || size > maxPage {
		return nil, "", memoryd.BadField("limit", "want 1 to %d", maxPage)
	}
	if p.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		after, ok := strings.CutPrefix(string(raw), list+"\n")
		if err != nil || !ok {
			return nil, "", memoryd.BadField("cursor", "is not one of this list")
		}
		at, found := slices.BinarySearchFunc(all, after, func(x T, after string) int { return strings.Compare(id(x), after) })
		if found {
			at++
		}
		all = all[at:]
	}
	if len(all) <= size {
		return all, "", nil
	}
	return all[:size], base64.RawURLEncoding.EncodeToString([]byte(list + "\n" + id(all[size-1]))), nil
}
