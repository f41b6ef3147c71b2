// SPDX-License-Identifier: Apache-2.0
// Stores that are only looked at.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

TEST_SUITE("Store inspect") {
  TEST_CASE("looking at a damaged database reports it and moves nothing") {
    const TemporaryDirectory directory;
    write_text(database_path(directory), "text");
    CHECK(Store::open(directory.path(), StoreMode::inspect).status().code() == Code::corrupt);
    CHECK(read_text(database_path(directory)) == "text");
  }

  TEST_CASE("a read-only directory can be looked at, and not written") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("a b?%#\xC3\xA4");
    REQUIRE(fs::create_directory(path));
    { put_sample(*open_store(path), 1); }
    REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
    if (::geteuid() == 0) {
      for (const auto& file : fs::directory_iterator(path)) {
        REQUIRE(::chown(file.path().c_str(), 65534, 65534) == 0);
      }
      REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    }
    REQUIRE(::chmod(path.c_str(), 0500) == 0);
    REQUIRE(::chmod((path + "/store-v1.db").c_str(), 0400) == 0);
    CHECK(in_child([&] {
            if (::geteuid() == 0) REQUIRE(::setuid(65534) == 0);
            const auto store = open_store(path, StoreMode::inspect);
            CHECK(finds_sample(*store, 1));
            CHECK(store->list({})->size() == 1);
            const auto writing = Store::open(path, StoreMode::read_write);
            CHECK((!writing.is_ok() ||
                   (*writing)->put(sample_facts(2), sample_image(2)).code() == Code::io));
          }) == 0);
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
  }

  TEST_CASE("an absent store is empty to look at, and nothing is created") {
    const TemporaryDirectory directory;
    for (const std::string& path : {directory.path(), directory.file("absent")}) {
      const auto store = open_store(path, StoreMode::inspect);
      CHECK(store->list({})->empty());
      CHECK_FALSE(finds_sample(*store, 1));
      CHECK(store->toolchain_memos()->empty());
      CHECK(store->flush().is_ok());
      const auto summary = store->summary();
      REQUIRE(summary.is_ok());
      CHECK_FALSE(summary->exists);
      CHECK(summary->entries == 0);
      CHECK(summary->path == path + "/store-v1.db");
      CHECK(store->put(sample_facts(1), sample_image(1)).code() == Code::invalid_argument);
    }
    CHECK(std::filesystem::is_empty(directory.path()));
  }

  TEST_CASE("a store that appears is seen, and looking at it changes nothing") {
    const TemporaryDirectory directory;
    const auto inspecting = open_store(directory.path(), StoreMode::inspect);
    CHECK_FALSE(finds_sample(*inspecting, 1));
    { put_sample(*open_store(directory.path()), 1); }
    const std::string before = read_text(database_path(directory));
    CHECK(finds_sample(*inspecting, 1));
    CHECK(inspecting->summary()->exists);
    CHECK(inspecting->list({})->front().hits == 0);
    CHECK(inspecting->flush().is_ok());
    CHECK(read_text(database_path(directory)) == before);
  }
}

}  // namespace
}  // namespace kiln::test
