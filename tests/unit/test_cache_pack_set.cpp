// SPDX-License-Identifier: Apache-2.0
// Where packs are found, and how several are searched.
#include "cache/pack_path.h"
#include "cache/pack_set.h"
#include "key_fixture.h"
#include "pack_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

bool finds(PackSet& packs, std::uint32_t seed) {
  const auto found = packs.find(LookUp::key, keyed_facts(seed).key);
  if (!found) return false;
  CHECK(found->facts == keyed_facts(seed));
  CHECK(found->image == sample_image(seed));
  return true;
}

std::vector<std::string> names_of(const std::vector<PackFile>& files) {
  std::vector<std::string> names;
  for (const PackFile& file : files)
    names.push_back(file.path.substr(file.path.rfind('/') + 1));
  return names;
}

// A directory that the set may look into.
std::string make_directory(const TemporaryDirectory& directory, const std::string& name) {
  const std::string path = directory.file(name);
  REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  return path;
}

TEST_SUITE("PackSet") {
  TEST_CASE("looks into the path, then the cache directory, then the installation, by name") {
    const TemporaryDirectory directory;
    const std::string listed = make_directory(directory, "listed");
    const std::string cache = make_directory(directory, "cache");
    const std::string installed = make_directory(directory, "installed");
    for (const char* name : {"b.kpack", "a.kpack", "c.txt", ".d.kpack", ".kpack-1.new"})
      write_text(listed + "/" + name, "");
    write_text(directory.file("single"), "");
    make_directory(directory, "cache/packs");
    write_text(cache + "/packs/e.kpack", "");
    write_text(installed + "/f.kpack", "");
    Environment environment;
    environment.pack_path = {directory.file("single"), listed};
    PackPlaces places = pack_places(environment, cache);
    CHECK(places.installed->ends_with("/share/kiln/packs"));
    places.installed = installed;
    const auto files = find_packs(places);
    CHECK(names_of(files) ==
          std::vector<std::string>{"single", "a.kpack", "b.kpack", "e.kpack", "f.kpack"});
    CHECK(files[0].origin == "KILN_PACK_PATH");
    CHECK(files[3].origin == "cache directory");
    CHECK(files[4].origin == "installation");
    places.cache_packs = directory.file("absent");
    places.installed = directory.file("absent");
    CHECK(find_packs(places).size() == 3);
  }

  TEST_CASE("says why a place is passed over") {
    const TemporaryDirectory directory;
    const std::string open = make_directory(directory, "open");
    write_text(open + "/a.kpack", "");
    REQUIRE(::chmod(open.c_str(), 0777) == 0);
    PackPlaces places{.path = {"relative/a.kpack", open}};
    const auto files = find_packs(places);
    REQUIRE(files.size() == 2);
    CHECK(files[0].status.message().find("absolute") != std::string::npos);
    CHECK(files[1].status.message().find("0777") != std::string::npos);
    places.trust_others = true;
    CHECK(find_packs(places)[1].status.is_ok());
  }

  TEST_CASE("the first pack that has an entry serves it; trouble is one warning, and a miss") {
    const TemporaryDirectory directory;
    make_pack(directory, "a.kpack", {1});
    write_text(directory.file("b.kpack"), "text");
    const std::string damaged = make_pack(directory, "c.kpack", {2, 3});
    RawDatabase(damaged).execute("UPDATE entries SET registers = 1");
    make_pack(directory, "d.kpack", {2});
    const LogCapture log;
    PackSet packs({.path = {directory.path()}}, {});
    CHECK(finds(packs, 1));
    CHECK(log.warnings() == 0);  // the others are not opened yet
    CHECK(finds(packs, 2));
    CHECK(log.warnings() == 2);
    CHECK_FALSE(finds(packs, 3));
    CHECK_FALSE(finds(packs, 4));
    CHECK(finds(packs, 2));
    CHECK(log.warnings() == 2);
  }

  TEST_CASE("a new set finds new packs") {
    const TemporaryDirectory directory;
    make_pack(directory, "a.kpack", {1});
    PackSet before({.path = {directory.path()}}, {});
    CHECK(finds(before, 1));
    make_pack(directory, "b.kpack", {2});
    make_pack(directory, "a.kpack", {3});
    CHECK_FALSE(finds(before, 2));
    CHECK(finds(before, 1));
    PackSet after({.path = {directory.path()}}, {});
    CHECK(finds(after, 2));
    CHECK(finds(after, 3));
    CHECK_FALSE(finds(after, 1));
  }

  TEST_CASE("with trusted keys the rest is refused, and without a usable key everything") {
    const TemporaryDirectory directory;
    const TemporaryDirectory keys;
    write_key_pair(keys.file("k"));
    const auto signer = SigningKey::read(keys.file("k.pem"));
    make_pack(directory, "a.kpack", {1, 2});
    make_pack(directory, "b.kpack", {1}, &*signer);
    {
      const LogCapture log;
      PackSet packs({.path = {directory.path()}}, {keys.file("k.pub")});
      CHECK(finds(packs, 1));
      CHECK_FALSE(finds(packs, 2));
      CHECK(log.warnings() == 1);
    }
    for (const char* key : {"absent.pub", "k.pem"}) {
      const LogCapture log;
      PackSet packs({.path = {directory.path()}}, {keys.file("k.pub"), keys.file(key)});
      CHECK_FALSE(finds(packs, 1));
      CHECK_FALSE(finds(packs, 1));
      CHECK(log.warnings() == 1);
    }
  }

  TEST_CASE("threads share it, and a forked child opens packs of its own") {
    const TemporaryDirectory directory;
    make_pack(directory, "a.kpack", {1, 2});
    PackSet packs({.path = {directory.path()}}, {});
    std::atomic<int> found{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          if (packs.find(LookUp::request, keyed_facts(1 + i % 2).request)) ++found;
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(found == 200);
    // What a child opens now is another file: had it the parent's, it would find 1.
    make_pack(directory, "a.kpack", {3});
    CHECK(in_child([&] {
            CHECK(finds(packs, 3));
            CHECK_FALSE(finds(packs, 1));
          }) == 0);
    CHECK(finds(packs, 1));
  }
}

}  // namespace
}  // namespace kiln::test
