// SPDX-License-Identifier: Apache-2.0
#include "jit/key.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace kiln {
namespace {

KeyFields sample() {
  KeyFields fields;
  fields.template_name = "axpy";
  fields.sources = {{"axpy.cuh", sha256("template <int N> __global__ void axpy(float* y) {}\n")},
                    {"kiln/prelude.cuh", sha256("#pragma once\n")}};
  fields.parameters = {{"block_size", "128"}, {"dtype", "bf16"}};
  fields.name_expression = "kiln::axpy<128, kiln::Type::bf16>";
  fields.target = "sm_90a";
  fields.options = {"--gpu-architecture=sm_90a", "--std=c++17", "--no-cache"};
  fields.toolchain = "nvrtc-13.0+00ff+109338064+" + sha256("builtins").hex();
  return fields;
}

// The format once more, written from its description: each field is its tag and its value, each
// preceded by its length in eight bytes, little end first.
class ByHand {
 public:
  ByHand& operator()(const std::string& tag, const std::string& value) {
    for (const std::string& part : {tag, value}) {
      for (int shift = 0; shift < 64; shift += 8) {
        bytes_.push_back(static_cast<char>((part.size() >> shift) & 0xFFU));
      }
      bytes_ += part;
    }
    return *this;
  }
  std::string sha256_hex() const { return sha256(bytes_).hex(); }

