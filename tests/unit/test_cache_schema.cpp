// SPDX-License-Identifier: Apache-2.0
// Databases in which every page can be read, and whose schema or index is another all the same.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>

namespace kiln::test {
namespace {

TEST_SUITE("Store schema") {
  TEST_CASE("an index that leads to no row is damage of the database, and is met once") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    // Removes the row while SQLite does not know of the index.
    RawDatabase(database_path(directory))
        .execute(
            "PRAGMA writable_schema = ON;"
            "CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name LIKE '%_by_request';"
            "DELETE FROM sqlite_schema WHERE name LIKE '%_by_request';"
            "PRAGMA writable_schema = RESET; DELETE FROM entries;"
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept");
    const auto store = open_store(directory.path());
    for (const bool is_first : {true, false}) {
      bool recovered = false;
      CHECK_FALSE(store->find_request(sample_facts(1).request, &recovered)->has_value());
      CHECK(recovered == is_first);
    }
    CHECK(store->summary()->quarantined == 1);
  }

  TEST_CASE("a schema that refuses what Kiln writes is damage") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    RawDatabase(database_path(directory))
        .execute(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
            "replace(sql, 'pinned INTEGER NOT NULL DEFAULT 0', "
            "'pinned INTEGER NOT NULL DEFAULT x') WHERE name = 'usage'");
    const auto store = open_store(directory.path());
    CHECK(finds_sample(*store, 1));
    CHECK(store->flush().is_ok());
    CHECK(store->summary()->quarantined == 1);
  }
}

}  // namespace
}  // namespace kiln::test
