//go:build linux || darwin || freebsd

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes is how much a user without privileges may still write to the folder's disk.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("disk: %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
