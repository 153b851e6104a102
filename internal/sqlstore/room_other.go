//go:build !unix

package sqlstore

import (
	"errors"
	"syscall"
)

// noRoom says whether the system refused to make a file larger: ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and
// ERROR_DISK_QUOTA_EXCEEDED of Windows.
func noRoom(err error) bool {
	for _, code := range []syscall.Errno{39, 112, 1295} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
