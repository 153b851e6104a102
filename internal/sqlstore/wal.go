package sqlstore

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"

	"github.com/ncruces/go-sqlite3"

	"memoryd"
)

// drainLog moves what the last run left in the log into the database. After a sync that failed, the log may read as if
// it were on the disk while the system has given up bringing it there; whatever was written behind would be lost with
// it when the power goes. Copied, it is written and synced anew.
func drainLog(ctx context.Context, db *sql.DB) error {
	err := onConn(ctx, db, func(c *sqlite3.Conn) error {
		_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
		return err
	})
	// Another program that looks at it just now, or a full disk, is no reason not to start.
	if err = sqliteFault(err); err != nil && !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, memoryd.ErrDiskFull) {
		return fmt.Errorf("sqlstore: checkpoint: %w", err)
	}
	return nil
}

// checkLog demands that the log which a crash left ends where the crash ended it. SQLite takes the first frame that
// does not add up for the end, which a power cut may well have torn; but where whole transactions stand behind it, that
// frame was on the disk before they were begun, and has been damaged since. The last transaction has none behind it:
// damage to it passes for a torn write. Under encryption, where a flipped bit spoils a block, that takes the one before
// along if the block held its end, and damage to the first block passes likewise: the first transaction after a
// checkpoint rewrites the header with it, among frames of any age. The file format: https://sqlite.org/fileformat.html#walformat
func (f *files) checkLog() error {
	file, err := f.raw(f.path+"-wal", true)
	if err != nil || file == nil {
		return err
	}
	if f.cipher != nil && file.size%blockSize != 0 { // the rest of a block cannot be decrypted, which fails the reader
		file.size -= file.size % blockSize
		err = file.Truncate(file.size)
	}
	sound := true
	if err == nil {
		sound, err = f.soundLog(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("sqlstore: %w", down(err))
	}
	if !sound {
		return unusable("%s-wal is damaged, and acknowledged writes stand in it; restore a backup, or remove the file to go on without them", f.path)
	}
	return nil
}

func (f *files) soundLog(file *rawFile) (bool, error) {
	r := bufio.NewReaderSize(f.stream(file), 1<<16)
	var h [32]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return true, cutOff(err)
	}
	l := newLog(h)
	for {
		var frame frame
		if _, err := io.ReadFull(r, frame[:]); err != nil {
			if err := cutOff(err); err != nil || !l.headless || f.cipher != nil {
				return !l.damaged, err
			}
			return f.holds(l)
		}
		l.next(&frame)
	}
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// stream reads a file from its beginning, decrypted.
func (f *files) stream(file *rawFile) io.Reader {
	plain := io.NewSectionReader(file, 0, file.size)
	if f.cipher == nil {
		return plain
	}
	return &decrypted{f.cipher, plain, 0, nil}
}

type decrypted struct {
	cipher *cipher
	from   io.Reader
	off    int64
	rest   []byte
}

func (d *decrypted) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		var block [blockSize]byte
		if _, err := io.ReadFull(d.from, block[:]); err != nil {
			return 0, err
		}
		d.rest = d.cipher.decrypt(block[:], d.off)
		d.off += blockSize
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// frame is a page in the log behind its number, the database's size if it ends a transaction, the log's salts, and a
// checksum that continues the one of the frame before.
type frame [24 + blockSize]byte

func (f *frame) page() uint32  { return binary.BigEndian.Uint32(f[0:]) }
func (f *frame) size() uint32  { return binary.BigEndian.Uint32(f[4:]) }
func (f *frame) commits() bool { return f.size() != 0 }
func (f *frame) sum() [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])}
}
func (f *frame) salted() [8]byte { return [8]byte(f[8:16]) }

// olderThan says whether the frame is of an earlier round: the first half of the salts counts the rounds from a random
// number on.
func (f *frame) olderThan(g *frame) bool {
	rounds := binary.BigEndian.Uint32(g[8:]) - binary.BigEndian.Uint32(f[8:])
	return rounds > 0 && rounds < 1<<20
}

// log is what was seen of a log so far.
type log struct {
	last   frame // its salts and checksum; at first the header's
	broken bool  // a frame did not add up
	ended  bool  // ends is the end of a transaction at or behind that frame
	ends   frame

	damaged bool

	frames   int
	headless bool // the header does not add up
	found    bool // then: a frame follows on another, so that these are the salts
	seed     maphash.Seed
	open     map[uint32]uint64 // what the pages of one transaction hold
	pages    map[uint32]uint64 // and of those that are known to have been synced, as others follow
}

func newLog(header [32]byte) *log {
	l := &log{seed: maphash.MakeSeed(), open: map[uint32]uint64{}, pages: map[uint32]uint64{}}
	copy(l.last[8:24], header[16:])
	l.headless = l.last.sum() != checksumOf([2]uint32{}, header[:24]) || !bytes.HasPrefix(header[:], []byte(starts[1].magic))
	l.broken = l.headless
	return l
}

func (l *log) next(f *frame) {
	salted := f.salted() == l.last.salted()
	if l.headless && !l.found && l.frames == 1 && !salted && f.olderThan(&l.last) {
		l.found = true // the first frame is all there is of the last round
	}
	l.frames++
	sound := salted && f.page() != 0 && f.sum() == checksumOf(checksumOf(l.last.sum(), f[:8]), f[24:])
	if !salted && (!l.headless || l.found) {
		l.broken, l.ended = true, false
		return // the next may still follow on the last one
	}
	l.last = *f
	follows := sound && l.ended && !bytes.Equal(f[:8], l.ends[:8]) // else it fills up the sector behind an end
	switch {
	case !sound:
		// Of a frame that does not add up, the numbers may be garbage too; then they are hardly so small.
		commits := f.commits() && f.page() <= f.size() && f.size() < 1<<22
		l.broken, l.ended, l.ends = true, salted && commits && !l.headless, *f
		clear(l.open)
	case follows && l.headless:
		maps.Copy(l.pages, l.open)
		clear(l.open)
		l.ended = false
	case follows && l.broken:
		l.damaged = true
	}
	if sound && l.headless {
		l.found = true
		l.open[f.page()] = maphash.Bytes(l.seed, f[24:len(f)-checksum])
	}
	if sound && l.broken && f.commits() {
		l.ended, l.ends = true, *f
	}
}

// holds says whether the database holds all that a log without a header does: a header is written when everything
// behind it has been copied, so that a torn one costs nothing.
func (f *files) holds(l *log) (bool, error) {
	file, err := f.raw(f.path, false)
	if err != nil || file == nil {
		return len(l.pages) == 0, err
	}
	defer file.Close()
	r := f.stream(file)
	found := 0
	var page [blockSize]byte
	for n := uint32(1); ; n++ {
		if _, err := io.ReadFull(r, page[:]); err != nil {
			return found == len(l.pages), cutOff(err)
		}
		if sum, ok := l.pages[n]; ok && sum == maphash.Bytes(l.seed, page[:blockSize-checksum]) {
			found++
		}
	}
}

// checksumOf continues a checksum over a multiple of 8 bytes.
func checksumOf(sum [2]uint32, data []byte) [2]uint32 {
	for ; len(data) >= 8; data = data[8:] {
		sum[0] += binary.LittleEndian.Uint32(data) + sum[1]
		sum[1] += binary.LittleEndian.Uint32(data[4:]) + sum[0]
	}
	return sum
}
