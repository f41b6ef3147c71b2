-- Schema 1 of the store (docs/cache-format.md), with entries.sql. Run once, on a new file, before it
-- gets its name.
-- A change of this text needs a new schema number, and with it a new file name.
PRAGMA page_size = 4096;
PRAGMA auto_vacuum = INCREMENTAL;

PRAGMA application_id = 0x4B494C4E;
PRAGMA user_version = 1;

-- What changes by use. By key, so that it outlives the replacement of an entry.
CREATE TABLE usage (
  key BLOB PRIMARY KEY,
  hits INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  pinned INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_time ON usage (last_used_at DESC, key, pinned);
CREATE INDEX usage_pinned ON usage (key) WHERE pinned != 0;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Identities of compiler libraries, valid while stat() of the path still agrees.
CREATE TABLE toolchains (
  path TEXT PRIMARY KEY,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  toolchain TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Results of comparing a variant with its oracle on a device.
CREATE TABLE verdicts (
  key BLOB NOT NULL,
  device_model TEXT NOT NULL,
  driver TEXT NOT NULL,
  oracle TEXT NOT NULL,
  result TEXT NOT NULL,
  checked_elements INTEGER NOT NULL,
  differing_elements INTEGER NOT NULL,
  checked_at INTEGER NOT NULL,
  PRIMARY KEY (key, device_model, driver, oracle)
) STRICT, WITHOUT ROWID;
