package sqlstore

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// layer is the files below it, made fit in two ways. It offers no memory mapping: the library checks no checksums of
// mapped pages, and crashes when a file that offers mapping turns out to have them. And it tells SQLite where there was
// no room, which the library takes for any other failure and SQLite forgets on the way.
type layer struct{ vfs.VFS }

func (l layer) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := vfsutil.WrapOpenFilename(l.VFS, name, flags)
	if err != nil {
		return nil, flags, roomy(err)
	}
	return layerFile{file}, flags, nil
}

// layerFile forwards what the system's files can do beyond vfs.File.
type layerFile struct{ vfs.File }

var (
	_ vfs.VFSFilename            = layer{}
	_ vfs.FileUnwrap             = layerFile{}
	_ vfs.FileSharedMemory       = layerFile{}
	_ vfs.FileSizeHint           = layerFile{}
	_ vfs.FileHasMoved           = layerFile{}
	_ vfs.FileLockState          = layerFile{}
	_ vfs.FilePersistWAL         = layerFile{}
	_ vfs.FilePowersafeOverwrite = layerFile{}
)

// roomy is the error as SQLite should have it.
func roomy(err error) error {
	if noRoom(err) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

func (f layerFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, roomy(err)
}

func (f layerFile) Truncate(size int64) error     { return roomy(f.File.Truncate(size)) }
func (f layerFile) Sync(flags vfs.SyncFlag) error { return roomy(f.File.Sync(flags)) }

func (f layerFile) Unwrap() vfs.File               { return f.File }
func (f layerFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f layerFile) SizeHint(size int64) error      { return vfsutil.WrapSizeHint(f.File, size) }
func (f layerFile) HasMoved() (bool, error)        { return vfsutil.WrapHasMoved(f.File) }
func (f layerFile) LockState() vfs.LockLevel       { return vfsutil.WrapLockState(f.File) }
func (f layerFile) PersistWAL() bool               { return vfsutil.WrapPersistWAL(f.File) }
func (f layerFile) SetPersistWAL(keep bool)        { vfsutil.WrapSetPersistWAL(f.File, keep) }
func (f layerFile) PowersafeOverwrite() bool       { return vfsutil.WrapPowersafeOverwrite(f.File) }
func (f layerFile) SetPowersafeOverwrite(on bool)  { vfsutil.WrapSetPowersafeOverwrite(f.File, on) }

// DeviceCharacteristics leaves out the one that takes more methods.
func (f layerFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}
