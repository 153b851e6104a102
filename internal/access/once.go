package access

import (
	"bytes"
	"encoding/json"

	"memoryd"
)

// once lets the request that makes k through the first time.
func (n NewKey) once(tx memoryd.Tx, g Grant, k memoryd.Key) error {
	if n.Repeat.Key == "" {
		return nil
	}
	r := n.Repeat.Receipt(g.tenant, g.writer)
	result, err := json.Marshal(k.ID)
	if err != nil {
		return err
	}
	r.Result, r.Made = result, k.Created
	kept, err := tx.Receipts.Put(r, k.Created.Add(-memoryd.ReceiptsKept))
	if err != nil || kept {
		return err
	}
	old, err := tx.Receipts.Get(r.ID)
	if err != nil {
		return err
	}
	var made string
	if !bytes.Equal(old.Digest, r.Digest) || json.Unmarshal(old.Result, &made) != nil {
		return memoryd.ErrOtherRequest
	}
	return memoryd.Errorf(memoryd.Conflict, "idempotency", "this request has made the key %s; a key is shown once and kept nowhere, so it cannot be answered again: "+
		"if that answer was lost, revoke %s and create another with a new idempotency key", made, made)
}
