-- The tables that store and packs have in common.
-- A change of this text needs new schema numbers of both.

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
-- With the store's usage_by_time: what was used last, and what was not for the longest time, without
-- reading all facts.
CREATE INDEX entries_by_creation ON entries (created_at, key);

-- Apart from the facts, so that listing them does not read past images. One zstd frame each.
CREATE TABLE images (
  entry INTEGER PRIMARY KEY,
  image BLOB NOT NULL
) STRICT;
