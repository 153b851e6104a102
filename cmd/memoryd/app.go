package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

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
	a := &app{config: c, loopback: loopback, log: log, store: store}
	a.writer = remember.New(remember.Options{
		Store: store, Guard: guard.Cleaner{}, Count: count, Fold: index.Fold, Now: time.Now, NewID: newID,
		Working: remember.Working{TTL: c.Sessions.Working.TTL, MaxValue: int(c.Sessions.Working.MaxValue), MaxKeys: c.Sessions.Working.MaxKeys},
	})
	a.provider = newProvider(c, store)
	a.reader = recall.New(a.recall(count))
	a.background()
	if a.schema, _, err = sqlstore.Status(ctx, storeOptions(c, log)); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.open(c.Agents); err != nil {
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

// open makes the front that these agents and policies ask for, and puts it in the place of the last one. All else stays
// as it was when the program started.
func (a *app) open(agents agentsConfig) error {
	c := a.config
	c.Agents = agents
	acc, err := access.New(c.access(a.store, a.loopback))
	if err != nil {
		return err
	}
	var s *server.Server
	if last := a.front.Load(); last != nil {
		s = last.server.With(acc, a.facts(c))
	} else {
		s = server.New(server.Options{
			Access: acc, Recall: a.reader, Remember: a.writer, Store: a.store.Ping, Log: a.log, Now: time.Now, NewID: newID, Version: release,
			Facts: a.facts(c), Rate: server.Rate{PerSecond: c.Auth.Rate.PerSecond, Burst: c.Auth.Rate.Burst},
			MaxBody: int64(c.HTTP.MaxBody), AllowedHosts: c.HTTP.AllowedHosts, AllowedOrigins: c.HTTP.AllowedOrigins,
		})
	}
	a.front.Store(&front{access: acc, server: s, serve: s.Handler()})
	return nil
}

// facts is what status tells while the agents of c are in force.
func (a *app) facts(c config) func(context.Context) server.Facts {
	version := configVersion(c)
	return func(context.Context) server.Facts {
		f := server.Facts{Schema: a.schema, Driver: c.Store.Driver, StoreBytes: a.store.Bytes(), Config: version}
		f.Index.Bytes, f.Index.Limit, f.Index.Partitions = a.provider.Size()
		return f
	}
}

// background runs what works beside the requests, until Close.
func (a *app) background() {
	var ctx context.Context
	ctx, a.halt = context.WithCancel(context.Background())
	a.ended.Go(func() {
		if err := a.reader.Run(ctx); err != nil {
			a.log.Warn("uses: the last counts are lost", "error", err)
		}
	})
	a.ended.Go(func() {
		a.writer.Run(ctx, func(err error) { a.log.Warn("sweep: the next one tries again", "error", err) })
	})
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
	o := sqlstore.Options{
		Driver: c.Store.Driver, Path: c.Store.DSN, MaxOpen: c.Store.MaxOpen, Manual: c.Store.Migrate == "manual", Log: log,
		EncryptionKey: c.Store.EncryptionKey,
	}
	if o.Path == "" {
		o.Path = filepath.Join(c.Data, "memoryd.db")
	}
	return o
}

func openStore(ctx context.Context, c config, log *slog.Logger) (*sqlstore.Store, error) {
	switch c.Store.Driver {
	case "sqlite":
		o := storeOptions(c, log)
		store, err := sqlstore.Open(ctx, o)
		if err != nil {
			return nil, storeError(o.Path, err)
		}
		return store, nil
	}
	return nil, fmt.Errorf("store.driver: %q is no backend", c.Store.Driver)
}

// storeError says where the store is and why it cannot be opened. Here the cause is for the owner's eyes, who could
// not look for it in a log.
func storeError(path string, err error) error {
	cause := strings.TrimPrefix(err.Error(), "sqlstore: ")
	var e *memoryd.Error
	if errors.As(err, &e) {
		cause = e.Detail
		if e.Err != nil {
			cause = e.Err.Error()
		}
	}
	return &failure{exitUnavailable, fmt.Errorf("the store %s cannot be opened: %s", plain(path), plain(cause))}
}

// newID is a UUIDv7. Its random source does not fail: crypto/rand ends the program instead.
func newID() string {
	return uuid.Must(uuid.NewV7()).String()
}
