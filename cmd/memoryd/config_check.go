package main

import (
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zone names work where the machine has no zone files

	"memoryd"
	"memoryd/internal/recall"
	"memoryd/internal/remember"
	"memoryd/internal/sqlstore"
)

// check refuses values that cannot work, each by its key.
func (r *reader) check(c *config) {
	r.checkProcess(c)
	r.checkSessions(&c.Sessions)
	r.checkContext(&c.Context)
	r.checkSearch(c)
	r.checkAgents(c)
}

func (r *reader) checkProcess(c *config) {
	_, port, err := net.SplitHostPort(c.Listen)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		r.fail("listen", "takes an address with a port, such as 127.0.0.1:7788")
	}
	if strings.HasPrefix(c.Data, "~") {
		r.fail("data", "~ is not expanded; write the whole path")
	}
	if c.zone, err = time.LoadLocation(c.Timezone); err != nil || c.Timezone == "" {
		r.fail("timezone", "takes a zone's name, such as Local, UTC or Asia/Shanghai")
	}
	r.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	if err := c.level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		c.level = slog.LevelInfo
	}
	r.oneOf("log.format", c.Log.Format, "text", "json")
	for key, d := range map[string]time.Duration{
		"http.read_timeout": c.HTTP.ReadTimeout, "http.write_timeout": c.HTTP.WriteTimeout,
		"http.idle_timeout": c.HTTP.IdleTimeout, "http.drain": c.HTTP.Drain,
	} {
		r.positive(key, d)
	}
	if c.HTTP.MaxBody < 1<<10 {
		r.fail("http.max_body", "takes at least 1KiB")
	}
	r.oneOf("auth.mode", c.Auth.Mode, "auto", "keys", "off")
	if loopback, sure := onLoopback(c.Listen); sure && !loopback && c.Auth.Mode == "off" {
		r.fail("auth.mode", offNeedsLoopback)
	}
	if err := memoryd.CheckID("auth.default_tenant", c.Auth.DefaultTenant); err != nil {
		r.fail("auth.default_tenant", "takes an id of 1 to %d characters", memoryd.MaxID)
	}
	if n := c.Auth.Rate.PerSecond; !(n == 0 || n >= 0.01 && n <= 1e6) {
		r.fail("auth.rate.per_key_per_second", "takes 0.01 to 1000000, or 0 for no limit")
	}
	r.between("auth.rate.burst", c.Auth.Rate.Burst, 1, 1_000_000)
	r.oneOf("store.driver", c.Store.Driver, "sqlite")
	r.between("store.max_open", c.Store.MaxOpen, 1, 1000)
	r.oneOf("store.migrate", c.Store.Migrate, "auto", "manual")
	if n := len(c.Store.EncryptionKey); n > 0 && n < sqlstore.MinPassphrase {
		r.fail("store.encryption_key", "takes 32 bytes in hex or base64, or a passphrase of at least %d characters", sqlstore.MinPassphrase)
	}
}

func (r *reader) checkSessions(c *sessionConfig) {
	r.between("sessions.messages_per_round", c.MessagesPerRound, 1, 100)
	r.between("sessions.window_tokens", c.WindowTokens, 1, recall.MaxWindowTokens)
	r.oneOf("sessions.tokenizer", c.Tokenizer, "cl100k", "o200k")
	r.oneOf("sessions.alternation", c.Alternation, "merge", "trim")
	if _, given := r.where["sessions.summary.tokens"]; given {
		r.between("sessions.summary.tokens", c.Summary.Tokens, 0, c.WindowTokens/2)
	} else {
		c.Summary.Tokens = min(c.Summary.Tokens, c.WindowTokens/2)
	}
	if ttl := c.Working.TTL; ttl < time.Second || ttl > remember.MaxWorkingTTL {
		r.fail("sessions.working.ttl", "takes a duration from 1s to 24h")
	}
	if n := c.Working.MaxValue; n < 1 || n > 1<<20 {
		r.fail("sessions.working.max_value", "takes 1B to 1MiB")
	}
	r.between("sessions.working.max_keys", c.Working.MaxKeys, 1, 10_000)
}

func (r *reader) checkContext(c *contextConfig) {
	r.between("context.workers", c.Workers, 2, 10000)
	r.positive("context.session_timeout", c.SessionTimeout)
	r.positive("context.long_term_timeout", c.LongTermTimeout)
	r.between("context.memory_tokens", c.MemoryTokens, 0, recall.MaxMemoryTokens)
	r.share("context.user_profile_share", c.UserProfileShare)
	r.between("context.items_per_scope", c.ItemsPerScope, 1, 1000)
	r.between("context.turn_items", c.TurnItems, 0, 1000)
	r.between("context.preferences", c.Preferences, 0, 1000)
	r.between("context.item_chars", c.ItemChars, 1, 16384)
	r.between("context.query_context_chars", c.QueryContext, 0, recall.MaxQuery)
	if len(c.Include) == 0 {
		r.fail("context.include", "takes at least one of memory, turn")
	}
	for _, word := range c.Include {
		r.oneOf("context.include", word, "memory", "turn")
	}
}

func (r *reader) checkSearch(c *config) {
	r.between("search.top_k", c.Search.TopK, 1, recall.MaxHits)
	r.share("search.floor", c.Search.Floor)
	r.share("search.trust_factor.high", c.Search.TrustFactor.High)
	r.share("search.trust_factor.medium", c.Search.TrustFactor.Medium)
	r.share("search.trust_factor.low", c.Search.TrustFactor.Low)
	if c.Index.Memory < 1<<20 {
		r.fail("index.memory", "takes at least 1MiB")
	}
}

func (r *reader) oneOf(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		r.fail(key, "takes %s", strings.Join(words, ", "))
	}
}

func (r *reader) between(key string, value, low, high int) {
	if value < low || value > high {
		r.fail(key, "takes %d to %d", low, high)
	}
}

func (r *reader) positive(key string, d time.Duration) {
	if d <= 0 {
		r.fail(key, "takes a duration above 0")
	}
}

func (r *reader) share(key string, value float64) {
	if !(value >= 0 && value <= 1) {
		r.fail(key, "takes a share from 0 to 1")
	}
}
