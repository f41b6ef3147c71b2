// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sole owner of a foreign handle. Traits name the handle type, its null value and a noexcept
// `close`, which reports a failure to the log and never throws.

#include <utility>

namespace kiln {

template <typename Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::Handle;

  UniqueHandle() = default;
  explicit UniqueHandle(Handle handle) : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Traits::null; }
  Handle release() { return std::exchange(handle_, Traits::null); }
  void reset(Handle handle = Traits::null) {
    if (Handle old = std::exchange(handle_, handle); old != Traits::null) Traits::close(old);
  }
  // For foreign functions that return the handle through a pointer; closes what is held.
  Handle* out() {
    reset();
    return &handle_;
  }

 private:
  Handle handle_ = Traits::null;
};

}  // namespace kiln
