// SPDX-License-Identifier: Apache-2.0
#include "cache/directory.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace kiln::test {
namespace {

constexpr unsigned kNobody = 65534;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

TEST_SUITE("CacheDirectory") {
  TEST_CASE("KILN_CACHE_DIR comes first, then XDG_CACHE_HOME, then HOME") {
    Environment environment;
    environment.cache_dir = "/a/b";
    environment.xdg_cache_home = "/xdg";
    environment.home = "/home/user";
    auto chosen = choose_cache_directory(environment);
    REQUIRE(chosen.is_ok());
    CHECK(chosen->path == "/a/b");
    CHECK(chosen->origin == "KILN_CACHE_DIR");
    environment.cache_dir.reset();
    chosen = choose_cache_directory(environment);
    CHECK(chosen->path == "/xdg/kiln");
    CHECK(chosen->origin == "XDG_CACHE_HOME");
    environment.xdg_cache_home.reset();
    chosen = choose_cache_directory(environment);
    CHECK(chosen->path == "/home/user/.cache/kiln");
    CHECK(chosen->origin == "HOME");
    environment.home.reset();
    CHECK(choose_cache_directory(environment).status().code() == Code::unavailable);
  }

  TEST_CASE("a path relative to the working directory is never used") {
    Environment environment;
    environment.cache_dir = "here";
    environment.home = "/home/user";
    const auto refused = choose_cache_directory(environment);
    CHECK(refused.status().code() == Code::invalid_argument);
    CHECK(refused.status().message().find("\"here\"") != std::string::npos);
    environment.cache_dir.reset();
    environment.xdg_cache_home = "cache";
    CHECK(choose_cache_directory(environment)->path == "/home/user/.cache/kiln");
    environment.home = ".";
    CHECK(choose_cache_directory(environment).status().code() == Code::unavailable);
    CHECK(prepare_cache_directory("here").code() == Code::invalid_argument);
    CHECK(prepare_cache_directory("").code() == Code::invalid_argument);
  }

  TEST_CASE("a deep path is created for the caller alone") {
    const TemporaryDirectory directory;
    const std::string deep = directory.file("a b/\xC3\xA4/c");
    REQUIRE(prepare_cache_directory(deep).is_ok());
    CHECK(mode_of(deep) == 0700);
    CHECK(mode_of(directory.file("a b")) == 0700);
    CHECK(prepare_cache_directory(deep).is_ok());
    CHECK(prepare_cache_directory(deep + "/").is_ok());
  }

  TEST_CASE("what group or others can write is refused, also behind a link") {
    const TemporaryDirectory directory;
    const std::string target = directory.file("target");
    const std::string link = directory.file("link");
    REQUIRE(::mkdir(target.c_str(), 0700) == 0);
    REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
    CHECK(prepare_cache_directory(link).is_ok());
    for (const mode_t mode : {0777U, 0770U, 0702U, 01777U}) {
      REQUIRE(::chmod(target.c_str(), mode) == 0);
      CHECK(prepare_cache_directory(target).code() == Code::invalid_argument);
      CHECK(prepare_cache_directory(link).code() == Code::invalid_argument);
    }
    REQUIRE(::chmod(target.c_str(), 0755) == 0);
    CHECK(prepare_cache_directory(link).is_ok());
  }

  TEST_CASE("a file in the way is a failure with its path") {
    const TemporaryDirectory directory;
    const std::string file = directory.file("file");
    write_text(file, "text");
    const Status status = prepare_cache_directory(file + "/kiln");
    CHECK(status.code() == Code::io);
    CHECK(status.message().find(file) != std::string::npos);
    CHECK(prepare_cache_directory(file).code() == Code::io);
  }

  TEST_CASE("a directory of another user is refused" * doctest::skip(::geteuid() != 0)) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("theirs");
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
    const Status status = prepare_cache_directory(path);
    CHECK(status.code() == Code::invalid_argument);
    CHECK(status.message().find("65534") != std::string::npos);
  }

  TEST_CASE("a directory that cannot be written or created is io") {
    const TemporaryDirectory directory;
    REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
    const std::string path = directory.file("mine");
    REQUIRE(::mkdir(path.c_str(), 0500) == 0);
    if (::geteuid() == 0) REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
    CHECK(in_child([&] {
            if (::geteuid() == 0) REQUIRE(::setuid(kNobody) == 0);
            CHECK(prepare_cache_directory(path).code() == Code::io);
            CHECK(prepare_cache_directory(path + "/deeper").code() == Code::io);
          }) == 0);
  }
}

}  // namespace
}  // namespace kiln::test
