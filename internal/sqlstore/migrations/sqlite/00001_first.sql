-- Times are microseconds since 1970; a column ending in _off is the offset in seconds of the time before it.
-- Ids compare byte for byte, which is what SQLite's default collation does.

-- +goose Up

CREATE TABLE tenants (
    id      TEXT    NOT NULL PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    tenant   TEXT NOT NULL,
    id       TEXT NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id      TEXT    NOT NULL PRIMARY KEY,
    hash    BLOB    NOT NULL,
    kind    TEXT    NOT NULL,
    tenant  TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    usr     TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER
) STRICT;
CREATE INDEX api_keys_tenant ON api_keys (tenant, id);

-- A user's own rows (grp '') or those of one group (usr '').
CREATE TABLE partitions (
    id      INTEGER NOT NULL PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    usr     TEXT    NOT NULL,
    grp     TEXT    NOT NULL,
    version INTEGER NOT NULL,
    UNIQUE (tenant, grp, usr)
) STRICT;

CREATE TABLE sessions (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    usr        TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    grp        TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    grouped    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    last_seq   INTEGER NOT NULL,
    judged_seq INTEGER NOT NULL,
    metadata   TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX sessions_part ON sessions (part, created, id);
CREATE INDEX sessions_tenant ON sessions (tenant, grouped, created, id);

CREATE TABLE messages (
    tenant       TEXT    NOT NULL,
    session      TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    usr          TEXT    NOT NULL,
    tool_calls   TEXT    NOT NULL,
    tool_call_id TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    time         INTEGER NOT NULL,
    time_off     INTEGER NOT NULL,
    metadata     TEXT    NOT NULL,
    tokens       INTEGER NOT NULL,
    trust        TEXT    NOT NULL,
    writer       TEXT    NOT NULL,
    recorded     INTEGER NOT NULL,
    searchable   INTEGER NOT NULL,
    part         INTEGER NOT NULL,
    changed      INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, seq),
    UNIQUE (tenant, session, id)
) STRICT;
CREATE INDEX messages_changed ON messages (part, changed);

-- live is the hash of an active memory and NULL otherwise, so that the unique index keeps exact duplicates out.
-- last_used is 0 where the memory was never used, so that it can be paged by.
CREATE TABLE memories (
    tenant            TEXT    NOT NULL,
    id                TEXT    NOT NULL,
    usr               TEXT    NOT NULL,
    agent             TEXT    NOT NULL,
    scope             TEXT    NOT NULL,
    text              TEXT    NOT NULL,
    type              TEXT    NOT NULL,
    form              TEXT    NOT NULL,
    trust             TEXT    NOT NULL,
    source            TEXT    NOT NULL,
    status            TEXT    NOT NULL,
    sensitive         INTEGER NOT NULL,
    importance        INTEGER NOT NULL,
    strength          REAL    NOT NULL,
    occurred          INTEGER,
    occurred_off      INTEGER,
    occurred_end      INTEGER,
    occurred_end_off  INTEGER,
    recorded          INTEGER NOT NULL,
    last_confirmed    INTEGER,
    last_used         INTEGER NOT NULL,
    uses              INTEGER NOT NULL,
    expires           INTEGER,
    immutable         INTEGER NOT NULL,
    labels            TEXT    NOT NULL,
    metadata          TEXT    NOT NULL,
    provenance        TEXT    NOT NULL,
    consolidated_from TEXT    NOT NULL,
    superseded_by     TEXT    NOT NULL,
    archived          INTEGER,
    archived_reason   TEXT    NOT NULL,
    version           INTEGER NOT NULL,
    typed_by          TEXT    NOT NULL,
    hash              TEXT    NOT NULL,
    tokens            INTEGER NOT NULL,
    grouped           INTEGER NOT NULL,
    live              TEXT,
    part              INTEGER NOT NULL,
    changed           INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE UNIQUE INDEX memories_live ON memories (part, scope, live);
CREATE INDEX memories_changed ON memories (part, changed);
CREATE INDEX memories_recorded ON memories (part, recorded, id);
CREATE INDEX memories_tenant ON memories (tenant, grouped, recorded, id);

CREATE TABLE versions (
    tenant            TEXT    NOT NULL,
    id                TEXT    NOT NULL,
    usr               TEXT    NOT NULL,
    agent             TEXT    NOT NULL,
    scope             TEXT    NOT NULL,
    text              TEXT    NOT NULL,
    type              TEXT    NOT NULL,
    form              TEXT    NOT NULL,
    trust             TEXT    NOT NULL,
    source            TEXT    NOT NULL,
    status            TEXT    NOT NULL,
    sensitive         INTEGER NOT NULL,
    importance        INTEGER NOT NULL,
    strength          REAL    NOT NULL,
    occurred          INTEGER,
    occurred_off      INTEGER,
    occurred_end      INTEGER,
    occurred_end_off  INTEGER,
    recorded          INTEGER NOT NULL,
    last_confirmed    INTEGER,
    last_used         INTEGER NOT NULL,
    uses              INTEGER NOT NULL,
    expires           INTEGER,
    immutable         INTEGER NOT NULL,
    labels            TEXT    NOT NULL,
    metadata          TEXT    NOT NULL,
    provenance        TEXT    NOT NULL,
    consolidated_from TEXT    NOT NULL,
    superseded_by     TEXT    NOT NULL,
    archived          INTEGER,
    archived_reason   TEXT    NOT NULL,
    version           INTEGER NOT NULL,
    typed_by          TEXT    NOT NULL,
    hash              TEXT    NOT NULL,
    tokens            INTEGER NOT NULL,
    replaced_by       TEXT    NOT NULL,
    replaced_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant, id, version)
) STRICT;

-- What is gone from a partition: a memory by its id, or a turn by session and seq (memory '').
CREATE TABLE removed (
    part    INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    memory  TEXT    NOT NULL,
    session TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (part, changed)
) STRICT, WITHOUT ROWID;
