// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory for one argument of a kernel, at any misalignment, with guard zones on both sides that
// show whether anything beside the argument was written.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace kiln {

class GuardedMemory {
 public:
  static constexpr std::byte kFill{0xA5};

  // `offset_bytes` beyond an address that is a multiple of 16.
  GuardedMemory(std::size_t bytes, std::size_t offset_bytes)
      : begin_(kGuardBytes + offset_bytes),
        bytes_(bytes),
        memory_(begin_ + bytes + kGuardBytes, kFill) {}

  std::span<std::byte> span() { return std::span(memory_).subspan(begin_, bytes_); }

  template <typename Value>
  Value at(std::size_t index) const {
    Value value{};
    std::memcpy(&value, &memory_[begin_ + index * sizeof(Value)], sizeof(Value));
    return value;
  }
  template <typename Value>
  void set(std::size_t index, Value value) {
    std::memcpy(&memory_[begin_ + index * sizeof(Value)], &value, sizeof(Value));
  }

  // Whether `bytes` bytes from `from` on, which may lie in a guard zone, are as they were at first.
  bool is_untouched(std::size_t from, std::size_t bytes) const {
    const auto first = memory_.begin() + static_cast<std::ptrdiff_t>(begin_ + from);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(bytes),
                       [](std::byte value) { return value == kFill; });
  }
  bool is_guard_intact() const {
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(begin_),
                       [](std::byte value) { return value == kFill; }) &&
           is_untouched(bytes_, kGuardBytes);
  }

 private:
  static constexpr std::size_t kGuardBytes = 256;

  std::size_t begin_;
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace kiln
