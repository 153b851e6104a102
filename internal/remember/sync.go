package remember

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"memoryd"
	"memoryd/internal/access"
)

// Modes of Append.
const (
	ModeAppend = "append" // also ""
	ModeSync   = "sync"
)

// history is the part of a session that a resent history is compared with.
type history struct {
	created time.Time // of the session, with last: which state of it this is
	last    int64
	list    []heard
	whole   bool // the list begins with the session's first message
}

// heard is a message as far as comparing goes.
type heard struct {
	token string
	id    string
	seq   int64
}

func (h *history) of(s memoryd.Session) bool {
	return h != nil && h.created.Equal(s.Created) && h.last == s.LastSeq
}

func (h *history) tokens() []string {
	out := make([]string, len(h.list))
	for i, m := range h.list {
		out[i] = m.token
	}
	return out
}

const (
	maxHistory  = 4 * maxMessages // stored messages that are looked at, the newest
	historyPage = 500
)

// resent is a history that a client sends whole, as far as comparing goes.
type resent struct {
	batch *batch
	own   map[string]bool // ids that the client gave
	sent  []string        // tokens
	at    []int           // where in batch.items each token's message is
}

// known answers a function that, within the write, says which messages need not be stored.
func (w *Writer) known(ctx context.Context, g access.Grant, id, mode string, b *batch) (func(memoryd.Tx, memoryd.Session) (map[int]AppendedItem, error), error) {
	nothing := func(memoryd.Tx, memoryd.Session) (map[int]AppendedItem, error) { return nil, nil }
	if mode != ModeSync {
		return nothing, nil
	}
	r := b.resent()
	if r == nil {
		return nothing, nil
	}
	h, err := r.ahead(ctx, w, g, id)
	if err != nil {
		return nil, err
	}
	return func(tx memoryd.Tx, s memoryd.Session) (map[int]AppendedItem, error) {
		if s.LastSeq == 0 {
			return nil, nil
		}
		if !h.of(s) {
			if h, err = r.load(tx, s); err != nil {
				return nil, err
			}
		}
		return r.settle(h), nil
	}, nil
}

// resent is nil where there is nothing to compare: every message that carries the client's id is known by that.
func (b *batch) resent() *resent {
	r := &resent{batch: b, own: map[string]bool{}}
	bare := false
	for i, m := range b.items {
		if m.dropped {
			continue
		}
		if bare = bare || !m.own; m.own {
			r.own[m.ID] = true
		}
		r.at = append(r.at, i)
	}
	if !bare {
		return nil
	}
	for _, i := range r.at {
		r.sent = append(r.sent, r.token(b.items[i].Message, b.items[i].own))
	}
	return r
}

// token is equal for messages that are the same: by the client's id where it gave one, else by role and content.
func (r *resent) token(m memoryd.Message, own bool) string {
	if own {
		return "id " + m.ID
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(m.Role), canonical(m.Content), canonical(m.ToolCalls), []byte(m.ToolCallID)} {
		fmt.Fprintf(h, "%d ", len(part))
		h.Write(part)
	}
	return string(h.Sum(nil))
}

