package transfer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"unicode/utf8"

	"memoryd"
)

// maxLine is more than any row of a store takes; it bounds what a file that is none can make us hold.
const maxLine = 32 << 20

// File is an export that was verified as a whole. Close it.
type File struct {
	Manifest Manifest

	path string
	f    *os.File
	size int64
}

// Open verifies a file to its last byte and changes nothing: its form, each row and its place, the counts and the
// SHA-256. What is wrong is answered with the file's name and the line.
func Open(ctx context.Context, path string, p Progress) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("the file is read twice, so it cannot be a pipe or a folder")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("import: %s: %w", path, err)
	}
	file := &File{path: path, f: f, size: info.Size()}
	if err := file.verify(ctx, p); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

func (f *File) verify(ctx context.Context, p Progress) error {
	r, err := f.reader()
	if err != nil {
		return err
	}
	var o order
	for {
		row, err := r.next()
		if errors.Is(err, io.EOF) {
			f.Manifest = *r.manifest
			return nil
		}
		if err == nil {
			err = r.fault(o.follows(row.v))
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if row.line%1000 == 0 {
			p.say(r.under.n, f.size)
		}
	}
}

// row is one line between the first and the last.
type row struct {
	v    any
	line int64
	size int
	why  string // it is not taken
}

// lines reads a file's rows, and holds them to the manifest at the end.
type lines struct {
	path     string
	under    *counter // the file itself, compressed or not
	r        *bufio.Reader
	sum      hash.Hash
	buf      []byte
	line     int64
	counts   Counts
	manifest *Manifest
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// reader starts at the beginning, behind the first line.
func (f *File) reader() (*lines, error) {
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("import: %s: %w", f.path, err)
	}
	r := &lines{path: f.path, under: &counter{r: f.f}, sum: sha256.New()}
	r.r = bufio.NewReaderSize(r.under, 1<<16)
	if magic, _ := r.r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r.r)
		if err != nil {
			return nil, fmt.Errorf("import: %s: %w", f.path, err)
		}
		r.r = bufio.NewReaderSize(z, 1<<16)
	}
	return r, r.first()
}

func (r *lines) first() error {
	text, err := r.read()
	var h header
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil || json.Unmarshal(text, &h) != nil || h.Row != rowExport {
		return r.fault("is not the first line of a memoryd export")
	}
	if h.Format > Format {
		return r.fault(fmt.Sprintf("the file has format %d, this program knows up to %d; use a newer memoryd", h.Format, Format))
	}
	r.sum.Write(text)
	return nil
}

// read answers the next line with its end, valid until the next call; io.EOF behind the last.
func (r *lines) read() ([]byte, error) {
	r.line++
	r.buf = r.buf[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case err == nil:
			return r.buf, nil
		case len(r.buf) > maxLine:
			return nil, r.fault(fmt.Sprintf("the line is longer than %d MiB", maxLine>>20))
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buf) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, r.fault("the line has no end: the file was cut")
		default:
			return nil, r.fault("cannot be read: " + err.Error())
		}
	}
}

// next answers a row, or io.EOF when the manifest has come, is right, and nothing stands behind it.
func (r *lines) next() (row, error) {
	text, err := r.read()
	if errors.Is(err, io.EOF) {
		return row{}, r.fault("the file ends without a manifest: it was cut, or its export did not finish")
	}
	if err != nil {
		return row{}, err
	}
	v, fault := decode(text)
	if fault != "" {
		return row{}, r.fault(fault)
	}
	if m, ok := v.(*Manifest); ok {
		return row{}, r.end(m)
	}
	r.sum.Write(text)
	r.counts.add(v)
	return row{v: v, line: r.line, size: len(text)}, nil
}

func (r *lines) end(m *Manifest) error {
	sum := hex.EncodeToString(r.sum.Sum(nil))
	switch {
	case m.Counts != r.counts:
		return r.fault(fmt.Sprintf("the manifest counts %+v rows, the file holds %+v", m.Counts, r.counts))
	case m.SHA256 != sum:
		return r.fault(fmt.Sprintf("the manifest's sha256 is %.64s, the file's is %s: it was changed after it was written", m.SHA256, sum))
	}
	if _, err := r.read(); !errors.Is(err, io.EOF) {
		return r.fault("something stands behind the manifest")
	}
	r.manifest = m
	return io.EOF
}

// fault is an error about the line that was read last, nil for "".
func (r *lines) fault(what string) error {
	if what == "" {
		return nil
	}
	return memoryd.Errorf(memoryd.Invalid, "bad-file", "%s:%d: %s", r.path, r.line, what)
}

func (c *Counts) add(v any) {
	switch r := v.(type) {
	case *tenantRow:
		c.Tenants++
	case *agentRow:
		c.Agents++
	case *sessionRow:
		c.Sessions++
	case *messageRow:
		c.Messages++
	case *memoryRow:
		if r.Row == rowVersion {
			c.Versions++
		} else {
			c.Memories++
		}
	}
}

// decode answers the row of a line, or what is wrong with it.
func decode(text []byte) (v any, fault string) {
	if !utf8.Valid(text) {
		return nil, "is not UTF-8"
	}
	var kind struct {
		Row string `json:"row"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, "is not a JSON object: " + err.Error()
	}
	switch kind.Row {
	case rowTenant:
		v = new(tenantRow)
	case rowAgent:
		v = new(agentRow)
	case rowSession:
		v = new(sessionRow)
	case rowMessage:
		v = new(messageRow)
	case rowMemory, rowVersion:
		v = new(memoryRow)
	case rowManifest:
		v = new(Manifest)
	default:
		return nil, fmt.Sprintf("there are no rows of the kind %.40q", kind.Row)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, err.Error()
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, "something stands behind the object"
	}
	return v, ""
}
