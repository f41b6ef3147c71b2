// SPDX-License-Identifier: Apache-2.0
// A store on a full disk. Mounts one of its own; exits 77, which means skipped, where that needs a
// privilege that is not there.
#define DOCTEST_CONFIG_IMPLEMENT
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>

#include <sys/mount.h>

#include <cstdio>
#include <filesystem>

namespace kiln::test {
namespace {

bool mount_small_disk(const std::string& path) {
  return ::mount("none", path.c_str(), "tmpfs", 0, "size=400k,mode=700") == 0;
}

bool can_mount() {
  const std::string path = std::filesystem::temp_directory_path() / "kiln-test-mount-XXXXXX";
  std::string made = path;
  if (::mkdtemp(made.data()) == nullptr) return false;
  const bool is_mounted = mount_small_disk(made);
  if (is_mounted) ::umount(made.c_str());
  std::filesystem::remove(made);
  return is_mounted;
}

TEST_SUITE("Store on a full disk") {
  TEST_CASE("a full disk is io, and the store can still be read") {
    const TemporaryDirectory directory;
    const int status = in_child([&] {
      REQUIRE(mount_small_disk(directory.path()));
      {
        const auto store = open_store(directory.path());
        put_sample(*store, 1);
        const std::string large = sample_image(2, 1000000);
        const Status put = store->put(sample_facts(2, large.size()), large);
        CHECK(put.code() == Code::io);
        CHECK((put.native_code() & 0xFF) == SQLITE_FULL);
        CHECK(finds_sample(*store, 1));
        CHECK(store->summary()->entries == 1);
      }
      CHECK(finds_sample(*open_store(directory.path()), 1));
      CHECK(::umount(directory.path().c_str()) == 0);
    });
    CHECK(status == 0);
  }
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) {
  if (!kiln::test::can_mount()) {
    std::puts("skipped: mounting needs a privilege");
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
