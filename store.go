package memoryd

import (
	"context"
	"time"
)

// Store is where the rows are: the truth that every index and cache is derived from.
type Store interface {
	// Read runs f on one consistent snapshot. What f writes is refused.
	Read(ctx context.Context, f func(Tx) error) error
	// Write runs f in a transaction and returns once it is durable. An error of f, or a failed commit, leaves nothing
	// of it behind. f may run twice (a retried deadlock), may share its commit with others, and does nothing but SQL.
	// A ctx that ends before f starts means that f never runs; one that ends later does not interrupt it.
	Write(ctx context.Context, f func(Tx) error) error
}

// Tx is the ports of one transaction. They are valid inside the function that was given them, on its goroutine.
type Tx struct {
	Tenants    Tenants
	Agents     Agents
	Keys       Keys
	Sessions   Sessions
	Messages   Messages
	Memories   Memories
	Versions   Versions
	Partitions Partitions
	Receipts   Receipts
	Scratch    Scratch
	Contents   Contents
	Dump       Dump
	Load       Load
	Uses       Uses
}

// Tenant is a wall: nothing crosses it.
type Tenant struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"`
	Created time.Time `json:"created"`
}

// Tenants keeps the tenants.
type Tenants interface {
	// Ensure adds the tenant unless it is there.
	Ensure(Tenant) error
	// Put adds the tenant (created true), or replaces the name of the one that is there.
	Put(Tenant) (created bool, err error)
	// Get answers ErrNotFound for an unknown one.
	Get(id string) (Tenant, error)
	// List is ordered by id.
	List() ([]Tenant, error)
}

// Agents keeps the settings of agents that do not come from the configuration file, as JSON.
type Agents interface {
	// Put adds or replaces.
	Put(tenant, id string, settings []byte) error
	// Get answers ErrNotFound for an unknown one.
	Get(tenant, id string) ([]byte, error)
	// List answers the settings by id.
	List(tenant string) (map[string][]byte, error)
	// Delete answers ErrNotFound for an unknown one.
	Delete(tenant, id string) error
}

