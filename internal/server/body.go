package server

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"memoryd"
)

// readBody reads and checks the body. It answers nil where there is none and none is needed.
func (s *Server) readBody(x *exchange, r *http.Request, op *huma.Operation) (io.Reader, error) {
	if r.ContentLength > s.opt.MaxBody {
		return nil, s.tooLarge()
	}
	raw, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, r.Body, s.opt.MaxBody))
	if err != nil {
		return nil, s.unread(err)
	}
	if op.RequestBody == nil {
		if len(raw) > 0 {
			return nil, memoryd.BadField("body", "this route takes no body; user and agent are query parameters here")
		}
		return nil, nil
	}
	if len(raw) == 0 {
		if op.RequestBody.Required {
			return nil, badJSON("a body is needed: one JSON object")
		}
		return nil, nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return nil, err
	}
	if err := checkJSON(s.api.OpenAPI().Components.Schemas, op.RequestBody.Content["application/json"].Schema, raw); err != nil {
		return nil, err
	}
	return bytes.NewReader(raw), nil
}

func (s *Server) tooLarge() error {
	return memoryd.Errorf(memoryd.Exhausted, "too-large", "the body is larger than %d bytes", s.opt.MaxBody)
}

func (s *Server) unread(err error) error {
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &large):
		return s.tooLarge()
	case errors.As(err, &slow) && slow.Timeout():
		return memoryd.Errorf(memoryd.Invalid, "slow-body", "the body did not arrive in time")
	}
	return memoryd.Errorf(memoryd.Invalid, "bad-body", "the body could not be read to its end")
}

// checkMediaType demands JSON, which a form on another site's page cannot send.
func checkMediaType(h http.Header) error {
	bad := memoryd.Errorf(memoryd.Invalid, "bad-media-type", "send the body with Content-Type: application/json")
	values := h.Values("Content-Type")
	if len(values) != 1 || h.Get("Content-Encoding") != "" && !strings.EqualFold(h.Get("Content-Encoding"), "identity") {
		return bad
	}
	kind, params, err := mime.ParseMediaType(values[0])
	if err != nil || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return bad
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") {
		return bad
	}
	return nil
}

// labelPrefix begins the query parameters that ask for a label's value; the label's name follows.
const labelPrefix = "label."

// readQuery reads the query string. Parameters that are unknown, doubled, empty or of another kind are refused by
// name; a Go server would else take the first of two and ignore the rest.
func (r *request) readQuery(op *huma.Operation, raw string) error {
	var f faults
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return memoryd.Errorf(memoryd.Invalid, "bad-url", "the query string holds a percent sign that begins no escape")
		}
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			f.add("unknown-field", printable(strings.ToValidUTF8(name, "\uFFFD")), "a parameter's name is UTF-8 and holds no control characters")
			continue
		}
		r.readParam(op, name, value, &f)
	}
	return f.err()
}

func (r *request) readParam(op *huma.Operation, name, value string, f *faults) {
	label, isLabel := strings.CutPrefix(name, labelPrefix)
	isLabel = isLabel && op.Metadata[labelPrefix] != nil
	at := slices.IndexFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
	_, double := r.query[name]
	if isLabel {
		_, double = r.labels[label]
	}
	switch {
	case at < 0 && !isLabel:
		f.add("unknown-field", printable(name), "there is no such query parameter")
	case double:
		f.add("bad-field", name, "is given twice")
	case value == "":
		f.add("bad-field", name, "is empty; leave it out instead")
	case !utf8.ValidString(value):
		f.add("bad-field", name, "is not UTF-8")
	case strings.ContainsFunc(value, func(c rune) bool { return unicode.IsControl(c) && !(name == "q" && (c == '\n' || c == '\t')) }):
		f.add("bad-field", name, "holds no control characters")
	case isLabel && label == "":
		f.add("bad-field", name, "the label's name belongs behind the point")
	case isLabel:
		if r.labels == nil {
			r.labels = map[string]string{}
		}
		r.labels[label] = value
	default:
		if slug, message := checkParam(op.Parameters[at].Schema, value); slug != "" {
			f.add(slug, name, message)
		}
		if r.query == nil {
			r.query = map[string]string{}
		}
		r.query[name] = value
	}
}

// checkParam is what is wrong with a parameter under its schema: "" when nothing is.
func checkParam(schema *huma.Schema, value string) (slug, message string) {
	switch schema.Type {
	case huma.TypeBoolean:
		if value != "true" && value != "false" {
			return "bad-field", "takes true or false"
		}
	case huma.TypeInteger, huma.TypeNumber:
		if message := checkNumber(schema, value); message != "" {
			return "bad-field", message
		}
	case huma.TypeArray:
		for item := range strings.SplitSeq(value, ",") {
			if slug, message := checkParam(schema.Items, item); slug != "" {
				return slug, message
			}
		}
	case huma.TypeString:
		return checkText(schema, []byte(value))
	}
	return "", ""
}
