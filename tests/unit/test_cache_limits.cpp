// SPDX-License-Identifier: Apache-2.0
// What cannot be written: limits, files of others. And what a hit costs.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

TEST_SUITE("Store limits") {
  TEST_CASE("a file-size limit is a failure of the put and not a signal") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    const int status = in_child([&] {
      const auto store = open_store(directory.path());
      const rlimit limit{.rlim_cur = 100000, .rlim_max = 100000};
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
      const std::string large = sample_image(2, 1000000);
      const Status put = store->put(sample_facts(2, large.size()), large);
      CHECK(put.code() == Code::io);
      CHECK(put.origin() == Origin::sqlite);
      CHECK(put.native_code() != 0);
      CHECK(finds_sample(*store, 1));
      CHECK(store->find(sample_facts(2).key).is_ok());
      CHECK_FALSE(store->find(sample_facts(2).key)->has_value());
      put_sample(*store, 3);
      CHECK(finds_sample(*store, 3));
    });
    CHECK(status == 0);
    const auto store = open_store(directory.path());
    CHECK(finds_sample(*store, 1));
    CHECK_FALSE(finds_sample(*store, 2));
    CHECK(finds_sample(*store, 3));
    RawDatabase raw(database_path(directory));
    CHECK(raw.column("PRAGMA integrity_check").front() == "ok");
    CHECK(raw.integer("SELECT count(*) FROM images") == 2);
  }

  TEST_CASE("a store cannot be begun below the file-size limit, and says so") {
    const TemporaryDirectory directory;
    CHECK(in_child([&] {
            const rlimit limit{.rlim_cur = 10000, .rlim_max = 10000};
            REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
            const auto store = Store::open(directory.path(), StoreMode::read_write);
            CHECK(store.status().code() == Code::io);
          }) == 0);
    CHECK_FALSE(exists(database_path(directory)));
    put_sample(*open_store(directory.path()), 1);
  }

  TEST_CASE("a database that others can write or own is not used") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    const std::string path = database_path(directory);
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    const auto refused = Store::open(directory.path(), StoreMode::read_write);
    CHECK(refused.status().code() == Code::invalid_argument);
    CHECK(refused.status().message().find("0666") != std::string::npos);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    if (::geteuid() == 0) {
      REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
      CHECK(Store::open(directory.path(), StoreMode::read_write).status().code() ==
            Code::invalid_argument);
    }
    fs::rename(path, directory.file("elsewhere"));
    fs::create_symlink(directory.file("elsewhere"), path);
    CHECK(Store::open(directory.path(), StoreMode::read_write).status().code() ==
          Code::invalid_argument);
  }

  TEST_CASE("what a hit costs is told") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    const auto time_us = [](int rounds, const std::function<void()>& body) {
      double least = 1e9;
      for (int i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        body();
        const std::chrono::duration<double, std::micro> elapsed =
            std::chrono::steady_clock::now() - start;
        least = std::min(least, elapsed.count());
      }
      return least;
    };
    const Digest key = sample_facts(1).key;
    const auto store = open_store(directory.path());
    const double find_us = time_us(50, [&] { CHECK(store->find(key)->has_value()); });
    CHECK(store->list({})->front().hits == 50);
    const TemporaryDirectory other;
    { put_sample(*open_store(other.path()), 1); }
    std::unique_ptr<Store> opened;
    double close_us = 1e9;
    double open_us = 1e9;
    for (int i = 0; i < 20; ++i) {
      open_us = std::min(open_us, time_us(1, [&] {
                           opened = open_store(other.path());
                           CHECK(opened->find(key)->has_value());
                         }));
      close_us = std::min(close_us, time_us(1, [&] { opened.reset(); }));
    }
    MESSAGE(fmt::format("find {:.0f} us; open and find {:.0f} us; close {:.0f} us", find_us,
                        open_us, close_us));
  }
}

}  // namespace
}  // namespace kiln::test
