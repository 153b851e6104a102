package remember

import (
	"encoding/json"
	"errors"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// addedReceipt is what the answer about one memory is made of again: what became of it, and its id or why it has none.
type addedReceipt struct {
	ID      string          `json:"id,omitempty"`
	State   string          `json:"state,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
	Refused *refusedReceipt `json:"refused,omitempty"`
}

// refusedReceipt is an error that was shown, without its cause.
type refusedReceipt struct {
	Code   memoryd.Code    `json:"code"`
	Slug   string          `json:"slug"`
	Detail string          `json:"detail"`
	Fields []memoryd.Field `json:"fields,omitempty"`
}

func receiptOf(item BatchItem) addedReceipt {
	if item.Err == nil {
		return addedReceipt{ID: item.Memory.ID, State: item.State, Notes: item.Notes}
	}
	e := &memoryd.Error{Code: memoryd.Internal, Slug: "internal"}
	errors.As(item.Err, &e)
	return addedReceipt{Refused: &refusedReceipt{e.Code, e.Slug, e.Detail, e.Fields}}
}

func receiptsOf(list []BatchItem) []addedReceipt {
	out := make([]addedReceipt, len(list))
	for i, item := range list {
		out[i] = receiptOf(item)
	}
	return out
}

// addedAgain is the answer to an Add that was done before.
func (w *Writer) addedAgain(tx memoryd.Tx, g access.Grant, r AddRequest, result []byte) (Added, error) {
	var kept addedReceipt
	if err := json.Unmarshal(result, &kept); err != nil {
		return Added{}, err
	}
	list, err := w.itemsAgain(tx, g, []AddRequest{r}, []addedReceipt{kept})
	if err != nil {
		return Added{}, err
	}
	return list[0].Added, list[0].Err
}

// batchAgain is the answer to an AddBatch that was done before.
func (w *Writer) batchAgain(tx memoryd.Tx, g access.Grant, list []AddRequest, result []byte) ([]BatchItem, error) {
	var kept []addedReceipt
	if err := json.Unmarshal(result, &kept); err != nil {
		return nil, err
	}
	if len(kept) != len(list) {
		return nil, memoryd.ErrOtherRequest
	}
	return w.itemsAgain(tx, g, list, kept)
}

// itemsAgain shows the memories as they are now. They are looked for in the whole tenant, since the same credential
// was told of them before; what it may no longer read is shown as to one that only writes.
func (w *Writer) itemsAgain(tx memoryd.Tx, g access.Grant, list []AddRequest, kept []addedReceipt) ([]BatchItem, error) {
	var ids []string
	for _, k := range kept {
		if k.Refused == nil {
			ids = append(ids, k.ID)
		}
	}
	found, err := tx.Memories.Get(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), ids...)
	if err != nil {
		return nil, err
	}
	now := make(map[string]memoryd.Memory, len(found))
	for _, m := range found {
		now[m.ID] = m
	}
	out := make([]BatchItem, len(kept))
	for i, k := range kept {
		m, there := now[k.ID]
		switch {
		case k.Refused != nil:
			out[i].Err = &memoryd.Error{Code: k.Refused.Code, Slug: k.Refused.Slug, Detail: k.Refused.Detail, Fields: k.Refused.Fields}
		case !there:
			out[i].Err = errGone()
		default:
			text, _ := w.o.Guard.Check(list[i].Text)
			out[i].Added = Added{Memory: shown(g, m, text), State: k.State, Notes: k.Notes}
		}
	}
	return out, nil
}

// appendedReceipt is what an Append answered, and the session that took it: one of the same id that was made later holds
// none of it.
type appendedReceipt struct {
	Appended
	Session time.Time `json:"session"`
}

// appendedAgain is the answer to an Append that was done before.
func appendedAgain(tx memoryd.Tx, g access.Grant, session string, result []byte) (Appended, error) {
	var kept appendedReceipt
	if err := json.Unmarshal(result, &kept); err != nil {
		return Appended{}, err
	}
	id, _ := parent(session)
	s, err := tx.Sessions.Get(memoryd.Owner{Tenant: g.Tenant()}, memoryd.AllScopes(), id)
	if errors.Is(err, memoryd.ErrNotFound) || err == nil && !s.Created.Equal(kept.Session) {
		err = errGone()
	}
	if err != nil {
		return Appended{}, err
	}
	return kept.Appended, nil
}
