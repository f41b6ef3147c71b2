// SPDX-License-Identifier: Apache-2.0
#include "jit/cubin.h"
#include "tests/unit/cubin_builder.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace kiln {
namespace {

using test::CubinBuilder;

const std::string kOddRecord("\x03\x1b\xff\x00", 4);  // keeps its value in the record's head

// Two kernels; "axpy" is symbol 2.
CubinBuilder sample() {
  CubinBuilder builder;
  builder.kernel("other").kernel("axpy").symbol("helper", 0x02, 0);
  builder.section(".nv.info", CubinBuilder::kInfo,
                  test::registers(1, 99) + test::frame(1, 16) + test::registers(2, 40) +
                      test::frame(2, 8) + test::stack(2, 400) + test::registers(3, 7));
  builder.section(".nv.info.axpy", CubinBuilder::kInfo,
                  kOddRecord + test::parameter(2, 16, 24) + test::parameter(1, 8, 8) +
                      test::parameter(0, 0, 1) + kOddRecord);
  builder.section(".nv.info.other", CubinBuilder::kInfo, "");
  builder.empty_section(".nv.shared.axpy", 1024 + 512);
  return builder;
}

TEST_SUITE("read_cubin") {
  TEST_CASE("the facts of the named kernel are read") {
    const auto facts = read_cubin(sample().build(), "axpy");
    REQUIRE(facts.is_ok());
    CHECK(facts->capability == ComputeCapability{9, 0});
    CHECK(facts->layout == std::vector<KernelParameter>{{0, 1}, {8, 8}, {16, 24}});
    CHECK(facts->registers == 40);
    CHECK(facts->local_bytes == 400);
    CHECK(facts->shared_bytes == 512);
  }

  TEST_CASE("a kernel without parameters and shared memory has none") {
    const auto facts = read_cubin(sample().build(), "other");
    REQUIRE(facts.is_ok());
    CHECK(facts->layout.empty());
    CHECK(facts->registers == 99);
    CHECK(facts->local_bytes == 16);
    CHECK(facts->shared_bytes == 0);
  }

  TEST_CASE("below 9.0 nothing of shared memory is reserved") {
    CubinBuilder builder = sample();
    builder.flags = 0x06005904;
    const auto facts = read_cubin(builder.build(), "axpy");
    REQUIRE(facts.is_ok());
    CHECK(facts->capability == ComputeCapability{8, 9});
    CHECK(facts->shared_bytes == 1536);
  }

  TEST_CASE("both forms of header name the architecture") {
    CubinBuilder builder = sample();
    builder.flags = 0x06007802;
    CHECK(read_cubin(builder.build(), "axpy")->capability == ComputeCapability{12, 0});
    builder.abi = 0x33;
    builder.flags = 0x5a0d5a;
    CHECK(read_cubin(builder.build(), "axpy")->capability == ComputeCapability{9, 0});
  }

  TEST_CASE("the record of large parameters is read") {
    CubinBuilder builder;
    builder.kernel("k").section(".nv.info", CubinBuilder::kInfo, test::registers(1, 8));
    builder.section(".nv.info.k", CubinBuilder::kInfo,
                    test::large_parameter(1, 20000, 4) + test::large_parameter(0, 0, 20000));
    const auto facts = read_cubin(builder.build(), "k");
    REQUIRE(facts.is_ok());
    CHECK(facts->layout == std::vector<KernelParameter>{{0, 20000}, {20000, 4}});
  }

  TEST_CASE("a name that is no kernel is corrupt and named") {
    for (const char* name : {"nothing", "helper", "", "axp"}) {
      const auto facts = read_cubin(sample().build(), name);
      REQUIRE_FALSE(facts.is_ok());
      CHECK(facts.status().code() == Code::corrupt);
      CHECK(facts.status().message().find('"' + std::string(name) + '"') != std::string::npos);
    }
  }

  TEST_CASE("a gap in the parameters is corrupt") {
    CubinBuilder builder;
    builder.kernel("k").section(".nv.info", CubinBuilder::kInfo, test::registers(1, 8));
    builder.section(".nv.info.k", CubinBuilder::kInfo,
                    test::parameter(0, 0, 8) + test::parameter(2, 16, 8));
    CHECK(read_cubin(builder.build(), "k").status().code() == Code::corrupt);
  }

  TEST_CASE("a kernel without a register count or parameter section is corrupt") {
    CubinBuilder builder;
    builder.kernel("k").section(".nv.info.k", CubinBuilder::kInfo, "");
    CHECK(read_cubin(builder.build(), "k").status().code() == Code::corrupt);
    builder.section(".nv.info", CubinBuilder::kInfo, test::frame(1, 0));
    CHECK(read_cubin(builder.build(), "k").status().code() == Code::corrupt);
    CubinBuilder other;
    other.kernel("k").section(".nv.info", CubinBuilder::kInfo, test::registers(1, 8));
    CHECK(read_cubin(other.build(), "k").status().code() == Code::corrupt);
  }

  TEST_CASE("what is no cubin is corrupt") {
    CubinBuilder host = sample();
    host.machine = EM_X86_64;
    CubinBuilder unknown = sample();
    unknown.abi = 0;
    for (const std::string& image : {std::string(),
                                     std::string("\x7f"
                                                 "ELF"),
                                     std::string(4096, '\0'), std::string("// PTX\n.version 8.0"),
                                     host.build(), unknown.build()}) {
      CHECK(read_cubin(image, "axpy").status().code() == Code::corrupt);
    }
  }

  TEST_CASE("no truncation and no changed byte makes the reader leave the image") {
    const std::string image = sample().build();
    REQUIRE(read_cubin(image, "axpy").is_ok());
    for (std::size_t size = 0; size < image.size(); ++size) {
      // A copy of its own, so that a sanitizer sees the first byte past the end.
      const std::string cut = image.substr(0, size);
      CHECK(read_cubin(std::string_view(cut), "axpy").status().code() == Code::corrupt);
    }
    int failures = 0;
    for (std::size_t at = 0; at < image.size(); ++at) {
      for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
        std::string changed = image;
        changed[at] = static_cast<char>(value);
        const auto facts = read_cubin(changed, "axpy");
        if (!facts.is_ok()) ++failures;
        if (!facts.is_ok()) CHECK(facts.status().code() == Code::corrupt);
      }
    }
    CHECK(failures > 0);
  }
}

}  // namespace
}  // namespace kiln
