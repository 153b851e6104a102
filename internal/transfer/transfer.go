// Package transfer moves what a store holds out of it and into another: memoryd's own export, one JSON line a row with
// a manifest at the end, and its import. docs/export-format.md describes the file. It reads and writes rows as they
// are, so it is for operators only.
package transfer

import (
	"memoryd"
	"memoryd/internal/access"
)

// Format is the number of the file's form. It goes up when a program that knows only the old one could lose or
// misread something.
const Format = 1

// Counts is how many rows of each kind there are.
type Counts struct {
	Tenants  int64 `json:"tenants"`
	Agents   int64 `json:"agents"`
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
	Memories int64 `json:"memories"`
	Versions int64 `json:"versions"`
}

// Rows is all of them.
func (c Counts) Rows() int64 {
	return c.Tenants + c.Agents + c.Sessions + c.Messages + c.Memories + c.Versions
}

// Manifest is the last line of an export.
type Manifest struct {
	Row    string `json:"row"` // "manifest"
	Format int    `json:"format"`
	Schema int64  `json:"schema"` // of the store that the rows came from, for people to read
	Counts Counts `json:"counts"`
	SHA256 string `json:"sha256"` // of all bytes in front of this line, in hexadecimal
}

// Progress is told how far the work is; total is 0 where nobody knows it.
type Progress func(done, total int64)

func (p Progress) say(done, total int64) {
	if p != nil {
		p(done, total)
	}
}

func operatorOnly(g access.Grant) error {
	if !g.Operator() {
		return memoryd.Errorf(memoryd.Denied, "not-operator", "only an operator may move rows as they are")
	}
	return nil
}
