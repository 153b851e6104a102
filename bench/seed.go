package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	_ "github.com/ncruces/go-sqlite3/driver" // the only way to a million rows within minutes is past the server
)

// seed fills the tables of a store whose server is off: each owner gets the number of memories, in the tenant default.
// Owners that have rows get more of them.
func seed(ctx context.Context, file string, first, owners, memories int, progress io.Writer) error {
	db, err := sql.Open("sqlite3", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	start := time.Now()
	for n := range owners {
		if err := seedOwner(ctx, db, owner(first+n), memories, uint64(first+n)); err != nil {
			return fmt.Errorf("%s: %w", owner(first+n), err)
		}
	}
	fmt.Fprintf(progress, "seeded %d memories of %d owners in %.1f s\n", owners*memories, owners, time.Since(start).Seconds())
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)")
	return err
}

const insertSeed = `INSERT INTO memories (tenant, id, usr, agent, scope, text, type, form, trust, source, status, sensitive, importance, strength,
recorded, last_used, uses, immutable, labels, metadata, provenance, consolidated_from, superseded_by, archived_reason, version, typed_by, hash, tokens,
grouped, live, part, changed) VALUES ('default', ?, ?, '', 'global', ?, 'fact', 'text', 'high', 'import', 'active', 0, 5, 1,
?, 0, 0, 0, '{}', '{}', '{"writer":"bench"}', '[]', '', '', 1, 'given', ?, 30, 0, ?, ?, ?)`

func seedOwner(ctx context.Context, db *sql.DB, user string, memories int, seed uint64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO partitions (tenant, usr, grp, version) VALUES ('default', ?, '', 0)", user); err != nil {
		return err
	}
	var part, version int64
	if err := tx.QueryRowContext(ctx, "SELECT id, version FROM partitions WHERE tenant = 'default' AND grp = '' AND usr = ?", user).Scan(&part, &version); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, insertSeed)
	if err != nil {
		return err
	}
	defer insert.Close()
	now, say := time.Now().UnixMicro(), newSpeech(seed<<32+uint64(version))
	for range memories {
		version++
		text := say.sentence(15)
		sum := sha256.Sum256([]byte(text))
		hash := hex.EncodeToString(sum[:])
		if _, err := insert.ExecContext(ctx, uuid.Must(uuid.NewV7()).String(), user, text, now, hash, hash, part, version); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE partitions SET version = ? WHERE id = ?", version, part); err != nil {
		return err
	}
	return tx.Commit()
}
