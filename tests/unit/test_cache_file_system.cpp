// SPDX-License-Identifier: Apache-2.0
#include "cache/directory.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace kiln {
namespace {

using test::TemporaryDirectory;

// On a network file system, if its name is one.
Environment environment_on(const std::string& file_system, const std::string& local_directory) {
  Environment environment;
  environment.test_file_system = file_system;
  environment.local_dir = local_directory;
  return environment;
}

constexpr const char* kCache = "/home/user/.cache/kiln";

}  // namespace

TEST_SUITE("file_system_of") {
  TEST_CASE("what the kernel makes up is not local") {
    const auto proc = file_system_of("/proc/self");
    REQUIRE(proc.is_ok());
    CHECK_FALSE(proc->is_local);
    CHECK(proc->name == "0x9fa0");
  }

  TEST_CASE("a path that is not there is on its parent's") {
    const TemporaryDirectory directory;
    const auto here = file_system_of(directory.path());
    const auto below = file_system_of(directory.path() + "/a/b/c");
    REQUIRE(here.is_ok());
    REQUIRE(below.is_ok());
    CHECK(below->name == here->name);
    CHECK(below->is_local == here->is_local);
  }
}

TEST_SUITE("place_store") {
  TEST_CASE("on a file system that is known to be local the database is in the cache directory") {
    for (const char* name : {"ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay"}) {
      const auto place = place_store({kCache, "HOME"}, environment_on(name, "/nowhere"));
      REQUIRE(place.is_ok());
      CHECK(place->directory == kCache);
      CHECK(place->file_system.name == name);
      CHECK(place->moved_because.empty());
    }
  }

  TEST_CASE("on any other it is in a local directory, and the reason is told") {
    const TemporaryDirectory directory;
    const std::string local = directory.path() + "/local";
    for (const char* name : {"nfs", "cifs", "smb2", "ceph", "lustre", "fuse", "9p", "0x9fa0", ""}) {
      const auto place = place_store({kCache, "HOME"}, environment_on(name, local));
      REQUIRE(place.is_ok());
      CHECK(place->directory == local);
      CHECK(place->moved_because.find(kCache) != std::string::npos);
    }
    struct stat status {};
    CHECK(::stat(local.c_str(), &status) != 0);  // nothing was made
  }

  TEST_CASE("KILN_CACHE_LOCAL overrides") {
    Environment environment = environment_on("nfs", "/nowhere");
    environment.cache_local = true;
    CHECK(place_store({kCache, "HOME"}, environment)->directory == kCache);
  }

  TEST_CASE("a local directory that others can write, a link or a file is passed over") {
    const TemporaryDirectory directory;
    const std::string local = directory.path() + "/local";
    const auto place = [&] {
      return place_store({kCache, "HOME"}, environment_on("nfs", local))->directory;
    };
    REQUIRE(::mkdir(local.c_str(), 0700) == 0);
    CHECK(place() == local);
    REQUIRE(::chmod(local.c_str(), 0777) == 0);
    CHECK(place() != local);
    REQUIRE(::rmdir(local.c_str()) == 0);
    REQUIRE(::symlink(directory.path().c_str(), local.c_str()) == 0);
    CHECK(place() != local);
    REQUIRE(::unlink(local.c_str()) == 0);
    std::ofstream(local) << "text";
    CHECK(place() != local);
  }

  TEST_CASE("a relative KILN_LOCAL_DIR is refused") {
    const auto place = place_store({kCache, "HOME"}, environment_on("nfs", "local"));
    CHECK(place.status().code() == Code::invalid_argument);
    CHECK(place.status().message() == "KILN_LOCAL_DIR is \"local\"; it must be absolute");
  }
}

}  // namespace kiln
