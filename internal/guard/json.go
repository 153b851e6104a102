package guard

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"memoryd"
)

// JSON is a document as it may be stored.
type JSON struct {
	Raw   json.RawMessage
	Notes []string
	Size  int // bytes, each string counted as what it says, however it was escaped
}

// CleanJSON cleans all string values of a document. Everything else stays byte for byte: numbers keep their digits,
// keys their order. A string that loses something is written anew; half of a surrogate pair is lost too, since no
// UTF-8 can say it. Keys are names: one that holds a control character or such a half is refused. path is the
// document's, for errors.
func CleanJSON(path string, raw json.RawMessage) (JSON, error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return JSON{}, memoryd.BadField(path, "is not JSON in UTF-8")
	}
	out := JSON{Raw: raw}
	var b bytes.Buffer
	done := 0 // raw[:done] is in b, or nothing is while nothing changed
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			i++
			out.Size++
			continue
		}
		end := i + literal(raw[i:])
		text, whole := unquote(raw[i+1 : end-1])
		if key(raw[end:]) {
			if !whole || strings.ContainsFunc(text, unicode.IsControl) {
				return JSON{}, memoryd.BadField(path, "a key holds a control character")
			}
		} else if c := clean(text); !whole || len(c) != len(text) {
			text = c
			b.Write(raw[done:i])
			b.Write(quote(text))
			done = end
		}
		out.Size += len(text) + 2
		i = end
	}
	if done > 0 {
		b.Write(raw[done:])
		out.Raw, out.Notes = b.Bytes(), []string{Cleaned}
	}
	return out, nil
}

// literal is the length of the string literal that valid JSON starts with, quotes included.
func literal(raw []byte) int {
	for i := 1; ; i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// key says whether the string before rest was a key.
func key(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func quote(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string in memory can always be written
	return bytes.TrimRight(b.Bytes(), "\n")
}

// unquote reads the inside of a valid literal. whole is false when halves of surrogate pairs were left out, where
// encoding/json would put U+FFFD.
func unquote(in []byte) (text string, whole bool) {
	at := bytes.IndexByte(in, '\\')
	if at < 0 {
		return string(in), true
	}
	whole = true
	b := append(make([]byte, 0, len(in)), in[:at]...)
	for i := at; i < len(in); {
		if in[i] != '\\' {
			b = append(b, in[i])
			i++
			continue
		}
		if in[i+1] != 'u' {
			b = append(b, escapes[in[i+1]])
			i += 2
			continue
		}
		r := hex4(in[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(in) >= i+6 && in[i] == '\\' && in[i+1] == 'u' {
				low = hex4(in[i+2:])
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				whole = false
				continue
			}
			i += 6
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b), whole
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(n)
}
