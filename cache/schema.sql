-- Schema 1 of the store (docs/cache-format.md). Run once, on a new file, before it gets its name.
-- A change of this text needs a new schema number, and with it a new file name.
PRAGMA page_size = 4096;
PRAGMA auto_vacuum = INCREMENTAL;

BEGIN;

PRAGMA application_id = 0x4B494C4E;
PRAGMA user_version = 1;

-- What is known about one artifact. entry_sha256 covers every other column but id, and the image.
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  request BLOB NOT NULL,
  template_name TEXT NOT NULL,
  spec TEXT NOT NULL,
  target TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  lowered_name TEXT NOT NULL,
  layout TEXT NOT NULL,
  registers INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL,
  local_bytes INTEGER NOT NULL,
  spill_store_bytes INTEGER NOT NULL,
  spill_load_bytes INTEGER NOT NULL,
  key_fields BLOB NOT NULL,  -- one zstd frame
  log TEXT NOT NULL,
  compile_us INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  image_bytes INTEGER NOT NULL,
  entry_sha256 BLOB NOT NULL
) STRICT;
CREATE INDEX entries_by_request ON entries (request, created_at);
-- With usage_by_time: what was used last, and what was not for the longest time, without reading
-- all facts.
CREATE INDEX entries_by_creation ON entries (created_at, key);

-- Apart from the facts, so that listing them does not read past images. One zstd frame each.
CREATE TABLE images (
  entry INTEGER PRIMARY KEY,
  image BLOB NOT NULL
) STRICT;

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

COMMIT;
