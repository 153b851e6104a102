package recall

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"memoryd"
	"memoryd/internal/access"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// searching is a provider that is told what to do.
type searching func(context.Context, memoryd.Query) (memoryd.Found, error)

func (f searching) Search(ctx context.Context, q memoryd.Query) (memoryd.Found, error) {
	return f(ctx, q)
}

// holding is a store that holds one session and is told what to do before it answers.
type holding struct {
	before  func(context.Context) error
	session memoryd.Session
	list    []memoryd.Message
	memoryd.Sessions
	memoryd.Messages
}

func (h holding) Read(ctx context.Context, f func(memoryd.Tx) error) error {
	if h.before != nil {
		if err := h.before(ctx); err != nil {
			return err
		}
	}
	return f(memoryd.Tx{Sessions: h, Messages: h, Agents: noAgents{}})
}

// noAgents knows no agent but those of the configuration file.
type noAgents struct{ memoryd.Agents }

func (noAgents) Get(string, string) ([]byte, error) { return nil, memoryd.ErrNotFound }

func (h holding) Write(context.Context, func(memoryd.Tx) error) error {
	return errors.New("reading writes")
}

func (h holding) Get(o memoryd.Owner, s memoryd.Scopes, id string) (memoryd.Session, error) {
	x := h.session
	if id != x.ID || o.Tenant != x.Tenant || o.User != "" && x.Group == "" && o.User != x.User || !s.Has(x.Scope()) {
		return memoryd.Session{}, memoryd.ErrNotFound
	}
	return x, nil
}

func (h holding) Newest(_ memoryd.Session, _ int64, n int) ([]memoryd.Message, error) {
	return h.list[max(0, len(h.list)-n):], nil
}

// amys is a store with amy's session s.
func amys(t testing.TB, before func(context.Context) error) holding {
	s := memoryd.Session{Tenant: "default", ID: "s", User: "amy", State: "open"}
	return holding{before: before, session: s, list: talk(t, "u: one\na: two\nu: three")}
}

func knows(text string) searching {
	return func(_ context.Context, q memoryd.Query) (memoryd.Found, error) {
		h := fact("m", memoryd.Global, memoryd.High, text)
		h.Memory.User = q.Owner.User
		return memoryd.Found{Hits: []memoryd.Hit{h}}, nil
	}
}

// grantOf is what the local operator may do for a user and an agent. The agent "quiet" has its own settings and no
// long-term part.
func grantOf(t testing.TB, ask access.Ask) access.Grant {
	t.Helper()
	yes, no, rounds, window, memory := true, false, 1, 500, 200
	acc, err := access.New(access.Options{
		Store: holding{}, Now: time.Now, Mode: access.Off, Loopback: true,
		Named: map[string]access.AgentConfig{
			"quiet":  {Read: []string{"global"}, LongTerm: &no},
			"closed": {Read: []string{"none"}, LongTerm: &yes},
			"blind":  {Read: []string{"dm"}, LongTerm: &yes},
			"writer": {Read: []string{"global", "none"}, LongTerm: &yes},
			"set": {Read: []string{"global", "dm", "group:*"}, LongTerm: &yes, ContextRounds: &rounds, WindowTokens: &window,
				MemoryTokens: &memory, MinTrust: memoryd.Medium, FilterSensitive: "true"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := acc.Grant(t.Context(), acc.LocalIdentity(), ask)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func reader(t testing.TB, s memoryd.Store, p memoryd.Provider, more func(*Options)) *Reader {
	o := Options{Store: s, Provider: p, Count: chars, Now: time.Now, MemoryTokens: 1000,
		SummaryTokens: 2000, ProfileShare: 0.6, TurnItems: 100, Preferences: 6, QueryContext: 200, Floor: 0.3}
	if more != nil {
		more(&o)
	}
	r := New(o)
	t.Cleanup(r.Close)
	return r
}

// lacks says whether the answer names a part as missing for that reason.
func lacks(out Context, part, reason string) bool {
	return slices.ContainsFunc(out.Degraded, func(d memoryd.Degraded) bool { return d.Part == part && d.Reason == reason })
}

func TestArmsWorkSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(d time.Duration) func(context.Context) error {
			return func(context.Context) error { time.Sleep(d); return nil }
		}
		find := knows("likes tea")
		r := reader(t, amys(t, nil), searching(func(ctx context.Context, q memoryd.Query) (memoryd.Found, error) {
			time.Sleep(700 * time.Millisecond)
			return find(ctx, q)
		}), nil)
		store := amys(t, wait(200*time.Millisecond))
		r.o.Store = store
		start := time.Now()
		out, err := r.Context(t.Context(), grantOf(t, access.Ask{User: "amy"}), ContextRequest{Query: "x"})
		if err != nil || len(out.Degraded) > 0 || time.Since(start) != 700*time.Millisecond {
			t.Fatalf("%v after %v: %+v", err, time.Since(start), out.Degraded)
		}
		out, err = r.Context(t.Context(), grantOf(t, access.Ask{User: "amy"}), ContextRequest{Query: "x", Session: "s"})
		if err != nil || !lacks(out, "long_term", "timeout") || len(out.Messages) != 3 || out.TookMS.Total != 800 || out.TookMS.Session != 200 {
			t.Fatalf("%v %+v", err, out)
		}
	})
}

func TestArmThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func(context.Context) error { <-release; return nil }
		g := grantOf(t, access.Ask{User: "amy"})
		start := time.Now()

		r := reader(t, amys(t, hang), knows("likes tea"), nil)
		out, err := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s"})
		if err != nil || time.Since(start) != 300*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		if !lacks(out, "session", "timeout") || len(out.Degraded) != 1 || len(out.UserProfile.Items) != 1 || len(out.Messages) != 0 {
			t.Errorf("session hangs: %+v", out)
		}

		start = time.Now()
		r2 := reader(t, amys(t, nil), searching(func(ctx context.Context, _ memoryd.Query) (memoryd.Found, error) {
			return memoryd.Found{}, hang(ctx)
		}), nil)
		out, err = r2.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s"})
		if err != nil || time.Since(start) != 800*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		if !lacks(out, "long_term", "timeout") || len(out.Degraded) != 1 || len(out.Messages) != 3 || out.Rendered != "" {
			t.Errorf("long-term hangs: %+v", out)
		}
		close(release)
	})
}

