package memoryd

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is one of the eight kinds of failure; one table (internal/server) maps them to HTTP.
type Code string

// The eight codes.
const (
	Invalid         Code = "invalid"
	Unauthenticated Code = "unauthenticated"
	Denied          Code = "denied"
	NotFound        Code = "not_found"
	Conflict        Code = "conflict"
	Exhausted       Code = "exhausted"
	Unavailable     Code = "unavailable"
	Internal        Code = "internal"
)

// Field names one bad part of a request; Path ends in the field's own name ("items[3].scope").
type Field struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is a failure that a caller can act on. Its Detail is shown to callers, the wrapped Err only to the log.
type Error struct {
	Code       Code
	Slug       string // which failure of that code, a word of the problem's type URI
	Detail     string
	Fields     []Field
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code) + ": " + e.Slug)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	for _, f := range e.Fields {
		b.WriteString("; " + f.Path + ": " + f.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches errors of the same code and slug, so that ErrNotFound and its like work with errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Slug == e.Slug
}

// Errors that packages compare with errors.Is.
var (
	// ErrNotFound also stands for what exists but is another's.
	ErrNotFound = &Error{Code: NotFound, Slug: "not-found", Detail: "there is no such thing, or it is not yours"}
	// ErrVersion says that a row moved on since the caller read it.
	ErrVersion = &Error{Code: Conflict, Slug: "version", Detail: "the version is not the current one; read it again"}
	// ErrTwin says that the scope already holds an active memory of the same text.
	ErrTwin = &Error{Code: Conflict, Slug: "duplicate", Detail: "an active memory of this text stands in the scope already"}
	// ErrDiskFull says that the store has no room to write; reads go on.
	ErrDiskFull = &Error{Code: Exhausted, Slug: "disk-full", Detail: "the disk is full; nothing was written"}
)

// Errorf makes an Error whose detail callers may read.
func Errorf(code Code, slug, format string, args ...any) *Error {
	return &Error{Code: code, Slug: slug, Detail: fmt.Sprintf(format, args...)}
}

// BadField is an Invalid error about one field.
func BadField(path, format string, args ...any) *Error {
	return BadFieldAs("bad-field", path, format, args...)
}

// BadFieldAs is BadField with a slug of its own (bad-scope, too-long).
func BadFieldAs(slug, path, format string, args ...any) *Error {
	f := Field{Path: path, Message: fmt.Sprintf(format, args...)}
	return &Error{Code: Invalid, Slug: slug, Detail: f.Path + ": " + f.Message, Fields: []Field{f}}
}

// CodeOf is the code of err, Internal when it carries none, "" when err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