// canonical is equal for JSON that says the same, however it is spelled.
func canonical(raw json.RawMessage) []byte {
	v, err := decode(raw)
	if err != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// ahead reads the history before the write, so that other writers need not wait for it. nil where there is none.
func (r *resent) ahead(ctx context.Context, w *Writer, g access.Grant, id string) (h *history, err error) {
	err = w.o.Store.Read(ctx, func(tx memoryd.Tx) error {
		s, exists, err := lookUp(tx, g, id)
		if err != nil || !exists {
			h = nil
			return err
		}
		h, err = r.load(tx, s)
		return err
	})
	return h, err
}

// load reads as much of the session as it takes to tell where the sent messages belong: what they can overlap with,
// and more of it only when that does not decide.
func (r *resent) load(tx memoryd.Tx, s memoryd.Session) (*history, error) {
	h := &history{created: s.Created, last: s.LastSeq}
	if err := r.extend(tx, s, h, len(r.sent)); err != nil || h.whole {
		return h, err
	}
	first, err := tx.Messages.Newest(s, 2, 1)
	if err != nil {
		return nil, err
	}
	begins := len(first) > 0 && r.token(first[0], r.own[first[0].ID]) == r.sent[0]
	if n, longest, _ := overlap(h.tokens(), r.sent); !begins && n == longest && 2*n >= len(r.sent) {
		return h, nil
	}
	return h, r.extend(tx, s, h, maxHistory)
}

// extend reads backwards until the history holds n messages.
func (r *resent) extend(tx memoryd.Tx, s memoryd.Session, h *history, n int) error {
	for h.whole = s.LastSeq == 0; !h.whole && len(h.list) < n; {
		before := int64(0)
		if len(h.list) > 0 {
			before = h.list[0].seq
		}
		page, err := tx.Messages.Newest(s, before, min(historyPage, n-len(h.list)))
		if err != nil {
			return err
		}
		older := make([]heard, len(page), len(page)+len(h.list))
		for i, m := range page {
			older[i] = heard{r.token(m, r.own[m.ID]), m.ID, m.Seq}
		}
		h.list = append(older, h.list...)
		h.whole = len(page) == 0 || page[0].Seq == 1
	}
	return nil
}

// settle answers what becomes of those messages that are not to be stored, by their place in the batch. Messages with
// a client's id are left to that id.
func (r *resent) settle(h *history) map[int]AppendedItem {
	out := map[int]AppendedItem{}
	for i, j := range align(h.tokens(), r.sent, h.whole) {
		switch at := r.at[i]; {
		case r.batch.items[at].own:
		case j < 0:
			out[at] = AppendedItem{Dropped: true}
		default:
			m := h.list[j]
			out[at] = AppendedItem{ID: m.id, Seq: &m.seq, Duplicate: true}
		}
	}
	return out
}

// bridge is how many messages in a row must be the session's last ones to count as the same in spite of a change
// before them: fewer may be alike by chance, and then a message would be lost.
const bridge = 3

// align says which stored message each sent one is, up to the first that is new; -1 stands for one that takes the
// place of others and is not stored. whole says that the stored ones begin with the session's first.
//
// A history that begins as the session does is followed from there, past stored messages that it no longer holds: it
// may have been edited. One that begins later was cut at its front: its longest beginning that is the session's end is
// known, and behind it all is new, unless more of its beginning
// stands elsewhere. One that begins with what the session never held (a summary, another system
// message) is followed from its first message that the session holds. A change before at least three messages that
// are the session's last ones is passed over.
func align(stored, sent []string, whole bool) []int {
	if len(stored) == 0 || len(sent) == 0 {
		return nil
	}
	if whole && stored[0] == sent[0] {
		return rejoin(stored, sent, follow(stored, sent, nil))
	}
	n, longest, end := overlap(stored, sent)
	switch {
	case n > 0 && n == longest:
		return consecutive(len(stored)-n, n)
	case n > 0:
		// More of it stands elsewhere, so that what it shares with the end is chance.
		return rejoin(stored, sent, follow(stored, sent, consecutive(end-longest, longest)))
	}
	held := make(map[string]bool, len(stored))
	for _, s := range stored {
		held[s] = true
	}
	front := slices.IndexFunc(sent, func(s string) bool { return held[s] })
	if front < 0 {
		return nil
	}
	return rejoin(stored, sent, follow(stored, sent, slices.Repeat([]int{-1}, front)))
}

func consecutive(from, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = from + i
	}
	return at
}

// follow goes on from where the first sent messages are, and finds the next ones in the stored, in order, until one is
// not there.
func follow(stored, sent []string, at []int) []int {
	next := 0
	if n := len(at); n > 0 {
		next = at[n-1] + 1
	}
	for _, s := range sent[len(at):] {
		i := slices.Index(stored[next:], s)
		if i < 0 {
			break
		}
		at = append(at, next+i)
		next += i + 1
	}
	return at
}

// rejoin looks behind the first new message for the session's last ones.
func rejoin(stored, sent []string, at []int) []int {
	from := 0
	if n := len(at); n > 0 {
		from = at[n-1] + 1
	}
	best, end := 0, 0
	for j := len(at) + 1; j <= len(sent); j++ {
		n := 0
		for n < len(stored)-from && n < j-len(at)-1 && stored[len(stored)-1-n] == sent[j-1-n] {
			n++
		}
		if n > best {
			best, end = n, j
		}
	}
	if best < bridge {
		return at
	}
	for len(at) < end-best {
		at = append(at, -1)
	}
	for i := range best {
		at = append(at, len(stored)-best+i)
	}
	return at
}

// overlap is the length n of the longest beginning of sent that is the end of stored, and the length of the longest
// that stands anywhere in it, with where that ends first.
func overlap(stored, sent []string) (n, longest, end int) {
	// Knuth, Morris and Pratt: how much of a beginning is also its own end, so that no message is looked at twice.
	back := make([]int, len(sent))
	for i, n := 1, 0; i < len(sent); i++ {
		for n > 0 && sent[i] != sent[n] {
			n = back[n-1]
		}
		if sent[i] == sent[n] {
			n++
		}
		back[i] = n
	}
	for i, s := range stored {
		if n == len(sent) {
			n = back[n-1]
		}
		for n > 0 && s != sent[n] {
			n = back[n-1]
		}
		if s == sent[n] {
			n++
		}
		if n > longest {
			longest, end = n, i+1
		}
	}
	return n, longest, end
}
