package memoryd

import "time"

// Holding is how much a tenant, or one of its users, holds.
type Holding struct {
	User      string // "" for the whole tenant
	Active    int64  // memories
	Other     int64  // memories in any other status
	Sessions  int64
	LastWrite time.Time // of a memory or a session; zero where there is none
}

// Contents answers what stands under a tenant, whoever owns it. It is for those who run the server.
type Contents interface {
	// Count is what the tenant holds.
	Count(tenant string) (Holding, error)
	// Users is who owns a memory or a session of the tenant, by id, behind the id after; at most limit.
	Users(tenant, after string, limit int) ([]Holding, error)
	// Drop removes the tenant, the settings of its agents and what passes by itself (working memory, receipts);
	// ErrNotFound. What Count counts and its keys stay, so that the caller counts first, in the same transaction.
	Drop(tenant string) error
}
