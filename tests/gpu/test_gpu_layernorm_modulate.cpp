// SPDX-License-Identifier: Apache-2.0
// What the golden vectors cannot say of layernorm_modulate: access widths, strides, batches, and
// that nothing outside the outputs is written. The vectors themselves are kiln_golden's.
#include "tests/gpu/fixture.h"

namespace kiln {
namespace {

using test::Gpu;

constexpr std::uint16_t kGuard16 = 0xA5A5;
constexpr std::uint8_t kGuard8 = 0xA5;

// bf16 values between -4 and 4, none of them special.
std::vector<std::uint16_t> values(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> result(count);
  for (std::uint16_t& value : result) {
    seed = seed * 1664525U + 1013904223U;
    const std::uint32_t exponent = 120 + (seed >> 8U) % 9;
    value =
        static_cast<std::uint16_t>((seed >> 31U) << 15U | exponent << 7U | ((seed >> 16U) & 0x7FU));
  }
  return result;
}

struct Shape {
  int hidden = 0;
  int batches = 1;
  int rows = 1;             // of one batch
  std::int64_t offset = 0;  // elements before the first row, everywhere
  std::int64_t gap = 0;     // elements between rows, everywhere
};

struct Outputs {
  std::vector<std::uint16_t> bf16;
  std::vector<std::uint8_t> e4m3;
  std::vector<std::uint8_t> e5m2;
};

Outputs run(Gpu& gpu, const Shape& shape, int vector) {
  const std::int64_t row_stride = shape.hidden + shape.gap;
  const std::int64_t batch_stride = row_stride * shape.rows;
  const auto count = static_cast<std::size_t>(batch_stride * shape.batches + shape.offset);
  const auto x = gpu.buffer(values(count, 1));
  const auto scale = gpu.buffer(values(count, 2));
  const auto shift = gpu.buffer(values(count, 3));
  const auto input_scale = gpu.buffer<float>({0.02F});
  const auto bf16 = gpu.buffer(std::vector<std::uint16_t>(count, kGuard16));
  const auto e4m3 = gpu.buffer(std::vector<std::uint8_t>(count, kGuard8));
  const auto e5m2 = gpu.buffer(std::vector<std::uint8_t>(count, kGuard8));
  const auto kernel = gpu.acquire(fmt::format(
      "layernorm_modulate:hidden={},out=bf16+e4m3+e5m2,vector={}", shape.hidden, vector));
  const auto at = static_cast<std::size_t>(shape.offset);
  REQUIRE_OK(launch(
      *kernel, {},
      std::vector<Argument>{x.argument(at), scale.argument(at), shift.argument(at),
                            input_scale.argument(), bf16.argument(at), e4m3.argument(at),
                            e5m2.argument(at), Argument::of_int32(shape.batches * shape.rows),
                            Argument::of_int32(shape.rows), Argument::of_int64(row_stride),
                            Argument::of_int64(batch_stride), Argument::of_int64(row_stride),
                            Argument::of_int64(row_stride), Argument::of_int64(row_stride),
                            Argument::of_int64(batch_stride), Argument::of_float32(1e-6F)}));
  return {bf16.get(), e4m3.get(), e5m2.get()};
}

// Elements outside the rows that were written, and elements of rows that were not.
template <typename T>
int wrong_places(const std::vector<T>& output, const Shape& shape, T guard) {
  int wrong = 0;
  int kept_in_rows = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) - shape.offset;
    const bool is_in_row = place >= 0 && place % (shape.hidden + shape.gap) < shape.hidden;
    if (!is_in_row && output[i] != guard) ++wrong;
    if (is_in_row && output[i] == guard) ++kept_in_rows;
  }
  // A value may equal the guard by chance, a whole row may not.
  return wrong + (kept_in_rows > shape.hidden / 2 ? kept_in_rows : 0);
}

}  // namespace

TEST_SUITE("layernorm_modulate") {
  TEST_CASE("every access width gives the same bits and writes nothing else") {
    Gpu gpu;
    for (const Shape& shape :
         {Shape{.hidden = 2240, .batches = 3, .rows = 129, .offset = 4, .gap = 8},
          Shape{.hidden = 260, .batches = 1, .rows = 700, .offset = 4, .gap = 4},
          Shape{.hidden = 4, .batches = 2, .rows = 1, .offset = 4, .gap = 4},
          Shape{.hidden = 6144, .batches = 2, .rows = 300},
          Shape{.hidden = 16384, .batches = 1, .rows = 128}}) {
      const Outputs wide = run(gpu, shape, 4);
      CHECK(wrong_places(wide.bf16, shape, kGuard16) == 0);
      CHECK(wrong_places(wide.e4m3, shape, kGuard8) == 0);
      CHECK(wrong_places(wide.e5m2, shape, kGuard8) == 0);
      for (const int vector : {2, 1}) {
        const Outputs narrow = run(gpu, shape, vector);
        CHECK(narrow.bf16 == wide.bf16);
        CHECK(narrow.e4m3 == wide.e4m3);
        CHECK(narrow.e5m2 == wide.e5m2);
      }
    }
  }

  TEST_CASE("odd addresses work with the narrowest access, and are refused by wider ones") {
    Gpu gpu;
    const Shape odd{.hidden = 516, .batches = 2, .rows = 65, .offset = 3, .gap = 5};
    const Outputs outputs = run(gpu, odd, 1);
    CHECK(wrong_places(outputs.bf16, odd, kGuard16) == 0);
    CHECK(wrong_places(outputs.e4m3, odd, kGuard8) == 0);
    const auto kernel = gpu.acquire("layernorm_modulate:hidden=516,vector=4");
    const auto buffer = gpu.buffer(std::vector<std::uint16_t>(600, 0));
    std::vector<Argument> arguments(16, Argument::of_int64(516));
    for (std::size_t i = 0; i < 7; ++i)
      arguments[i] = buffer.argument(1);
    CHECK(launch(*kernel, {}, arguments).code() == Code::invalid_argument);
  }

  TEST_CASE("rows do not depend on how many there are") {
    Gpu gpu;
    const Shape both{.hidden = 3072, .batches = 1, .rows = 200};
    const Shape one{.hidden = 3072, .batches = 1, .rows = 100};
    const Outputs whole = run(gpu, both, 4);
    const Outputs part = run(gpu, one, 4);
    CHECK(std::equal(part.bf16.begin(), part.bf16.end(), whole.bf16.begin()));
  }
}

}  // namespace kiln
