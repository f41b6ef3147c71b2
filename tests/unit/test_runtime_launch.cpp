// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace kiln {
namespace {

constexpr std::int32_t kRows = 3;

// static_quant as if it had been compiled: eight bytes for pointers and strides, four for rows.
CompiledKernel compiled() {
  const Catalog catalog = *Catalog::open({});
  const Variant variant = *Variant::parse(catalog, "static_quant:vector=8");
  CompiledKernel kernel{variant, *specialize(variant, {9, 0}), {}, {}};
  std::int32_t offset = 0;
  for (const KernelArgument& argument : variant.manifest().arguments) {
    const std::int32_t size = argument.kind == ArgumentKind::int32 ? 4 : 8;
    kernel.artifact.layout.push_back({offset, size});
    offset += size;
  }
  return kernel;
}

const void* address(std::uint64_t value) {
  const void* pointer = nullptr;
  std::memcpy(&pointer, &value, sizeof(pointer));
  return pointer;
}

std::vector<Argument> good_arguments() {
  return {Argument::of_pointer(address(0x1000)),
          Argument::of_pointer(address(0x2004)),
          Argument::of_pointer(address(0x3008)),
          Argument::of_pointer(nullptr),  // out_e5m2
          Argument::of_int32(1),
          Argument::of_int32(kRows),
          Argument::of_int64(64),
          Argument::of_int64(64),
          Argument::of_int64(192),
          Argument::of_int64(128),
          Argument::of_int64(384)};
}

std::string message_with(std::size_t index, const Argument& argument) {
  std::vector<Argument> arguments = good_arguments();
  arguments[index] = argument;
  const Status status = check_arguments(compiled(), arguments);
  CHECK(status.code() == Code::invalid_argument);
  return status.message();
}

}  // namespace

TEST_SUITE("check_arguments") {
  TEST_CASE("arguments that fit pass") {
    CHECK(check_arguments(compiled(), good_arguments()).is_ok());
  }

  TEST_CASE("a wrong count is refused") {
    std::vector<Argument> arguments = good_arguments();
    arguments.pop_back();
    CHECK(check_arguments(compiled(), arguments).message() ==
          "10 arguments are given; \"static_quant\" takes 11");
    CHECK(check_arguments(compiled(), {}).message() ==
          "0 arguments are given; \"static_quant\" takes 11");
  }

  TEST_CASE("a wrong type is refused") {
    CHECK(message_with(5, Argument::of_int64(kRows)) ==
          "argument \"rows\" is given as int64; it is a int32");
    CHECK(message_with(0, Argument::of_float32(1)) ==
          "argument \"x\" is given as float32; it is a pointer");
  }

  TEST_CASE("a size that differs from the compiled kernel's is refused") {
    CompiledKernel kernel = compiled();
    kernel.artifact.layout[5].size_bytes = 8;
    CHECK(check_arguments(kernel, good_arguments()).message() ==
          "argument \"rows\" has 4 bytes; the compiled kernel takes 8");
    kernel.artifact.layout.pop_back();
    CHECK(check_arguments(kernel, good_arguments()).message() ==
          "the manifest of \"static_quant\" lists 11 arguments; the compiled kernel takes 10");
  }

  TEST_CASE("null and misaligned pointers are refused") {
    CHECK(message_with(1, Argument::of_pointer(nullptr)) == "argument \"input_scale\" is null");
    CHECK(message_with(0, Argument::of_pointer(address(0x1008))) ==
          "argument \"x\" is 0x1008; this variant needs a multiple of 16 bytes");
    CHECK(message_with(2, Argument::of_pointer(address(0x3004))) ==
          "argument \"out_e4m3\" is 0x3004; this variant needs a multiple of 8 bytes");
  }

  TEST_CASE("zero rows and odd strides are refused") {
    CHECK(message_with(5, Argument::of_int32(0)) == "argument \"rows\" is 0; the least is 1");
    CHECK(message_with(7, Argument::of_int64(60)) ==
          "argument \"x_row_stride\" is 60; this variant needs a multiple of 8");
  }

  TEST_CASE("an argument that the variant does not use must be null") {
    const Catalog catalog = *Catalog::open({});
    const Variant variant = *Variant::parse(catalog, "layernorm_modulate:hidden=64,out=bf16");
    CompiledKernel kernel{variant, *specialize(variant, {9, 0}), {}, {}};
    std::vector<Argument> arguments;
    for (const KernelArgument& argument : variant.manifest().arguments) {
      const bool is_wide =
          argument.kind == ArgumentKind::pointer || argument.kind == ArgumentKind::int64;
      kernel.artifact.layout.push_back({0, is_wide ? 8 : 4});
      switch (argument.kind) {
        case ArgumentKind::pointer:
          arguments.push_back(Argument::of_pointer(address(0x1000)));
          break;
        case ArgumentKind::int32:
          arguments.push_back(Argument::of_int32(1));
          break;
        case ArgumentKind::int64:
          arguments.push_back(Argument::of_int64(64));
          break;
        case ArgumentKind::float32:
          arguments.push_back(Argument::of_float32(1e-6F));
          break;
      }
    }
    CHECK(check_arguments(kernel, arguments).message() ==
          "argument \"bias\" is 0x1000; this variant does not use it, so it must be null");
  }
}

}  // namespace kiln
