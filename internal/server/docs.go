package server

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

//go:embed docs.html
var docsHTML string

// docsPage draws the OpenAPI document with a script of its own. Its policy lets nothing run or load but what is in it,
// by digest, and the document.
type docsPage struct{ policy string }

func newDocsPage() docsPage {
	return docsPage{policy: strings.Join([]string{
		"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "connect-src 'self'",
		"script-src " + digest(docsHTML, "script"), "style-src " + digest(docsHTML, "style"),
	}, "; ")}
}

// digest names what stands inside an element, as a content security policy does.
func digest(page, tag string) string {
	_, rest, _ := strings.Cut(page, "<"+tag+">")
	inside, _, _ := strings.Cut(rest, "</"+tag+">")
	sum := sha256.Sum256([]byte(inside))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (d docsPage) serve(x *exchange, _ *http.Request) {
	h := x.Header()
	h.Set("Content-Security-Policy", d.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = x.Write([]byte(docsHTML))
}
