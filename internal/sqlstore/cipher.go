package sqlstore

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/ncruces/go-sqlite3/vfs/adiantum"
	"golang.org/x/crypto/argon2"
	"lukechampine.com/adiantum/hbsh"

	construction "lukechampine.com/adiantum"
)

// cipher encrypts all files of one database with Adiantum, by the library's own layer. The alternative there, AES-XTS,
// runs at an eighth of the speed in Go, would make of 32 bytes two AES-128 keys, and stretches passphrases with few
// rounds of PBKDF2 where this one takes Argon2id.
type cipher struct{ key []byte }

var errKey = errors.New("sqlstore: the encryption key must be 32 bytes in hex or base64, or a passphrase of at least 12 characters")

func newCipher(secret string) (*cipher, error) {
	key, err := cipherKey(secret)
	if err != nil {
		return nil, err
	}
	return &cipher{key}, nil
}

// over is the layer. The library's own asks for the key in a name or a statement, where an error could show it; this
// one asks to be asked for the empty key, for which HBSH puts in the real one.
func (c *cipher) over(base vfs.VFS) vfs.VFS { return adiantum.Wrap(base, c) }

// cipherKey stretches a passphrase as the library does, so that its other users can open the file.
func cipherKey(secret string) ([]byte, error) {
	if key, err := hex.DecodeString(secret); err == nil && len(key) == 32 {
		return key, nil
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := e.DecodeString(secret); err == nil && len(key) == 32 {
			return key, nil
		}
	}
	if len(secret) < MinPassphrase {
		return nil, errKey
	}
	return argon2.IDKey([]byte(secret), []byte("github.com/ncruces/go-sqlite3/vfs/adiantum"), 3, 64*1024, 4, 32), nil
}

// KDF answers the key of a temporary file, which nobody reads twice.
func (c *cipher) KDF(string) []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}

// HBSH takes the empty key for the database's own.
func (c *cipher) HBSH(key []byte) *hbsh.HBSH {
	switch len(key) {
	case 0:
		return construction.New(c.key)
	case 32:
		return construction.New(key)
	}
	return nil
}

// decrypt answers what the block that stands at off in a file holds.
func (c *cipher) decrypt(block []byte, off int64) []byte {
	var tweak [8]byte
	binary.LittleEndian.PutUint64(tweak[:], uint64(off))
	return c.HBSH(nil).Decrypt(bytes.Clone(block), tweak[:])
}
