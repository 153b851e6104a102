package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/tiktoken-go/tokenizer"

	"memoryd"
	"memoryd/internal/access"
	"memoryd/internal/guard"
	"memoryd/internal/index"
	"memoryd/internal/provider/builtin"
	"memoryd/internal/recall"
	"memoryd/internal/remember"
	"memoryd/internal/server"
	"memoryd/internal/sqlstore"
)

// app is the wired program without its listener.
type app struct {
	config   config
	loopback bool
	log      *slog.Logger
	store    *sqlstore.Store
	provider *builtin.Provider
	reader   *recall.Reader
	writer   *remember.Writer
	started  time.Time
	schema   int64
	front    atomic.Pointer[front]

	halt  context.CancelFunc // ends what runs in the background
	ended sync.WaitGroup
}

// front is what a reload of agents and policies replaces.
type front struct {
	access *access.Access
	server *server.Server
	serve  http.Handler
}

// build opens the store and wires everything to it. loopback says that the listener reaches this machine only.
func build(ctx context.Context, c config, loopback bool, log *slog.Logger) (*app, error) {
	count, err := counter(c.Sessions.Tokenizer)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	a := &app{config: c, loopback: loopback, log: log, store: store, started: time.Now()}
	a.writer = remember.New(remember.Options{
		Store: store, Guard: guard.Cleaner{}, Count: count, Fold: index.Fold, Now: time.Now, NewID: newID,
		Working: remember.Working{TTL: c.Sessions.Working.TTL, MaxValue: int(c.Sessions.Working.MaxValue), MaxKeys: c.Sessions.Working.MaxKeys},
	})
	a.sweep()
	a.provider = newProvider(c, store)
	a.reader = recall.New(a.recall(count))
	if a.schema, _, err = sqlstore.Status(ctx, storeOptions(c, log)); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.open(c); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *app) recall(count func(string) int) recall.Options {
	c := &a.config
	return recall.Options{
		Store: a.store, Provider: a.provider, Count: count, Now: time.Now, NewID: uuid.NewString, Log: a.log, Zone: c.zone,
		MessagesPerRound: c.Sessions.MessagesPerRound, WindowTokens: c.Sessions.WindowTokens,
		SummaryTokens: c.Sessions.Summary.Tokens, Alternation: c.Sessions.Alternation,
		Workers: c.Context.Workers, SessionTimeout: c.Context.SessionTimeout, LongTermTimeout: c.Context.LongTermTimeout,
		MemoryTokens: c.Context.MemoryTokens, ProfileShare: c.Context.UserProfileShare, ItemsPerScope: c.Context.ItemsPerScope,
		TurnItems: c.Context.TurnItems, Preferences: c.Context.Preferences, ItemChars: c.Context.ItemChars,
		QueryContext: c.Context.QueryContext, Include: c.Context.Include, Floor: c.Search.Floor, TopK: c.Search.TopK,
	}
}

func newProvider(c config, store memoryd.Store) *builtin.Provider {
	t := c.Search.TrustFactor
	return builtin.New(builtin.Options{
		Store: store, Bytes: int64(c.Index.Memory), Zone: c.zone,
		TrustFactor: map[memoryd.Trust]float64{memoryd.High: t.High, memoryd.Medium: t.Medium, memoryd.Low: t.Low},
	})
}

// open makes the front that the configuration's agents and policies ask for, and puts it in the place of the last one.
func (a *app) open(c config) error {
	acc, err := access.New(c.access(a.store, a.loopback))
	if err != nil {
		return err
	}
	s := server.New(server.Options{
		Access: acc, Recall: a.reader, Remember: a.writer, Store: a.store.Ping, Log: a.log, Now: time.Now, NewID: newID, Version: release,
		Started: a.started, Facts: a.facts(c), Rate: server.Rate{PerSecond: a.config.Auth.Rate.PerSecond, Burst: a.config.Auth.Rate.Burst},
		MaxBody: int64(a.config.HTTP.MaxBody), AllowedHosts: a.config.HTTP.AllowedHosts, AllowedOrigins: a.config.HTTP.AllowedOrigins,
	})
	a.front.Store(&front{access: acc, server: s, serve: s.Handler()})
	return nil
}

// sweep has the writer remove what expires, until Close.
func (a *app) sweep() {
	var ctx context.Context
	ctx, a.halt = context.WithCancel(context.Background())
	a.ended.Go(func() {
		a.writer.Run(ctx, func(err error) { a.log.Warn("sweep: the next one tries again", "error", err) })
	})
}

// facts is what status tells while the agents of c are in force.
func (a *app) facts(c config) func(context.Context) server.Facts {
	inForce := a.config
	inForce.Agents = c.Agents
	version := configVersion(inForce)
	return func(context.Context) server.Facts {
		f := server.Facts{Schema: a.schema, Driver: c.Store.Driver, StoreBytes: a.store.Bytes(), Config: version}
		f.Index.Bytes, f.Index.Limit, f.Index.Partitions = a.provider.Size()
		return f
	}
}

// Handler answers every request.
func (a *app) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.front.Load().serve.ServeHTTP(w, r) })
}

// Drain makes the program say that it is not ready.
func (a *app) Drain() { a.front.Load().server.Drain() }

// Close waits for what still runs and closes the store. Nothing may be served any more.
func (a *app) Close() error {
	a.halt()
	a.ended.Wait()
	a.reader.Close()
	a.provider.Close()
	if err := a.store.Close(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// storeOptions is where the rows are.
func storeOptions(c config, log *slog.Logger) sqlstore.Options {
	o := sqlstore.Options{Driver: c.Store.Driver, Path: c.Store.DSN, MaxOpen: c.Store.MaxOpen, Manual: c.Store.Migrate == "manual", Log: log}
	if o.Path == "" {
		o.Path = filepath.Join(c.Data, "memoryd.db")
	}
	return o
}

func openStore(ctx context.Context, c config, log *slog.Logger) (*sqlstore.Store, error) {
	switch c.Store.Driver {
	case "sqlite":
		store, err := sqlstore.Open(ctx, storeOptions(c, log))
		if err != nil {
			return nil, plainError(fmt.Errorf("store: %w", err))
		}
		return store, nil
	}
	return nil, fmt.Errorf("store.driver: %q is no backend", c.Store.Driver)
}

// counter counts tokens the way the named encoding does.
func counter(name string) (func(string) int, error) {
	encoding := tokenizer.Cl100kBase
	if name == "o200k" {
		encoding = tokenizer.O200kBase
	}
	codec, err := tokenizer.Get(encoding)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return func(text string) int {
		n, err := codec.Count(text)
		if err != nil {
			// The splitting expression gave up. An estimate that is too high cannot overflow anybody's window.
			return len(text)
		}
		return n
	}, nil
}

// newID is a UUIDv7. Its random source does not fail: crypto/rand ends the program instead.
func newID() string {
	return uuid.Must(uuid.NewV7()).String()
}
