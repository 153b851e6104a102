package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

const repeatHeader = "Idempotency-Key"

// maxRepeatKey is the length of the longest key, in bytes.
const maxRepeatKey = 255

// Repeatable stands in the input of every POST that writes.
type Repeatable struct {
	Key string `header:"Idempotency-Key" doc:"1 to 255 printable ASCII characters of your choice, one for each request: sent again with the same body within 24 hours, the request is not done again but answered again. With another body, or while the first is under way: 409." minLength:"1" maxLength:"255" pattern:"^[ -~]+$" example:"5f1c7f3e-order-17"`
}

// replayed is the header of an answer that was made of what an earlier request did.
func replayed(yes bool) string {
	if yes {
		return "true"
	}
	return ""
}

// readRepeat reads the request's idempotency key, on routes that take one, and puts the body back for its next reader.
func (r *request) readRepeat(h *http.Request, op *huma.Operation) error {
	if !slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == repeatHeader }) {
		return nil
	}
	values := h.Header.Values(repeatHeader)
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return memoryd.BadField(repeatHeader, "is given twice")
	case len(values[0]) > maxRepeatKey:
		return memoryd.BadFieldAs("too-long", repeatHeader, "is longer than %d characters", maxRepeatKey)
	case values[0] == "" || slices.ContainsFunc([]byte(values[0]), func(c byte) bool { return c < ' ' || c > '~' }):
		return memoryd.BadField(repeatHeader, "takes 1 to %d printable ASCII characters", maxRepeatKey)
	}
	raw, err := io.ReadAll(r.body)
	if err != nil {
		return err
	}
	r.body = bytes.NewReader(raw)
	digest := sha256.Sum256(canonical(raw))
	r.repeat = memoryd.Repeat{Key: values[0], Route: h.Method + " " + h.URL.Path, Digest: digest[:]}
	return nil
}

// canonical is equal for bodies that say the same, whatever the order of their keys and the spaces between them.
func canonical(raw []byte) []byte {
	if len(raw) == 0 {
		raw = []byte("{}") // as good as no body, where none is needed
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
