-- Schema 1 of packs (docs/cache-format.md), with entries.sql. Run once, on a new file, before it gets
-- its name. A change of this text needs a new schema number.
PRAGMA page_size = 4096;

PRAGMA application_id = 0x4B504143;
PRAGMA user_version = 1;

-- At most one of an entry: Ed25519 over its entry_sha256, by the key that has this SHA-256.
CREATE TABLE signatures (
  entry INTEGER PRIMARY KEY,
  key_sha256 BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT;
