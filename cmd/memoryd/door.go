package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"

	"memoryd"
	"memoryd/internal/sqlstore"
)

// onLoopback says whether an address to listen on is reached from this machine alone. sure is false for a name, which
// only listening resolves, and for what is no address.
func onLoopback(listen string) (yes, sure bool) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, false
	}
	if host == "localhost" {
		return true, true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), host == "" || ip != nil
}

const offNeedsLoopback = "off works on a loopback address only, and others can reach the one of listen; use keys, or listen on 127.0.0.1"

// checkDoor refuses what would let others in without a key. It looks into the store where there is one, and makes
// nothing. A store that cannot be read is told of by what opens it.
func checkDoor(ctx context.Context, c config, loopback bool, address string) error {
	if loopback {
		return nil
	}
	switch c.Auth.Mode {
	case "off":
		return errors.New("auth.mode: " + offNeedsLoopback)
	case "auto":
		if keys, err := anyKey(ctx, c); err == nil && !keys {
			return errNoKey(c, address)
		}
	}
	return nil
}

func errNoKey(c config, address string) error {
	return fmt.Errorf("others can reach %s, and the store holds no key; make one first: %s; or listen on 127.0.0.1", address, firstKey(c))
}

// anyKey says whether the store holds a key, valid or not, as access counts them. A store that is not there holds none.
func anyKey(ctx context.Context, c config) (found bool, err error) {
	o := storeOptions(c, slog.New(slog.DiscardHandler))
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = sqlstore.Peek(ctx, o, func(tx memoryd.Tx) error {
		list, err := tx.Keys.List("")
		found = len(list) > 0
		return err
	})
	return found, err
}
