package main

import (
	"log/slog"
	"time"

	"memoryd"
)

// config is every key that has an effect, by its place in the file. Its defaults stand in defaults and nowhere else.
type config struct {
	Listen   string        `yaml:"listen"`
	Data     string        `yaml:"data"`
	Timezone string        `yaml:"timezone"`
	Log      logConfig     `yaml:"log"`
	HTTP     httpConfig    `yaml:"http"`
	Auth     authConfig    `yaml:"auth"`
	Store    storeConfig   `yaml:"store"`
	Sessions sessionConfig `yaml:"sessions"`
	Context  contextConfig `yaml:"context"`
	Search   searchConfig  `yaml:"search"`
	Index    indexConfig   `yaml:"index"`
	Agents   agentsConfig  `yaml:"agents"`

	zone  *time.Location // Timezone, loaded
	level slog.Level     // Log.Level, read
}

type logConfig struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

type httpConfig struct {
	ReadTimeout    time.Duration `yaml:"read_timeout"`
	WriteTimeout   time.Duration `yaml:"write_timeout"`
	IdleTimeout    time.Duration `yaml:"idle_timeout"`
	MaxBody        size          `yaml:"max_body"`
	Drain          time.Duration `yaml:"drain"`
	AllowedHosts   []string      `yaml:"allowed_hosts"`
	AllowedOrigins []string      `yaml:"allowed_origins"`
}

type authConfig struct {
	Mode          string     `yaml:"mode"`
	Rate          rateConfig `yaml:"rate"`
	DefaultTenant string     `yaml:"default_tenant"`
}

// rateConfig holds for each agent key.
type rateConfig struct {
	PerSecond float64 `yaml:"per_key_per_second"`
	Burst     int     `yaml:"burst"`
}

type storeConfig struct {
	Driver  string `yaml:"driver"`
	DSN     string `yaml:"dsn"`
	MaxOpen int    `yaml:"max_open"`
	Migrate string `yaml:"migrate"`

	EncryptionKey string `yaml:"encryption_key"`
}

type sessionConfig struct {
	MessagesPerRound int           `yaml:"messages_per_round"`
	WindowTokens     int           `yaml:"window_tokens"`
	Tokenizer        string        `yaml:"tokenizer"`
	Alternation      string        `yaml:"alternation"`
	Summary          summaryConfig `yaml:"summary"`
	Working          workingConfig `yaml:"working"`
}

// workingConfig bounds the working memory of runs.
type workingConfig struct {
	TTL      time.Duration `yaml:"ttl"`
	MaxValue size          `yaml:"max_value"`
	MaxKeys  int           `yaml:"max_keys"`
}

type summaryConfig struct {
	Tokens int `yaml:"tokens"`
}

type contextConfig struct {
	Workers          int           `yaml:"workers"`
	SessionTimeout   time.Duration `yaml:"session_timeout"`
	LongTermTimeout  time.Duration `yaml:"long_term_timeout"`
	MemoryTokens     int           `yaml:"memory_tokens"`
	UserProfileShare float64       `yaml:"user_profile_share"`
	ItemsPerScope    int           `yaml:"items_per_scope"`
	TurnItems        int           `yaml:"turn_items"`
	Preferences      int           `yaml:"preferences"`
	ItemChars        int           `yaml:"item_chars"`
	QueryContext     int           `yaml:"query_context_chars"`
	Include          []string      `yaml:"include"`
}

type searchConfig struct {
	TopK        int         `yaml:"top_k"`
	Floor       float64     `yaml:"floor"`
	TrustFactor trustFactor `yaml:"trust_factor"`
}

type trustFactor struct {
	High   float64 `yaml:"high"`
	Medium float64 `yaml:"medium"`
	Low    float64 `yaml:"low"`
}

type indexConfig struct {
	Memory size `yaml:"memory"`
}

type agentsConfig struct {
	Default agentDefault           `yaml:"default"`
	Policy  agentPolicy            `yaml:"policy"`
	Named   map[string]agentConfig `yaml:"named"`
}

// agentDefault is what a named agent starts from.
type agentDefault struct {
	LongTerm        bool   `yaml:"long_term"`
	ContextRounds   int    `yaml:"context_rounds"`
	WindowTokens    int    `yaml:"window_tokens"`
	MemoryTokens    int    `yaml:"memory_tokens"`
	FilterSensitive string `yaml:"filter_sensitive"`
	MinTrust        string `yaml:"min_trust"`
	MaxTrust        string `yaml:"max_trust"`
}

// agentPolicy is what an identity that is an agent, but is named nowhere, may do.
type agentPolicy struct {
	Read         []string `yaml:"read"`
	Write        []string `yaml:"write"`
	AllowedTypes []string `yaml:"allowed_types"`
}

// agentConfig is one named agent. A key that is left out stays nil or "", which is not the same as an empty list.
type agentConfig struct {
	LongTerm        *bool    `yaml:"long_term"`
	ContextRounds   *int     `yaml:"context_rounds"`
	WindowTokens    *int     `yaml:"window_tokens"`
	MemoryTokens    *int     `yaml:"memory_tokens"`
	FilterSensitive string   `yaml:"filter_sensitive"`
	MinTrust        string   `yaml:"min_trust"`
	MaxTrust        string   `yaml:"max_trust"`
	Read            []string `yaml:"read"`
	Write           []string `yaml:"write"`
	AllowedTypes    []string `yaml:"allowed_types"`
	Operator        *bool    `yaml:"operator"`
}

func defaults() config {
	return config{
		Listen:   "127.0.0.1:7788",
		Timezone: "Local",
		Log:      logConfig{Level: "info", Format: "text"},
		HTTP: httpConfig{
			ReadTimeout: 30 * time.Second, WriteTimeout: 120 * time.Second, IdleTimeout: 120 * time.Second,
			MaxBody: 4 << 20, Drain: 30 * time.Second, AllowedHosts: []string{}, AllowedOrigins: []string{},
		},
		Auth:  authConfig{Mode: "auto", Rate: rateConfig{PerSecond: 100, Burst: 200}, DefaultTenant: "default"},
		Store: storeConfig{Driver: "sqlite", MaxOpen: 16, Migrate: "auto"},
		Sessions: sessionConfig{
			MessagesPerRound: 3, WindowTokens: 16000, Tokenizer: "cl100k", Alternation: "merge",
			Summary: summaryConfig{Tokens: 2000},
			Working: workingConfig{TTL: time.Hour, MaxValue: 64 << 10, MaxKeys: 256},
		},
		Context: contextConfig{
			Workers: 64, SessionTimeout: 300 * time.Millisecond, LongTermTimeout: 800 * time.Millisecond,
			MemoryTokens: 4000, UserProfileShare: 0.6, ItemsPerScope: 10, TurnItems: 100, Preferences: 6,
			ItemChars: 1000, QueryContext: 200, Include: []string{"memory", "turn"},
		},
		Search: searchConfig{TopK: 10, Floor: 0.3, TrustFactor: trustFactor{High: 1, Medium: 0.9, Low: 0.75}},
		Index:  indexConfig{Memory: 256 << 20},
		Agents: agentsConfig{
			Default: agentDefault{
				ContextRounds: 10, FilterSensitive: "auto",
				MinTrust: string(memoryd.Low), MaxTrust: string(memoryd.Medium),
			},
			Policy: agentPolicy{Read: []string{"global"}, Write: []string{"none"}, AllowedTypes: []string{}},
			Named:  map[string]agentConfig{},
		},
	}
}
