package sqlstore

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

const sector = 512 // what a disk writes at once, or tears

var errPower = errors.New("the power is off")

// disk is a disk in memory that remembers what was not synced. When its power is cut, each sector written since the
// last sync is old, new or torn, by chance, and so are sizes, names and deletions; syncs and locks behave as those of
// the system's files do. It is a vfs.VFS; shared memory is the library's, on real files beside nothing.
type disk struct {
	mu      sync.Mutex
	rng     *rand.Rand
	names   map[string]*inode // what the running program sees, by base name
	durable map[string]*inode // what a cut leaves
	left    int               // writes, syncs and the like until the power is cut; negative: never
	beats   int               // syncs until then
	off     bool
	faulty  func(op string) bool // whether the next operation fails
	faults  int
	syncs   int
}

type inode struct {
	live, stable []byte
	pending      []diskOp // since the last sync, in order

	shared            int
	reserved, pendent bool
}

// diskOp is a write or, without data, a change of size.
type diskOp struct {
	off, size int64
	data      []byte
	dropped   bool // a failed sync forgot it: no later one brings it to the disk
}

// newDisk is a disk with these files on it.
func newDisk(rng *rand.Rand, files map[string][]byte) *disk {
	d := &disk{rng: rng, names: map[string]*inode{}, left: -1, beats: -1}
	for name, data := range files {
		d.names[name] = &inode{live: bytes.Clone(data), stable: bytes.Clone(data)}
	}
	d.durable = maps.Clone(d.names)
	return d
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func (op diskOp) apply(b []byte) []byte {
	if op.data == nil {
		return resize(b, op.size)
	}
	if end := op.off + int64(len(op.data)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[op.off:], op.data)
	return b
}

// tear applies what a cut leaves of the operation; keep is the chance of each sector to survive, torn that of a
// surviving one to do so in part.
func (op diskOp) tear(b []byte, rng *rand.Rand, keep, torn float64) []byte {
	if op.data == nil {
		if rng.Float64() < keep {
			b = resize(b, op.size)
		}
		return b
	}
	if end := op.off + int64(len(op.data)); end > int64(len(b)) && rng.Float64() < keep/2 {
		grown := len(b)
		b = resize(b, end) // the size may be there before the content
		if rng.IntN(2) == 0 {
			for i := grown; i < len(b); i++ {
				b[i] = byte(rng.Uint32())
			}
		}
	}
	was := int64(len(b))
	for at := int64(0); at < int64(len(op.data)); {
		n := min(sector-(op.off+at)%sector, int64(len(op.data))-at)
		part := diskOp{off: op.off + at, data: op.data[at : at+n]}
		at += n
		if rng.Float64() >= keep {
			continue
		}
		if cut := rng.Int64N(n); rng.Float64() < torn && cut > 0 {
			if rng.IntN(2) == 0 {
				part.data = part.data[:cut]
			} else {
				part.off, part.data = part.off+cut, part.data[cut:]
			}
		}
		b = part.apply(b)
	}
	if size := int64(len(b)); size > was { // file systems grow files by blocks, or to where the write ended
		b = resize(b, min(max(op.off+int64(len(op.data)), was), (size+4095)/4096*4096))
	}
	return b
}

func (f *inode) sync(rng *rand.Rand) {
	for _, op := range f.pending {
		if !op.dropped {
			f.stable = op.apply(f.stable)
		} else if rng.IntN(2) == 0 { // some of it had reached the disk before the sync failed
			f.stable = op.tear(f.stable, rng, 0.5, 0.1)
		}
	}
	f.pending = nil
}

// cut turns the power off and answers what is on the disk then.
func (d *disk) cut() {
	d.off = true
	keep := []float64{0, 0.2, 0.5, 0.8, 1}[d.rng.IntN(5)]
	torn := []float64{0, 0.1}[d.rng.IntN(2)]
	for name := range merged(d.names, d.durable) {
		if d.rng.Float64() >= keep {
			continue
		}
		if f := d.names[name]; f != nil {
			d.durable[name] = f
		} else {
			delete(d.durable, name)
		}
	}
	for _, f := range d.durable {
		for _, op := range f.pending {
			f.stable = op.tear(f.stable, d.rng, keep, torn)
		}
		f.pending = nil
	}
}

func merged(a, b map[string]*inode) map[string]*inode {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// remains is what a program finds that starts after the cut.
func (d *disk) remains() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.off {
		d.cut()
	}
	files := map[string][]byte{}
	for name, f := range d.durable {
		files[name] = f.stable
	}
	return files
}

// plug sets when the power is cut: at the latest after so many operations or syncs. Negative numbers are never.
func (d *disk) plug(left, syncs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.beats = left, syncs
}

func (d *disk) dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}

// tick counts an operation that changes the disk. The caller holds the lock, as with all below.
func (d *disk) tick(sync bool) error {
	if d.off {
		return errPower
	}
	if d.left == 0 || sync && d.beats == 0 {
		d.cut()
		return errPower
	}
	d.left--
	if sync {
		d.beats--
	}
	return nil
}

// fault says whether the operation fails of itself.
func (d *disk) fault(op string, code sqlite3.ExtendedErrorCode) error {
	if d.off {
		return vfs.SystemError(errPower, code)
	}
	if d.faulty != nil && d.faulty(op) {
		d.faults++
		return vfs.SystemError(syscall.EIO, code)
	}
	return nil
}

func (d *disk) FullPathname(name string) (string, error) { return name, nil }

func (d *disk) Access(name string, _ vfs.AccessFlag) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault("access", sqlite3.IOERR_ACCESS); err != nil {
		return false, err
	}
	return d.names[filepath.Base(name)] != nil, nil
}

