-- +goose Up

ALTER TABLE tenants ADD COLUMN name TEXT NOT NULL DEFAULT '';

-- Users are those who own rows; a page of them reads these indexes alone, but for the sessions of its users.
CREATE INDEX memories_usr ON memories (tenant, usr, status, recorded);
CREATE INDEX sessions_usr ON sessions (tenant, usr);

-- What writes with an idempotency key left behind, for a day.
CREATE TABLE receipts (
    id     BLOB    NOT NULL PRIMARY KEY,
    tenant TEXT    NOT NULL,
    digest BLOB    NOT NULL,
    result TEXT    NOT NULL,
    made   INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_made ON receipts (made);

-- Working memory of runs.
CREATE TABLE scratch (
    tenant  TEXT    NOT NULL,
    usr     TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    run     TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    updated INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, usr, agent, run, name)
) STRICT;
CREATE INDEX scratch_expires ON scratch (expires);