 private:
  std::string bytes_;
};

// Each changes one thing that is part of a request.
const std::vector<std::function<void(KeyFields&)>> kRequestChanges = {
    [](KeyFields& f) { f.template_name += "2"; },
    [](KeyFields& f) { f.sources[0].first = "axpy2.cuh"; },
    [](KeyFields& f) { f.sources[0].second = sha256("other"); },
    [](KeyFields& f) { f.sources[1].second.bytes[31] ^= 1U; },
    [](KeyFields& f) { f.sources.pop_back(); },
    [](KeyFields& f) { f.sources.emplace_back("kiln/zeta.cuh", Digest{}); },
    [](KeyFields& f) { f.parameters[0].first = "block"; },
    [](KeyFields& f) { f.parameters[0].second = "256"; },
    [](KeyFields& f) { f.parameters[1].second = "f16"; },
    [](KeyFields& f) { f.parameters.pop_back(); },
    [](KeyFields& f) { std::swap(f.parameters[0], f.parameters[1]); },
    [](KeyFields& f) { f.name_expression += " "; },
    [](KeyFields& f) { f.target = "sm_90"; },
};
// Each changes one thing that only the key covers.
const std::vector<std::function<void(KeyFields&)>> kCompilerChanges = {
    [](KeyFields& f) { f.options.pop_back(); },
    [](KeyFields& f) { f.options.emplace_back("--x"); },
    [](KeyFields& f) { f.options[1] = "--std=c++20"; },
    [](KeyFields& f) { std::swap(f.options[1], f.options[2]); },
    [](KeyFields& f) { f.toolchain[6] = '2'; },
    [](KeyFields& f) { f.toolchain.clear(); },
};

TEST_SUITE("KeyFields") {
  // The digests below were computed with Python's hashlib from the format's description.
  TEST_CASE("golden vectors") {
    CHECK(kKeySchema == 1);
    CHECK(sample().key().hex() ==
          "bf45f586756f02f0181182713640749c3c1813ab50485b19bf5a5ae6c4a64a90");
    CHECK(sample().request().hex() ==
          "2a3d1bc4f80ce1e6b3b620bacd77219f73b9bdf85b02102f0aa86ec6bd0dc618");
    CHECK(KeyFields{}.key().hex() ==
          "fbb13219c5a7faf86e32d8ce208ed92ff00d4a588daaddbdf31ffab1fb900432");
    CHECK(KeyFields{}.request().hex() ==
          "96d04e67bbcf16600d0cdb85fc8a17a4ffd688126ad1cb502977dee618f72152");
  }

  TEST_CASE("the key is SHA-256 over exactly the described fields") {
    const KeyFields fields = sample();
    const auto request = [&](ByHand& hand) {
      hand("template", "axpy")("sources", "2")("source_name", "axpy.cuh");
      hand("source_sha256", fields.sources[0].second.hex())("source_name", "kiln/prelude.cuh");
      hand("source_sha256", fields.sources[1].second.hex())("parameters", "2");
      hand("parameter_name", "block_size")("parameter_value", "128");
      hand("parameter_name", "dtype")("parameter_value", "bf16");
      hand("name_expression", fields.name_expression)("target", "sm_90a");
    };
    ByHand key;
    key("kiln key", "1");
    request(key);
    key("options", "3")("option", "--gpu-architecture=sm_90a")("option", "--std=c++17");
    key("option", "--no-cache")("toolchain", fields.toolchain);
    CHECK(fields.key().hex() == key.sha256_hex());
    ByHand without_compiler;
    without_compiler("kiln request", "1");
    request(without_compiler);
    CHECK(fields.request().hex() == without_compiler.sha256_hex());
  }

  TEST_CASE("every field changes the key, and no two changes agree") {
    std::set<Digest> keys = {sample().key()};
    std::size_t count = 1;
    for (const auto* changes : {&kRequestChanges, &kCompilerChanges}) {
      for (const auto& change : *changes) {
        KeyFields fields = sample();
        change(fields);
        CHECK(keys.insert(fields.key()).second);
        CHECK(fields != sample());
        ++count;
      }
    }
    CHECK(keys.size() == count);
  }

  TEST_CASE("the request digest covers what was asked for and not who compiles it") {
    std::set<Digest> requests = {sample().request()};
    for (const auto& change : kRequestChanges) {
      KeyFields fields = sample();
      change(fields);
      CHECK(requests.insert(fields.request()).second);
    }
    for (const auto& change : kCompilerChanges) {
      KeyFields fields = sample();
      change(fields);
      CHECK(fields.request() == sample().request());
    }
    CHECK(sample().request() != sample().key());
  }

  TEST_CASE("a byte that moves to the neighbouring field changes the key") {
    KeyFields base = sample();
    KeyFields moved = base;
    moved.parameters = {{"block_size1", "28"}, {"dtype", "bf16"}};
    CHECK(moved.key() != base.key());
    moved = base;
    moved.parameters = {{"block_size", "128"}, {"dtypeb", "f16"}};
    CHECK(moved.key() != base.key());
    moved = base;
    moved.options = {"--gpu-architecture=sm_90a--std=c++17", "--no-cache"};
    CHECK(moved.key() != base.key());
    moved = base;
    moved.name_expression += moved.target;
    moved.target.clear();
    CHECK(moved.key() != base.key());
    moved = base;
    moved.options.push_back(moved.toolchain);
    moved.toolchain.clear();
    CHECK(moved.key() != base.key());
    // Text that looks like the encoding of the next field.
    moved = base;
    moved.options.pop_back();
    moved.options.back() += std::string("\6\0\0\0\0\0\0\0option\12\0\0\0\0\0\0\0--no-cache", 32);
    CHECK(moved.key() != base.key());
  }

  TEST_CASE("different random fields have different keys, equal ones the same") {
    std::mt19937 random(20240917);  // NOLINT(cert-msc32-c,cert-msc51-cpp): repeatable on purpose
    // Few letters and short texts, so that most pairs share most of their bytes.
    const auto text = [&] {
      std::string result;
      for (auto length = random() % 3; length > 0; --length)
        result += "ab"[random() % 2];
      return result;
    };
    std::vector<KeyFields> seen;
    std::set<Digest> keys;
    for (int i = 0; i < 3000; ++i) {
      KeyFields fields;
      fields.template_name = text();
      for (auto n = random() % 2; n > 0; --n)
        fields.sources.emplace_back(text(), sha256(text()));
      for (auto n = random() % 3; n > 0; --n)
        fields.parameters.emplace_back(text(), text());
      fields.name_expression = text();
      fields.target = text();
      for (auto n = random() % 3; n > 0; --n)
        fields.options.push_back(text());
      fields.toolchain = text();
      const bool is_new = std::find(seen.begin(), seen.end(), fields) == seen.end();
      CHECK(keys.insert(fields.key()).second == is_new);
      if (is_new) seen.push_back(fields);
    }
    CHECK(keys.size() == seen.size());
  }
}

TEST_SUITE("KeyFields JSON") {
  TEST_CASE("fields survive the round trip, and equal fields have one text") {
    for (const KeyFields& fields : {sample(), KeyFields{}}) {
      const auto again = KeyFields::from_json(fields.to_json());
      REQUIRE(again.is_ok());
      CHECK(*again == fields);
      CHECK(again->key() == fields.key());
      CHECK(again->to_json() == fields.to_json());
    }
    CHECK(KeyFields{}.to_json() ==
          R"({"name_expression":"","options":[],"parameters":[],"schema":1,"sources":[],)"
          R"("target":"","template":"","toolchain":""})");
  }

  TEST_CASE("any bytes survive the round trip") {
    KeyFields fields = sample();
    fields.template_name = "quote \" back \\ line \n tab \t";
    fields.sources[0].first = std::string("nul\0byte", 8);
    fields.parameters[0].second = "\xc3\xa4 is UTF-8";
    fields.parameters[1].second = "\xff\xfe is not";
    fields.options[0] = "\x80";
    const auto again = KeyFields::from_json(fields.to_json());
    REQUIRE(again.is_ok());
    CHECK(*again == fields);
  }

  TEST_CASE("text cut short or with a bad value is corrupt") {
    const std::string json = sample().to_json();
    for (std::size_t size = 0; size < json.size(); ++size) {
      const auto fields = KeyFields::from_json(std::string_view(json).substr(0, size));
      REQUIRE_FALSE(fields.is_ok());
      CHECK(fields.status().code() == Code::corrupt);
    }
    const auto replaced = [&](const std::string& from, const std::string& to) {
      std::string text = json;
      const auto at = text.find(from);
      REQUIRE(at != std::string::npos);
      text.replace(at, from.size(), to);
      return KeyFields::from_json(text).status().code();
    };
    CHECK(replaced("\"axpy\"", "7") == Code::corrupt);
    CHECK(replaced("\"axpy\"", "null") == Code::corrupt);
    CHECK(replaced("\"axpy\"", R"({"hex":"0"})") == Code::corrupt);
    CHECK(replaced("\"axpy\"", R"({"hex":"zz"})") == Code::corrupt);
    CHECK(replaced("\"axpy\"", R"({"hex":"00","x":1})") == Code::corrupt);
    CHECK(replaced("\"template\"", "\"templates\"") == Code::corrupt);
    CHECK(replaced("{\"name", "{\"extra\":1,\"name") == Code::corrupt);
    CHECK(replaced("[\"block_size\",\"128\"]", "[\"block_size\"]") == Code::corrupt);
    CHECK(replaced("[\"block_size\",\"128\"]", "[\"block_size\",128]") == Code::corrupt);
    CHECK(replaced("[\"block_size\",\"128\"]", "\"block_size\"") == Code::corrupt);
    CHECK(replaced("\"--no-cache\"", "false") == Code::corrupt);
    const std::string digest = sample().sources[0].second.hex();
    CHECK(replaced(digest, digest.substr(1)) == Code::corrupt);
    CHECK(replaced(digest, "G" + digest.substr(1)) == Code::corrupt);
    for (const char* text :
         {"", "[]", "null", "{}", "{\"schema\":\"1\"}", "[[[[", "\xff", "1e999"}) {
      CHECK_MESSAGE(KeyFields::from_json(text).status().code() == Code::corrupt, text);
    }
  }

  TEST_CASE("another schema is unsupported, not corrupt") {
    for (const char* schema : {"0", "2", "-1", "18446744073709551615"}) {
      std::string json = sample().to_json();
      const std::string current = "\"schema\":1";
      json.replace(json.find(current), current.size(), std::string("\"schema\":") + schema);
      const auto fields = KeyFields::from_json(json);
      REQUIRE_FALSE(fields.is_ok());
      CHECK(fields.status().code() == Code::unsupported);
      CHECK(fields.status().message().find(schema) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kiln
