// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <zstd.h>

#include <functional>
#include <set>

namespace kiln::test {
namespace {

Artifact sample_artifact() {
  return {.image = sample_image(1),
          .target = {.capability = {9, 0}, .suffix = 'a'},
          .lowered_name = "_ZN4kiln1fE",
          .layout = {{0, 8}, {8, 4}, {12, 2147483647}},
          .resources = {.registers = 1,
                        .shared_bytes = 2,
                        .local_bytes = 3,
                        .spill_store_bytes = 4,
                        .spill_load_bytes = 5},
          .toolchain = "nvrtc-13.0+a+1+b",
          .compile_us = 99,
          .log = "w"};
}

TEST_SUITE("Entry") {
  TEST_CASE("an artifact comes back from its facts") {
    const Artifact artifact = sample_artifact();
    const EntryFacts facts =
        make_facts(digest_of("k"), digest_of("r"), "t", "t:a=1", "{}", artifact, 1234);
    CHECK(facts.key == digest_of("k"));
    CHECK(facts.request == digest_of("r"));
    CHECK(facts.template_name == "t");
    CHECK(facts.spec == "t:a=1");
    CHECK(facts.key_fields == "{}");
    CHECK(facts.created_at == 1234);
    CHECK(facts.layout == "[[0,8],[8,4],[12,2147483647]]");
    CHECK(facts.image_bytes == 20000);
    const auto back = make_artifact(facts, artifact.image);
    REQUIRE(back.is_ok());
    CHECK(back->image == artifact.image);
    CHECK(back->target == artifact.target);
    CHECK(back->lowered_name == artifact.lowered_name);
    CHECK(back->layout == artifact.layout);
    CHECK(back->resources == artifact.resources);
    CHECK(back->toolchain == artifact.toolchain);
    CHECK(back->compile_us == artifact.compile_us);
    CHECK(back->log == artifact.log);
  }

  TEST_CASE("a layout or target that nobody writes is corrupt") {
    const EntryFacts good = make_facts({}, {}, "t", "t", "{}", sample_artifact(), 0);
    for (const char* layout : {"", "x", "{}", "[[0]]", "[[0,8,1]]", "[[0,-8]]", "[[0,8.5]]",
                               "[[0,2147483648]]", "[[\"0\",8]]", "[[0, 8]]", "[0,8]"}) {
      EntryFacts facts = good;
      facts.layout = layout;
      CAPTURE(layout);
      CHECK(make_artifact(facts, "").status().code() == Code::corrupt);
    }
    for (const char* target : {"", "90", "9.0", "sm_9", "compute_90", "sm_90a "}) {
      EntryFacts facts = good;
      facts.target = target;
      CAPTURE(target);
      CHECK(make_artifact(facts, "").status().code() == Code::corrupt);
    }
    EntryFacts no_parameters = good;
    no_parameters.layout = "[]";
    CHECK(make_artifact(no_parameters, "").is_ok());
  }

  TEST_CASE("the digest covers every fact and every byte of the stored image") {
    const EntryFacts facts = sample_facts(1);
    const std::string image = sample_image(1, 500);
    std::set<Digest> digests = {entry_digest(facts, image)};
    const std::vector<std::function<void(EntryFacts&)>> changes = {
        [](EntryFacts& f) { f.key.bytes[31] ^= 1; },
        [](EntryFacts& f) { f.request.bytes[0] ^= 1; },
        [](EntryFacts& f) { f.template_name += '\0'; },
        [](EntryFacts& f) { f.spec += 'x'; },
        [](EntryFacts& f) { f.target = "sm_90"; },
        [](EntryFacts& f) { f.toolchain.clear(); },
        [](EntryFacts& f) { f.lowered_name += 'x'; },
        [](EntryFacts& f) { f.layout += ' '; },
        [](EntryFacts& f) { ++f.resources.registers; },
        [](EntryFacts& f) { ++f.resources.shared_bytes; },
        [](EntryFacts& f) { ++f.resources.local_bytes; },
        [](EntryFacts& f) { ++f.resources.spill_store_bytes; },
        [](EntryFacts& f) { ++f.resources.spill_load_bytes; },
        [](EntryFacts& f) { f.key_fields += ' '; },
        [](EntryFacts& f) { f.log.clear(); },
        [](EntryFacts& f) { ++f.compile_us; },
        [](EntryFacts& f) { --f.created_at; },
        [](EntryFacts& f) { ++f.image_bytes; },
        // Text that moves from one field to the next.
        [](EntryFacts& f) { f.template_name += f.spec, f.spec.clear(); },
        [](EntryFacts& f) { std::swap(f.key, f.request); },
    };
    for (const auto& change : changes) {
      EntryFacts changed = facts;
      change(changed);
      CHECK(digests.insert(entry_digest(changed, image)).second);
    }
    for (std::size_t i = 0; i < image.size(); ++i) {
      std::string changed = image;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      CHECK(digests.insert(entry_digest(facts, changed)).second);
    }
    CHECK(digests.insert(entry_digest(facts, "")).second);
    CHECK(digests.insert(entry_digest(facts, image.substr(1))).second);
  }

  TEST_CASE("the digest of a known entry does not change") {
    CHECK(entry_digest(sample_facts(1), "image").hex() ==
          "00341e289ce6efd993c0345561ae4c31472aa46b607a77d94c60f8b272646778");
  }

  TEST_CASE("an image comes back from its frame") {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{20000}}) {
      const std::string image = sample_image(7, bytes);
      const auto stored = compress_image(image);
      REQUIRE(stored.is_ok());
      CHECK(ZSTD_getFrameContentSize(stored->data(), stored->size()) == bytes);
      CHECK((static_cast<unsigned char>(stored->at(4)) & 4U) == 0);  // no checksum
      const auto back = decompress_image(*stored, static_cast<std::int64_t>(bytes));
      REQUIRE(back.is_ok());
      CHECK(*back == image);
    }
  }

