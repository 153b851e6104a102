package memoryd

import (
	"encoding/json"
	"time"
)

// Run is one execution of an agent, whose working memory is nobody else's.
type Run struct {
	Tenant string
	User   string
	Agent  string // "" for none
	ID     string
}

// Entry is one value of a run's working memory.
type Entry struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Updated time.Time       `json:"updated"`
	Expires time.Time       `json:"expires"`
}

// Live says whether the entry may be shown.
func (e Entry) Live(now time.Time) bool { return e.Expires.After(now) }

// Scratch keeps the working memory of runs. An entry that expires at or before now is as one that is not there.
type Scratch interface {
	// Put adds or replaces an entry, unless the run holds limit other ones at e.Updated: then kept is false.
	Put(r Run, e Entry, limit int) (kept bool, err error)
	// Get answers the entries of the keys, or all of the run where none is named, ordered by key.
	Get(r Run, now time.Time, keys ...string) ([]Entry, error)
	// Delete removes the entries of the keys, or all of the run where none is named, and says how many there were.
	Delete(r Run, now time.Time, keys ...string) (int, error)
	// Purge removes at most n entries that have expired, oldest first, of whatever run, and says how many.
	Purge(now time.Time, n int) (int, error)
}
