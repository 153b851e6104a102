package recall

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"memoryd"
)

// cursor is where a page ends, and for which list. It carries no rights: whoever makes one up reaches another place of
// the same list.
type cursor struct {
	List  string `json:"l"`           // what was asked for, hashed
	Value int64  `json:"v"`           // the last row's place in the sort
	ID    string `json:"i,omitempty"` // the last row's id
}

// listOf names a list by everything that decides what stands in it.
func listOf(what ...any) string {
	h := sha256.New()
	// %q keeps the parts apart, so that no two lists write the same.
	for _, x := range what {
		fmt.Fprintf(h, "%q\n", fmt.Sprintf("%#v", x))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

func (c cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		// A struct of strings and a number always marshals.
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor is nil for "". A cursor of another list is refused.
func readCursor(text, list string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	bad := memoryd.BadField("cursor", "is not one of this list: it belongs to the user, filter and sort that it was given for")
	if len(text) > 4096 {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, bad
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil || c.List != list {
		return nil, bad
	}
	return &c, nil
}
