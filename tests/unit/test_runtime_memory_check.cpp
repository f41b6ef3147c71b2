// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_check.h"
#include "templates/tensor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace kiln {
namespace {

constexpr int kDevice = 1;
constexpr std::uint64_t kApart = std::uint64_t{1} << 32U;

// Allocations by their first address; every float in them is `scale`.
class FakeMemory : public MemoryInspector {
 public:
  std::map<std::uint64_t, Allocation> allocations;
  float scale = 0.5F;

  void add(std::uint64_t begin, std::uint64_t bytes, int device = kDevice) {
    allocations[begin] = {device, begin, bytes};
  }
  Result<Allocation> allocation(std::uint64_t address) const override {
    for (const auto& [begin, allocation] : allocations) {
      if (address >= begin && address < begin + allocation.bytes) return allocation;
    }
    return failure(Code::invalid_argument, "{:#x} is not memory of a device", address);
  }
  Result<float> read_float(std::uint64_t) const override { return scale; }
};

const void* pointer(std::uint64_t value) {
  const void* result = nullptr;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

// A launch of a spec: dense tensors, each at four gigabytes of its own, on rows of 64 elements.
struct Launch {
  Variant variant;
  IntegerArguments integers;
  std::map<std::string, std::uint64_t> addresses;
  FakeMemory memory;

  explicit Launch(const std::string& spec, const IntegerArguments& given = {{"rows", 4}})
      : variant(*Variant::parse(*Catalog::open({}), spec)),
        integers(*complete_arguments(variant, given)) {
    std::uint64_t next = kApart;
    const auto layouts = *tensor_layouts(variant, integers);
    for (const TensorLayout& layout : layouts) {
      addresses[layout.name] = next;
      memory.add(next, static_cast<std::uint64_t>(layout.span() * layout.element_bytes));
      next += kApart;
    }
  }

  std::int64_t& integer(const std::string& name) {
    for (auto& [key, value] : integers) {
      if (key == name) return value;
    }
    FAIL("no argument ", name);
    return integers.front().second;
  }

  Status check() {
    std::vector<Argument> arguments;
    for (const KernelArgument& declared : variant.manifest().arguments) {
      switch (declared.kind) {
        case ArgumentKind::pointer:
          arguments.push_back(Argument::of_pointer(
              addresses.count(declared.name) == 0 ? nullptr : pointer(addresses[declared.name])));
          break;
        case ArgumentKind::int32:
          arguments.push_back(
              Argument::of_int32(static_cast<std::int32_t>(integer(declared.name))));
          break;
        case ArgumentKind::int64:
          arguments.push_back(Argument::of_int64(integer(declared.name)));
          break;
        case ArgumentKind::float32:
          arguments.push_back(Argument::of_float32(1e-6F));
          break;
      }
    }
    return check_memory(variant, arguments, kDevice, memory);
  }
  std::string message() {
    const Status status = check();
    CHECK(status.code() == Code::invalid_argument);
    return status.message();
  }
};

constexpr const char* kNorm = "layernorm_modulate:hidden=64,out=bf16+e4m3";
constexpr const char* kGated = "gated_residual_layernorm_modulate:hidden=64,out=residual+bf16";

TensorLayout layout(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  TensorLayout result{.name = "t", .dtype = "bf16", .shape = {}, .strides = {}};
  result.element_bytes = 2;
  result.shape = std::move(shape);
  result.strides = std::move(strides);
  return result;
}

}  // namespace

TEST_SUITE("check_memory") {
  TEST_CASE("what fits passes, for every template with shapes") {
    for (const std::string spec :
         {kNorm, kGated, "rmsnorm_modulate:hidden=64", "token_cat", "swiglu_token_cat",
          "gelu_tanh_token_cat:attention=false", "static_quant", "qkv_epilogue:streams=2"}) {
      Launch launch(spec, {});
      CHECK_MESSAGE(launch.check().is_ok(), spec, ": ", launch.check().message());
    }
  }

  TEST_CASE("memory of another device is refused, for every tensor in turn") {
    const Launch good(kNorm);
    for (const auto& [name, address] : good.addresses) {
      Launch launch(kNorm);
      launch.memory.allocations[address].device = 0;
      CHECK(launch.message() == fmt::format("argument \"{}\": {:#x} is memory of device 0; the "
                                            "kernel is on 1",
                                            name, address));
    }
  }

  TEST_CASE("what is no device memory is refused, for every tensor in turn") {
    const Launch good(kGated);
    for (const auto& [name, address] : good.addresses) {
      Launch launch(kGated);
      launch.memory.allocations.erase(address);
      CHECK(launch.message() ==
            fmt::format("argument \"{}\": {:#x} is not memory of a device", name, address));
    }
  }

  TEST_CASE("a tensor that does not fit its allocation is refused, for every tensor in turn") {
    const Launch good(kNorm);
    for (const auto& [name, address] : good.addresses) {
      Launch launch(kNorm);
      --launch.memory.allocations[address].bytes;
      const std::string text = launch.message();
      CHECK_MESSAGE(text.find("argument \"" + name + "\": it reaches over") == 0, text);
    }
    Launch launch(kNorm);
    launch.integer("rows") = 5;
    CHECK(launch.message() ==
          "argument \"x\": it reaches over 640 bytes; its allocation has 512 left");
  }

  TEST_CASE("strides below zero are refused") {
    Launch launch(kNorm);
    launch.integer("x_row_stride") = -64;
    CHECK(launch.message() == "argument \"x_row_stride\" is -64; memory can be checked from 0 on");
  }

  TEST_CASE("a scale that is not finite and above zero is refused") {
    for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
      Launch launch(kNorm);
      launch.memory.scale = scale;
      CHECK(launch.message() ==
            fmt::format("argument \"input_scale\": it is {}; a scale must be finite and above 0",
                        scale));
    }
    Launch launch(kNorm);
    launch.memory.scale = std::numeric_limits<float>::denorm_min();
    CHECK(launch.check().is_ok());
  }

