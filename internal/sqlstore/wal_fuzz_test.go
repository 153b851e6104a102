package sqlstore

import (
	"encoding/binary"
	"testing"
)

// logOf makes a log whose frames hold the given pages; one above 127 ends a transaction.
func logOf(pages []byte) (header [32]byte, frames []frame) {
	copy(header[:], starts[1].magic)
	copy(header[16:], "saltsalt")
	put := func(at []byte, sum [2]uint32) {
		binary.BigEndian.PutUint32(at, sum[0])
		binary.BigEndian.PutUint32(at[4:], sum[1])
	}
	sum := checksumOf([2]uint32{}, header[:24])
	put(header[24:], sum)
	for i, p := range pages {
		var x frame
		binary.BigEndian.PutUint32(x[0:], 1+uint32(p&127))
		if p > 127 {
			binary.BigEndian.PutUint32(x[4:], uint32(i+1))
		}
		copy(x[8:], header[16:24])
		x[24+i%64] = p
		sum = checksumOf(checksumOf(sum, x[:8]), x[24:])
		put(x[16:], sum)
		frames = append(frames, x)
	}
	return header, frames
}

func (l *log) all(frames []frame) *log {
	for i := range frames {
		l.next(&frames[i])
	}
	return l
}

// FuzzLog: a log that was cut, torn at its last transaction, or written over an older one is no damage; a frame that
// changed before a later transaction is.
func FuzzLog(f *testing.F) {
	f.Add([]byte{1, 2, 0x83, 4, 0x85}, byte(1), uint16(0), byte(1))
	f.Add([]byte{0x81, 0x81, 0x81}, byte(0), uint16(4071), byte(0x80))
	f.Add([]byte{1, 2, 3}, byte(2), uint16(9), byte(7))
	f.Add([]byte{0xff, 0, 0, 0xff, 0, 0xff}, byte(4), uint16(100), byte(1))
	f.Add([]byte{}, byte(0), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, pages []byte, at byte, off uint16, flip byte) {
		pages = pages[:min(len(pages), 40)]
		header, frames := logOf(pages)
		if newLog(header).headless {
			t.Fatal("the header does not add up")
		}
		if len(frames) == 0 {
			return
		}
		n := int(at) % len(frames)
		if newLog(header).all(frames).damaged || newLog(header).all(frames[:n]).damaged {
			t.Fatalf("%v is damaged, or its first %d frames", pages, n)
		}
		// What an older, longer log left behind has other salts.
		_, old := logOf(append([]byte{7}, pages...))
		for i := range old {
			copy(old[i][8:16], "otherone")
		}
		if newLog(header).all(append(frames[:n:n], old[n:]...)).damaged {
			t.Fatalf("%v behind its first %d frames is damage", pages, n)
		}
		if flip == 0 {
			return
		}
		frames[n][24+int(off)%blockSize] ^= flip
		behind := n // the first frame behind the transaction that was hit
		for behind < len(pages) && pages[behind] <= 127 {
			behind++
		}
		behind++
		if damaged := newLog(header).all(frames).damaged; damaged != (behind < len(pages)) {
			t.Fatalf("%v with a byte of frame %d changed: damaged is %v", pages, n, damaged)
		}
		// Any header, and frames in any order, are read to their end.
		header[at%32] ^= flip
		newLog(header).all(frames).all(frames[n:]).all(old)
	})
}
