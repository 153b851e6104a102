//go:build !(linux || darwin || freebsd)

package main

import "errors"

// freeBytes does not know this system.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