// Key is a credential: operator (all tenants), tenant (any user and agent of one), agent (one agent, maybe one user).
type Key struct {
	ID      string     `json:"id"`
	Hash    []byte     `json:"-"` // SHA-256 of the whole key
	Kind    string     `json:"kind" enum:"operator,tenant,agent"`
	Tenant  string     `json:"tenant,omitempty"`
	Agent   string     `json:"agent,omitempty"`
	User    string     `json:"user,omitempty"`
	Name    string     `json:"name,omitempty"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

// Keys keeps the credentials.
type Keys interface {
	Insert(Key) error
	// Get answers ErrNotFound for an unknown one; revoked and expired ones are answered.
	Get(id string) (Key, error)
	// List is ordered by id; tenant "" lists all.
	List(tenant string) ([]Key, error)
	// Revoke keeps the first time when repeated, and answers ErrNotFound for an unknown one (of that tenant, unless "").
	Revoke(tenant, id string, at time.Time) error
}

// SessionFilter narrows a list of sessions. Newest created first, ids breaking ties.
type SessionFilter struct {
	Agent, State string
	Before       time.Time // with BeforeID: start behind this session
	BeforeID     string
	Limit        int
}

// Sessions keeps the heads of sessions. A session that is not the owner's, or whose scope is not in the set, is as one
// that does not exist.
type Sessions interface {
	// Get answers ErrNotFound.
	Get(o Owner, s Scopes, id string) (Session, error)
	// Put inserts the session (created true), or replaces state, metadata and updated of the one that is there.
	Put(Session) (created bool, err error)
	List(o Owner, s Scopes, f SessionFilter) ([]Session, error)
	// Delete removes the session, its messages and turns, and says how many messages; ErrNotFound.
	Delete(o Owner, s Scopes, id string) (messages int64, err error)
}

// Messages keeps what was said in a session that the caller got from Sessions in the same transaction.
type Messages interface {
	// Append stores the messages in order behind the last one, with Seq set densely from last_seq+1, moves the
	// session's last_seq and updated (the first message's Recorded), and answers the stored messages.
	Append(s Session, list []Message) ([]Message, error)
	// Newest is the newest n messages with seq < before (0: no bound), oldest first.
	Newest(s Session, before int64, n int) ([]Message, error)
	// ByID answers those of the session's messages that carry the ids.
	ByID(s Session, ids []string) ([]Message, error)
	// Turns answers the searchable messages that the owner and the set may see, in any order; missing ones are left out.
	Turns(o Owner, s Scopes, keys []TurnKey) ([]Turn, error)
}

// Sort is the order of a list of memories, always with the id behind it.
type Sort string

// The orders, largest or newest first.
const (
	ByRecorded   Sort = "recorded"
	ByLastUsed   Sort = "last_used"
	ByImportance Sort = "importance"
)

// MemoryFilter narrows a list of memories.
type MemoryFilter struct {
	Statuses  []Status // empty: active
	Types     []Type
	Forms     []Form
	Trusts    []Trust
	Agent     string
	Labels    map[string]string
	Contains  string    // a literal part of the text
	Since     time.Time // recorded at or after
	Until     time.Time // recorded before
	Hash      string
	Unexpired time.Time // leave out active ones that expire at or before
	Sort      Sort
	After     *MemoryPos // start behind this row
	Limit     int
}

// MemoryPos is a row's place in a list: its value under the sort (microseconds since 1970, or importance) and its id.
type MemoryPos struct {
	Value int64
	ID    string
}

// Memories keeps the current version of memories. A memory that is not the owner's, or whose scope is not in the set,
// is as one that does not exist. Each write counts up the version of the memory's partition.
type Memories interface {
	// Insert answers ErrTwin, and inserts nothing, when an active memory of the same hash stands in the scope.
	Insert(Memory) error
	// Get answers those that are there in the order of the ids; missing ones are left out.
	Get(o Owner, s Scopes, ids ...string) ([]Memory, error)
	List(o Owner, s Scopes, f MemoryFilter) ([]Memory, error)
	// Update replaces the row whose version is m.Version-1: ErrVersion when it moved on, ErrTwin as with Insert.
	Update(m Memory) error
}

// Versions keeps what memories were before they changed.
type Versions interface {
	// Add keeps one replaced state; by says who replaced it, and when.
	Add(old Memory, by string, at time.Time) error
	// List is oldest first, without the current state.
	List(tenant, memory string) ([]Version, error)
}

// Use says that a memory was shown N times, the last time at At.
type Use struct {
	Tenant string
	Memory string
	At     time.Time
	N      int64
}

// Uses counts how often memories are shown. That is a change to what is known about a memory, not to the memory: its
// version stays, or every search would refuse a client's If-Match, and no version is kept. Its partition's version
// stays too: no index holds uses, and would only be made to read the row again.
type Uses interface {
	// Count adds to uses and moves last_used forward, never back. A memory that is not active any more is counted
	// like others, and one that is gone is left out.
	Count(list []Use) error
}

// Version is one replaced state of a memory.
type Version struct {
	Memory
	ReplacedBy string    `json:"replaced_by" doc:"the key that made the next version"`
	ReplacedAt time.Time `json:"replaced_at"`
}

// Partitions tells an index what changed. A partition's version is counted up inside each transaction that writes to
// it and is held until the commit, so that versions have no gaps and changes are never missed.
type Partitions interface {
	// Versions answers in the order asked, 0 for a partition without rows, in one query unless they are thousands.
	Versions(parts []Partition) ([]int64, error)
	// Changes is what happened after a version, up to the newest, each kind in order of change. After 0 is what is there
	// now: nothing is removed.
	Changes(p Partition, after int64) (Changes, error)
	// Groups lists the groups of a tenant that hold rows.
	Groups(tenant string) ([]string, error)
}

// Changes is what an index must apply, in order of Change over all three lists, to reach Version.
type Changes struct {
	Version  int64
	Memories []ChangedMemory
	Turns    []ChangedTurn
	Removed  []Removed
}

// ChangedMemory is a memory as it is now.
type ChangedMemory struct {
	Memory
	Change int64
}

// ChangedTurn is a turn as it is now.
type ChangedTurn struct {
	Turn
	Change int64
}

// Removed is a row that is gone: a memory by its id, or else a turn.
type Removed struct {
	Memory string
	Turn   TurnKey
	Change int64
}