  TEST_CASE("an output may not lie where an input or another output does") {
    for (const char* name : {"x", "scale", "shift", "input_scale", "out"}) {
      Launch launch(kNorm);
      launch.addresses["out_e4m3"] = launch.addresses[name];
      launch.memory.allocations[launch.addresses[name]].bytes = kApart;
      const std::string text = launch.message();
      const bool names_both = text.find("\"out_e4m3\"") != std::string::npos &&
                              text.find(fmt::format("\"{}\"", name)) != std::string::npos;
      CHECK_MESSAGE(names_both, text);
      CHECK(text.find(" overlaps argument ") != std::string::npos);
    }
  }

  TEST_CASE("a residual may be updated in place, but not shifted or with other strides") {
    Launch launch(kGated);
    launch.addresses["out_residual"] = launch.addresses["residual"];
    CHECK(launch.check().is_ok());
    launch.memory.allocations[launch.addresses["residual"]].bytes = kApart;
    launch.addresses["out_residual"] += 16;
    CHECK(launch.message() == "argument \"out_residual\" overlaps argument \"residual\"");
    launch.addresses["out_residual"] -= 16;
    launch.integer("out_residual_row_stride") = 128;
    CHECK(launch.message() == "argument \"out_residual\" overlaps argument \"residual\"");
  }

  TEST_CASE("inputs may overlap") {
    Launch launch(kNorm);
    launch.addresses["shift"] = launch.addresses["scale"];
    CHECK(launch.check().is_ok());
  }

  TEST_CASE("slices of the same rows do not overlap, unless they share columns") {
    const TensorLayout slice = layout({4, 64}, {192, 1});
    CHECK_FALSE(may_overlap(slice, 0, slice, 128));
    CHECK_FALSE(may_overlap(slice, 256, slice, 0));
    CHECK(may_overlap(slice, 0, slice, 126));
    CHECK(may_overlap(slice, 0, slice, 384 - 2));
    CHECK(may_overlap(slice, 0, slice, 384 + 126));
    CHECK_FALSE(may_overlap(slice, 0, slice, 384 + 128));
    CHECK_FALSE(may_overlap(slice, 0, slice, 4 * 384));
  }

  TEST_CASE("dense tensors overlap where their bytes do") {
    const TensorLayout dense = layout({2, 3, 8}, {24, 8, 1});
    CHECK(may_overlap(dense, 1000, dense, 1000));
    CHECK(may_overlap(dense, 1000, dense, 1094));
    CHECK_FALSE(may_overlap(dense, 1000, dense, 1096));
    const TensorLayout one = layout({1, 1, 8}, {999, 7, 1});
    CHECK_FALSE(may_overlap(dense, 1000, one, 984));
    CHECK(may_overlap(dense, 1000, one, 986));
  }

  TEST_CASE("a row in the gap of others does not overlap them") {
    const TensorLayout rows = layout({4, 8}, {16, 1});
    const TensorLayout row = layout({8}, {1});
    CHECK_FALSE(may_overlap(rows, 0, row, 16));
    CHECK(may_overlap(rows, 0, row, 18));
    const TensorLayout long_row = layout({9}, {1});
    CHECK(may_overlap(rows, 0, long_row, 16));
  }
}

}  // namespace kiln