  TEST_CASE("a frame that does not hold exactly the image is corrupt") {
    const std::string image = sample_image(7);
    const std::string stored = *compress_image(image);
    const auto code = [](std::string_view bytes, std::int64_t size) {
      return decompress_image(bytes, size).status().code();
    };
    CHECK(code(stored, 19999) == Code::corrupt);
    CHECK(code(stored, 20001) == Code::corrupt);
    CHECK(code(stored, -1) == Code::corrupt);
    CHECK(code(stored + "x", 20000) == Code::corrupt);
    CHECK(code(stored + stored, 20000) == Code::corrupt);
    CHECK(code(stored.substr(0, stored.size() - 1), 20000) == Code::corrupt);
    CHECK(code("", 0) == Code::corrupt);
    CHECK(code("text", 4) == Code::corrupt);
  }

  TEST_CASE("a text comes back from its frame, and what is none or holds too much is corrupt") {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1500}, kLongestFact}) {
      const std::string text(bytes, 'x');
      const auto back = decompress_text(*compress_text(text));
      REQUIRE(back.is_ok());
      CHECK(*back == text);
    }
    const std::string stored = *compress_text("text");
    for (const std::string& wrong : {std::string(), std::string("text"), stored + "x",
                                     stored + stored, stored.substr(0, stored.size() - 1),
                                     *compress_text(std::string(kLongestFact + 1, 'x'))}) {
      CHECK(decompress_text(wrong).status().code() == Code::corrupt);
    }
  }

  TEST_CASE("a frame that claims more than 64 MiB is refused before it is unpacked") {
    const std::string zeros((64U << 20U) + 1, '\0');
    std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
    bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 3));
    CHECK(bomb.size() < 10000);
    const auto image = decompress_image(bomb, (64 << 20) + 1);
    CHECK(image.status().code() == Code::corrupt);
    CHECK(image.status().message().find("at most") != std::string::npos);
    CHECK_FALSE(compress_image(zeros).is_ok());
  }
}

}  // namespace
}  // namespace kiln::test
