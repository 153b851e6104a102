package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memoryd"
	"memoryd/internal/access"
)

const (
	noteLongTermOff = "long_term_off"
	partSession     = "session"
	partLongTerm    = "long_term"

	// minTurn is the score below which even the best turn says nothing about the question.
	minTurn = 0.15
)

// Context answers what belongs before a model request: the session's window and what long-term memory knows. Both
// are looked up side by side; one that fails or is late is named in Degraded, and the other is answered all the same.
// What is wrong with the request itself is an error.
func (r *Reader) Context(ctx context.Context, g access.Grant, req ContextRequest) (Context, error) {
	start := r.o.Now()
	a, err := r.ask(g, req)
	if err != nil {
		return Context{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var session *arm[window]
	var longTerm *arm[recalled]
	heads := make(chan head, 1)
	if a.session != "" {
		session, err = launch(ctx, r, r.o.SessionTimeout, func(ctx context.Context, me *arm[window]) (window, error) {
			defer close(heads)
			return r.readSession(ctx, me, a, heads)
		})
		if err != nil {
			return Context{}, err
		}
	}
	if a.longTerm {
		longTerm, err = launch(ctx, r, r.o.LongTermTimeout, func(ctx context.Context, me *arm[recalled]) (recalled, error) {
			return r.readLongTerm(ctx, me, a, session, heads)
		})
		if err != nil {
			return Context{}, err
		}
	}
	out, err := r.collect(ctx, a, session, longTerm)
	if err != nil {
		return Context{}, err
	}
	r.uses.note(a.g, a.session, r.o.Now(), out.UserProfile.Items, out.Group.Items, out.Agent.Items)
	out.TookMS.Total = millis(r.o.Now().Sub(start))
	return out, nil
}

// collect waits for both arms and puts the answer together.
func (r *Reader) collect(ctx context.Context, a ask, session *arm[window], longTerm *arm[recalled]) (Context, error) {
	out := emptyContext()
	out.Notes = notes(a.g.Notes(), a.notes)
	if session != nil {
		got := session.wait(r)
		out.TookMS.Session = millis(got.took)
		if err := r.settle(ctx, &out, partSession, got.err); err != nil {
			return Context{}, err
		}
		if got.err == nil {
			out.Messages, out.Summary, out.Tokens.Messages = got.value.messages, got.value.summary, got.value.tokens
			if out.Summary != nil {
				out.Tokens.Summary = out.Summary.Tokens
			}
			out.Notes = notes(out.Notes, got.value.notes)
		}
	}
	if longTerm != nil {
		got := longTerm.wait(r)
		out.TookMS.LongTerm = millis(got.took)
		if err := r.settle(ctx, &out, partLongTerm, got.err); err != nil {
			return Context{}, err
		}
		if got.err == nil {
			out.Notes = notes(out.Notes, got.value.notes)
			out.Degraded = append(out.Degraded, got.value.found.Degraded...)
			r.pack(&out, got.value.found, a.memoryTokens)
		}
	}
	return out, nil
}

// settle says what an arm's error means: nothing, an entry in Degraded, or the end of the request.
func (r *Reader) settle(ctx context.Context, out *Context, part string, err error) error {
	switch {
	case err == nil:
		return nil
	case refusal(err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("recall: context: %w", ctx.Err())
	}
	out.Degraded = append(out.Degraded, r.missing(ctx, part, err))
	return nil
}

func emptyContext() Context {
	none := Part{Items: []memoryd.Hit{}}
	return Context{
		Messages:    []memoryd.Message{},
		UserProfile: none,
		Group:       none,
		Agent:       none,
		Turns:       none,
		Degraded:    []memoryd.Degraded{},
	}
}

// readSession is the session arm. The head goes out as soon as it is known, since the long-term arm needs it too.
func (r *Reader) readSession(ctx context.Context, me *arm[window], a ask, heads chan<- head) (window, error) {
	release, err := me.slot(r)
	if err != nil {
		return window{}, err
	}
	defer release()
	var s memoryd.Session
	var list []memoryd.Message
	err = r.o.Store.Read(ctx, func(tx memoryd.Tx) error {
		var there bool
		var err error
		if s, there, err = lookUp(tx, a.g, a.session); err != nil {
			return err
		}
		if there && a.group != "" && a.group != s.Group {
			return memoryd.BadField("group", "is not the session's")
		}
		select {
		case heads <- head{session: s, there: there}:
		default: // a store may run this twice, and the head is out already
		}
		if !there || a.rounds == 0 {
			return nil
		}
		list, err = tx.Messages.Newest(s, 0, a.rounds*r.o.MessagesPerRound)
		return err
	})
	if err != nil {
		return window{}, fmt.Errorf("recall: session: %w", err)
	}
	return r.frameOf(a.windowTokens).cut(list, s.Summary), nil
}

// head is what the session's row says, if there is one.
type head struct {
	session memoryd.Session
	there   bool
}

// recalled is what the long-term arm brings.
type recalled struct {
	found memoryd.Found
	notes []string
}

// readLongTerm is the long-term arm. It waits for the session's head without holding a slot, so that arms which wait
// never keep out those that they wait for.
func (r *Reader) readLongTerm(ctx context.Context, me *arm[recalled], a ask, session *arm[window], heads <-chan head) (recalled, error) {
	if session != nil {
		var err error
		if a, err = a.settledBy(await(ctx, session.ctx, heads)); err != nil {
			return recalled{}, err
		}
	}
	at := unnamed(a.g, a.group, a.dm)
	if r.o.TurnItems == 0 {
		a.include = slices.DeleteFunc(slices.Clone(a.include), func(w string) bool { return w == IncludeTurn })
	}
	q, ok := at.query(a.g, r.words(a.query, a.more), a.include)
	if !ok {
		return recalled{notes: at.notes}, nil
	}
	release, err := me.slot(r)
	if err != nil {
		return recalled{}, err
	}
	defer release()
	q.NotSession = a.session
	q.MinTrust, q.NotSensitive = a.minTrust, a.sensitiveOut()
	q.MinScore = r.o.Floor
	q.PerScope, q.TurnMax = r.o.ItemsPerScope, r.o.TurnItems
	q.Now = r.o.Now()
	if q.Memories {
		q.Preferences = r.o.Preferences
	}
	found, err := r.searchContext(ctx, q)
	if err != nil {
		return recalled{}, fmt.Errorf("recall: long-term: %w", err)
	}
	return recalled{found: found, notes: at.notes}, nil
}

// await is the session's head, nil when it did not come in time.
func await(ctx, session context.Context, heads <-chan head) *head {
	select {
	case h, ok := <-heads:
		if ok {
			return &h
		}
		return nil
	case <-session.Done():
	case <-ctx.Done():
	}
	select {
	case h, ok := <-heads:
		if ok {
			return &h
		}
	default:
	}
	return nil
}

// searchContext asks the provider, a second time without low trust where low-trust memories of global or dm, which a
// context never shows, filled their scope's share and may have kept better ones out.
func (r *Reader) searchContext(ctx context.Context, q memoryd.Query) (memoryd.Found, error) {
	found, err := r.o.Provider.Search(ctx, q)
	if err != nil {
		return memoryd.Found{}, err
	}
	found.Hits, found.Preferences = permitted(q, found.Hits), permitted(q, found.Preferences)
	if !crowded(found.Hits, q.PerScope) {
		return found, nil
	}
	q.Scopes = q.Scopes.Within(memoryd.ScopesOf(memoryd.Global, memoryd.DM))
	q.Turns, q.TurnScopes, q.Preferences = false, memoryd.Scopes{}, 0
	q.MinTrust = memoryd.Medium
	more, err := r.o.Provider.Search(ctx, q)
	if err != nil {
		return memoryd.Found{}, err
	}
	hits := permitted(q, more.Hits)
	for _, h := range found.Hits {
		if h.Memory == nil || !profiled(h.Memory.Scope) {
			hits = append(hits, h)
		}
	}
	found.Hits = hits
	found.Degraded = append(found.Degraded, more.Degraded...)
	return found, nil
}

// crowded says whether low trust took part of a full share of global or dm.
func crowded(hits []memoryd.Hit, share int) bool {
	all, low := map[memoryd.Scope]int{}, map[memoryd.Scope]int{}
	for _, h := range hits {
		if m := h.Memory; m != nil && profiled(m.Scope) {
			all[m.Scope]++
			if m.Trust.Rank() <= memoryd.Low.Rank() {
				low[m.Scope]++
			}
		}
	}
	for s, n := range low {
		if n > 0 && all[s] >= share {
			return true
		}
	}
	return false
}

// profiled says whether memories of the scope stand in the user's profile.
func profiled(s memoryd.Scope) bool { return s == memoryd.Global || s == memoryd.DM }

// errNoHead says that it is not known whose session it is.
var errNoHead = errors.New("the session's owner could not be read, and the request names none")

// settledBy is the request with what the session's head adds. Without a head (its arm failed) a private reading is
// never taken for granted: no dm unless asked for, nothing sensitive, and nobody's memory when the user is not named.
func (a ask) settledBy(h *head) (ask, error) {
	if h == nil {
		if a.g.User() == "" {
			return a, errNoHead
		}
		no := false
		if a.dm == nil {
			a.dm = &no
		}
		a.unplaced = true
		return a, nil
	}
	if !h.there {
		return a, nil
	}
	if a.group == "" {
		a.group = h.session.Group
	}
	if a.g.User() == "" {
		g, err := a.g.ForUser(h.session.User)
		if err != nil {
			return a, err
		}
		a.g = g
	}
	return a, nil
}

// sensitiveOut says whether personal data is left out: as asked, else in groups.
func (a ask) sensitiveOut() bool {
	if a.filterSensitive != nil {
		return *a.filterSensitive
	}
	return a.group != "" || a.unplaced
}