func TestFailedArmsAreNamedAndLogged(t *testing.T) {
	boom := errors.New("disk on fire")
	var log bytes.Buffer
	r := reader(t, amys(t, func(context.Context) error { return boom }), searching(func(context.Context, memoryd.Query) (memoryd.Found, error) {
		panic("no index")
	}), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	out, err := r.Context(t.Context(), grantOf(t, access.Ask{User: "amy"}), ContextRequest{Query: "x", Session: "s"})
	if err != nil || !lacks(out, "session", "error") || !lacks(out, "long_term", "error") {
		t.Fatalf("%v %+v", err, out)
	}
	for _, want := range []string{"disk on fire", "no index"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, log.String())
		}
	}
	if out.Messages == nil || out.Turns.Items == nil {
		t.Error("empty parts are null")
	}
}

func TestFullPoolCountsAgainstTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := reader(t, amys(t, nil), searching(func(context.Context, memoryd.Query) (memoryd.Found, error) {
			<-release
			return memoryd.Found{}, nil
		}), func(o *Options) { o.Workers = 1 })
		g := grantOf(t, access.Ask{User: "amy"})
		if out, err := r.Context(t.Context(), g, ContextRequest{Query: "x"}); err != nil || !lacks(out, "long_term", "timeout") {
			t.Fatalf("%v %+v", err, out)
		}
		start := time.Now()
		out, err := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s"})
		if err != nil || !lacks(out, "session", "overloaded") || !lacks(out, "long_term", "overloaded") || time.Since(start) != 800*time.Millisecond {
			t.Fatalf("%v after %v: %+v", err, time.Since(start), out)
		}
		close(release)
		synctest.Wait()
		if out, err := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s"}); err != nil || len(out.Degraded) > 0 {
			t.Fatalf("the slot did not come back: %v %+v", err, out)
		}
	})
}

// TestWaitingArmsHoldNoSlot would hang until the deadlines if the long-term arm took the only slot first.
func TestWaitingArmsHoldNoSlot(t *testing.T) {
	r := reader(t, amys(t, nil), knows("likes tea"), func(o *Options) { o.Workers = 1 })
	for range 50 {
		out, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x", Session: "s"})
		if err != nil || len(out.Degraded) > 0 || len(out.UserProfile.Items) != 1 {
			t.Fatalf("%v %+v", err, out)
		}
	}
}

