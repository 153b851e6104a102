package memoryd

// Dump lists whole rows, for those who move a store's contents: everything that stands there, whoever owns it, in the
// order of the ids, compared byte for byte. A page starts behind the id (or seq) after and holds at most limit rows.
// With a user in the Owner it is the user's own rows, without those in groups: they belong to the tenant.
type Dump interface {
	// Tenants is every tenant that has a row of its own or holds any rows.
	Tenants() ([]string, error)
	Sessions(o Owner, after string, limit int) ([]Session, error)
	Messages(s Session, after int64, limit int) ([]Message, error)
	Memories(o Owner, after string, limit int) ([]Memory, error)
}

// Load puts whole rows in as they are, with their numbers and times. Each row counts up the version of its partition,
// as one that was written the usual way.
type Load interface {
	// Session inserts the head, or replaces state, last_seq, judged_seq, metadata and updated of the one that is there.
	Session(Session) error
	// Messages inserts the messages with the seq that each has, and leaves the head as it is; ErrNotFound without a
	// session. An error when a seq or an id is taken.
	Messages(s Session, list []Message) error
	// Twins answers for each memory the id of another active one of the same hash in its scope, "" where there is none
	// or the memory is not active.
	Twins(list []Memory) ([]string, error)
	// Memories inserts memories that have no twins and whose ids are free; an error otherwise.
	Memories(list []Memory) error
}
