package memoryd

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Repeat is what makes a write repeatable: the key that its sender chose, and what the key stands for. Without a key
// the write cannot be told from another.
type Repeat struct {
	Key    string
	Route  string // method and path
	Digest []byte // equal for requests that ask for the same
}

// ReceiptsKept is how long a write can be repeated.
const ReceiptsKept = 24 * time.Hour

// Receipt is what a repeatable write leaves behind, in its own transaction: what its answer is made of again.
type Receipt struct {
	ID     []byte // of tenant, credential, route and key
	Tenant string
	Digest []byte
	Result []byte // JSON
	Made   time.Time
}

// Receipt is the one that the write leaves behind, all but Result and Made.
func (r Repeat) Receipt(tenant, writer string) Receipt {
	h := sha256.New()
	for _, part := range []string{tenant, writer, r.Route, r.Key} {
		// With its length in front, no part can run into the next.
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return Receipt{ID: h.Sum(nil), Tenant: tenant, Digest: r.Digest}
}

// ErrOtherRequest says that an idempotency key stands for another request already.
var ErrOtherRequest = &Error{Code: Conflict, Slug: "idempotency", Detail: "the idempotency key was sent with another request before; a new request takes a new key"}

// Receipts keeps the receipts of repeatable writes.
type Receipts interface {
	// Get answers ErrNotFound for one that is not there.
	Get(id []byte) (Receipt, error)
	// Put keeps one, in the place of one of the same id that was made before expired; a younger one stays, and kept is
	// false.
	Put(r Receipt, expired time.Time) (kept bool, err error)
	// Purge removes at most n of those that were made before a time, oldest first, and says how many.
	Purge(expired time.Time, n int) (int, error)
}