func TestFaultsOfTheRequestFailItWhole(t *testing.T) {
	minus, much, many := -1, 1_000_001, 1001
	for name, c := range map[string]struct {
		ask  access.Ask
		req  ContextRequest
		want error
	}{
		"another's session":    {access.Ask{User: "bob"}, ContextRequest{Query: "x", Session: "s"}, memoryd.ErrNotFound},
		"another agent":        {access.Ask{User: "amy", Agent: "z"}, ContextRequest{Query: "x", Session: "s"}, memoryd.ErrNotFound},
		"another group":        {access.Ask{}, ContextRequest{Query: "x", Session: "s", Group: "g"}, memoryd.BadField("group", "")},
		"a group that is none": {access.Ask{}, ContextRequest{Query: "x", Group: "*"}, memoryd.BadField("group", "")},
		"no query":             {access.Ask{}, ContextRequest{}, memoryd.BadField("query", "")},
		"a long query":         {access.Ask{}, ContextRequest{Query: strings.Repeat("长", 8193)}, memoryd.BadFieldAs("too-long", "query", "")},
		"a long context":       {access.Ask{}, ContextRequest{Query: "x", Context: strings.Repeat("长", 8193)}, memoryd.BadFieldAs("too-long", "context", "")},
		"rounds":               {access.Ask{}, ContextRequest{Query: "x", Rounds: &many}, memoryd.BadField("rounds", "")},
		"window":               {access.Ask{}, ContextRequest{Query: "x", WindowTokens: &much}, memoryd.BadField("window_tokens", "")},
		"memory":               {access.Ask{}, ContextRequest{Query: "x", MemoryTokens: &minus}, memoryd.BadField("memory_tokens", "")},
		"include":              {access.Ask{}, ContextRequest{Query: "x", Include: []string{"all"}}, memoryd.BadField("include", "")},
		"trust":                {access.Ask{}, ContextRequest{Query: "x", MinTrust: "some"}, memoryd.BadField("min_trust", "")},
		"session":              {access.Ask{}, ContextRequest{Query: "x", Session: "agent:"}, memoryd.BadField("session", "")},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, amys(t, nil), knows("x"), nil)
			_, err := r.Context(t.Context(), grantOf(t, c.ask), c.req)
			var want, got *memoryd.Error
			if errors.As(c.want, &want); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if errors.As(err, &got); len(want.Fields) > 0 && got.Fields[0].Path != want.Fields[0].Path {
				t.Errorf("got %v, want %v", got.Fields, want.Fields)
			}
		})
	}
}

func TestDeniedByTheProviderIsNotDegraded(t *testing.T) {
	r := reader(t, holding{}, searching(func(context.Context, memoryd.Query) (memoryd.Found, error) {
		return memoryd.Found{}, memoryd.Errorf(memoryd.Denied, "scope-denied", "no")
	}), nil)
	if _, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x"}); memoryd.CodeOf(err) != memoryd.Denied {
		t.Errorf("got %v", err)
	}
}

func TestCallerThatLeftGetsNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := reader(t, holding{}, searching(func(ctx context.Context, _ memoryd.Query) (memoryd.Found, error) {
		cancel()
		<-ctx.Done()
		return memoryd.Found{}, ctx.Err()
	}), nil)
	if _, err := r.Context(ctx, grantOf(t, access.Ask{}), ContextRequest{Query: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// twice is a store that runs what it reads a second time, as one may that has to begin again.
type twice struct{ memoryd.Store }

func (s twice) Read(ctx context.Context, f func(memoryd.Tx) error) error {
	return s.Store.Read(ctx, func(tx memoryd.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return f(tx)
	})
}

func TestReadsMayRunTwice(t *testing.T) {
	s := open(t)
	write(t, s, func(tx memoryd.Tx) error { return tx.Memories.Insert(kept("m", "amy", memoryd.Global, "x")) })
	converse(t, s, memoryd.Session{ID: "s", User: "amy"}, talk(t, "u: one"))
	r := reader(t, twice{s}, &asking{}, func(o *Options) { o.SessionTimeout = time.Minute })
	g, no := grantOf(t, access.Ask{User: "amy"}), false
	out, err := r.Context(t.Context(), g, ContextRequest{Query: "x", Session: "s", LongTerm: &no})
	if err != nil || len(out.Degraded) > 0 || len(out.Messages) != 1 {
		t.Errorf("%v %+v", err, out)
	}
	list, err1 := r.Memories(t.Context(), g, ListRequest{})
	heads, err2 := r.Sessions(t.Context(), g, SessionsRequest{})
	said, err3 := r.Messages(t.Context(), g, "s", MessagesRequest{})
	if err := errors.Join(err1, err2, err3); err != nil || len(list.Items) != 1 || len(heads.Items) != 1 || len(said.Items) != 1 {
		t.Errorf("%v: %d memories, %d sessions, %d messages", err, len(list.Items), len(heads.Items), len(said.Items))
	}
}

func TestClosedReaderRefuses(t *testing.T) {
	r := reader(t, holding{}, knows("x"), nil)
	r.Close()
	if _, err := r.Context(t.Context(), grantOf(t, access.Ask{}), ContextRequest{Query: "x"}); memoryd.CodeOf(err) != memoryd.Unavailable {
		t.Errorf("got %v", err)
	}
}
