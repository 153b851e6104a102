//go:build unix

package sqlstore

import (
	"errors"
	"syscall"
)

// noRoom says whether the system refused to make a file larger: the disk is full, or a limit is reached.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
