// SPDX-License-Identifier: Apache-2.0
#include "runtime/random_data.h"

#include "templates/manifest.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace kiln {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are the low bytes of words");

// splitmix64: short, fast, and good enough for data.
class RandomWords {
 public:
  explicit RandomWords(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t word = state_ += 0x9E3779B97F4A7C15U;
    word = (word ^ word >> 30U) * 0xBF58476D1CE4E5B9U;
    word = (word ^ word >> 27U) * 0x94D049BB133111EBU;
    return word ^ word >> 31U;
  }

 private:
  std::uint64_t state_;
};

// The sum of four even distributions, of deviation 1.
float normal_value(std::uint64_t word) {
  constexpr float kMean = 2 * 65535;
  constexpr float kDeviation = 37837.2F;  // 65536 / sqrt(3)
  std::uint64_t sum = 0;
  for (unsigned shift = 0; shift < 64; shift += 16)
    sum += word >> shift & 0xFFFFU;
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

float scale_value(std::uint64_t word) {
  return 0.01F + 0.02F * static_cast<float>(word >> 40U) / 0x1p24F;
}

std::uint32_t f32_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// These cut what does not fit: any value near the given one will do.
std::uint32_t bf16_bits(float value) {
  return f32_bits(value) >> 16U;
}

std::uint32_t f16_bits(float value) {
  constexpr std::uint32_t kBiasDifference = 127 - 15;
  const std::uint32_t bits = f32_bits(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t exponent = bits >> 23U & 0xFFU;
  if (exponent <= kBiasDifference) return sign;
  return sign | (exponent - kBiasDifference) << 10U | (bits >> 13U & 0x3FFU);
}

struct FloatFormat {
  std::string_view dtype;
  std::uint32_t (*bits)(float value);
  std::uint32_t infinity;
  std::uint32_t sign;
};
constexpr FloatFormat kFloatFormats[] = {
    {"f32", f32_bits, 0x7F800000U, 0x80000000U},
    {"bf16", bf16_bits, 0x7F80U, 0x8000U},
    {"f16", f16_bits, 0x7C00U, 0x8000U},
};

const FloatFormat* find_format(std::string_view dtype) {
  const auto* const found = std::find_if(std::begin(kFloatFormats), std::end(kFloatFormats),
                                         [&](const auto& format) { return format.dtype == dtype; });
  return found == std::end(kFloatFormats) ? nullptr : found;
}

std::vector<std::byte> float_elements(const FloatFormat& format,
                                      std::size_t count,
                                      std::uint64_t seed,
                                      float (*value)(std::uint64_t word)) {
  const auto size = static_cast<std::size_t>(dtype_bytes(format.dtype));
  RandomWords words(seed);
  std::vector<std::byte> elements(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = format.bits(value(words.next()));
    std::memcpy(elements.data() + i * size, &bits, size);
  }
  return elements;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  RandomWords words(seed);
  std::vector<std::byte> bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&] { return std::byte(words.next() >> 56U); });
  return bytes;
}

Status no_values(std::string_view dtype) {
  return failure(Code::unsupported, "no values can be made for a pointer to {}", dtype);
}

}  // namespace

Result<std::vector<std::byte>> random_elements(std::string_view dtype,
                                               std::size_t count,
                                               std::uint64_t seed) {
  if (dtype_bytes(dtype) == 1) return random_bytes(count, seed);
  const FloatFormat* const format = find_format(dtype);
  if (format == nullptr) return no_values(dtype);
  return float_elements(*format, count, seed, normal_value);
}

Result<std::vector<std::byte>> random_scales(std::string_view dtype,
                                             std::size_t count,
                                             std::uint64_t seed) {
  const FloatFormat* const format = find_format(dtype);
  if (format == nullptr) return no_values(dtype);
  return float_elements(*format, count, seed, scale_value);
}

std::vector<std::uint32_t> extreme_elements(std::string_view dtype) {
  const FloatFormat* const format = find_format(dtype);
  if (format == nullptr) return {};
  const std::uint32_t infinity = format->infinity;
  const std::uint32_t sign = format->sign;
  const std::uint32_t nan = infinity | infinity >> 1U;
  return {nan,  infinity, sign | infinity, infinity - 1, sign | (infinity - 1), 1, sign | 1U,
          sign, 0};
}

}  // namespace kiln