func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault("delete", sqlite3.IOERR_DELETE); err != nil {
		return err
	}
	if d.names[filepath.Base(name)] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	delete(d.names, filepath.Base(name))
	if err := d.tick(false); err != nil {
		return vfs.SystemError(err, sqlite3.IOERR_DELETE)
	}
	if syncDir {
		d.durable = maps.Clone(d.names)
	}
	return nil
}

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault("open", sqlite3.ExtendedErrorCode(sqlite3.CANTOPEN)); err != nil {
		return nil, flags, err
	}
	f := &diskFile{disk: d, flags: flags, psow: true}
	if name == "" {
		f.inode = &inode{}
		return f, flags, nil
	}
	base := filepath.Base(name)
	if f.inode = d.names[base]; f.inode == nil {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		f.inode = &inode{}
		d.names[base] = f.inode
		if err := d.tick(false); err != nil {
			return nil, flags, vfs.SystemError(err, sqlite3.CANTOPEN)
		}
	}
	f.syncDir = flags&vfs.OPEN_CREATE != 0 && flags&(vfs.OPEN_MAIN_JOURNAL|vfs.OPEN_WAL) != 0
	f.shm = vfs.NewSharedMemory(name+"-shm", flags)
	return f, flags, nil
}

// diskFile is one opened file. As the system's do, it declares that a write harms no byte beside it.
type diskFile struct {
	disk *disk
	*inode
	flags   vfs.OpenFlag
	shm     vfs.SharedMemory
	lock    vfs.LockLevel
	syncDir bool
	psow    bool
}

var (
	_ vfs.FileSharedMemory       = (*diskFile)(nil)
	_ vfs.FileSizeHint           = (*diskFile)(nil)
	_ vfs.FileLockState          = (*diskFile)(nil)
	_ vfs.FilePowersafeOverwrite = (*diskFile)(nil)
)

func (f *diskFile) SharedMemory() vfs.SharedMemory { return f.shm }
func (f *diskFile) LockState() vfs.LockLevel       { return f.lock }
func (f *diskFile) PowersafeOverwrite() bool       { return f.psow }
func (f *diskFile) SetPowersafeOverwrite(on bool)  { f.psow = on }
func (f *diskFile) SectorSize() int                { return 4096 }

func (f *diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	if f.psow {
		return vfs.IOCAP_SUBPAGE_READ | vfs.IOCAP_POWERSAFE_OVERWRITE
	}
	return vfs.IOCAP_SUBPAGE_READ
}

func (f *diskFile) Close() error {
	if f.shm != nil {
		f.shm.Close()
	}
	return f.Unlock(vfs.LOCK_NONE)
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.fault("read", sqlite3.IOERR_READ); err != nil {
		return 0, err
	}
	if off >= int64(len(f.live)) {
		return 0, io.EOF
	}
	n := copy(p, f.live[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// change does the operation. One that fails may have been done in part.
func (f *diskFile) change(op diskOp, kind string, code sqlite3.ExtendedErrorCode) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	failed := f.disk.fault(kind, code)
	if f.disk.off {
		return failed
	}
	if failed != nil {
		if op.data == nil || f.disk.rng.IntN(2) == 0 {
			return failed
		}
		op.data = op.data[:f.disk.rng.IntN(len(op.data))]
		if len(op.data) == 0 {
			return failed
		}
	}
	f.pending = append(f.pending, op)
	f.live = op.apply(f.live)
	if err := f.disk.tick(false); err != nil {
		return vfs.SystemError(err, code)
	}
	return failed
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.change(diskOp{off: off, data: bytes.Clone(p)}, "write", sqlite3.IOERR_WRITE); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *diskFile) Truncate(size int64) error {
	return f.change(diskOp{size: size}, "truncate", sqlite3.IOERR_TRUNCATE)
}

func (f *diskFile) SizeHint(size int64) error {
	if now, _ := f.Size(); size <= now {
		return nil
	}
	return f.Truncate(size)
}

func (f *diskFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.live)), nil
}

// Sync that fails loses what it was to write, as Linux does: the next one succeeds without it.
func (f *diskFile) Sync(vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.fault("sync", sqlite3.IOERR_FSYNC); err != nil {
		for i := range f.pending {
			f.pending[i].dropped = true
		}
		return err
	}
	if err := f.disk.tick(true); err != nil {
		return vfs.SystemError(err, sqlite3.IOERR_FSYNC)
	}
	f.disk.syncs++
	f.inode.sync(f.disk.rng)
	if f.syncDir {
		f.syncDir = false
		f.disk.durable = maps.Clone(f.disk.names)
	}
	return nil
}

func (f *diskFile) Lock(level vfs.LockLevel) error {
	if f.lock >= level {
		return nil
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	switch level {
	case vfs.LOCK_SHARED:
		if f.pendent {
			return sqlite3.BUSY
		}
		f.shared++
	case vfs.LOCK_RESERVED:
		if f.reserved {
			return sqlite3.BUSY
		}
		f.reserved = true
	case vfs.LOCK_EXCLUSIVE:
		if f.lock != vfs.LOCK_PENDING {
			if f.pendent {
				return sqlite3.BUSY
			}
			f.pendent, f.lock = true, vfs.LOCK_PENDING
		}
		if f.shared > 1 {
			return sqlite3.BUSY
		}
	}
	f.lock = level
	return nil
}

func (f *diskFile) Unlock(level vfs.LockLevel) error {
	if f.lock <= level {
		return nil
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.lock >= vfs.LOCK_RESERVED {
		f.reserved = false
	}
	if f.lock >= vfs.LOCK_PENDING {
		f.pendent = false
	}
	if level == vfs.LOCK_NONE {
		f.shared--
	}
	f.lock = level
	return nil
}

func (f *diskFile) CheckReservedLock() (bool, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.reserved, nil
}
