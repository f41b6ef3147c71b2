// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every C function's body runs in: maps failures and foreign exceptions to a kiln_status_t and
// the thread's last error; and how option structs of other versions are read and written.

#include "kiln/kiln.h"
#include "support/status.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

namespace kiln {

void set_last_error(const Status& status) noexcept;
const Status& last_error() noexcept;
// Made before they are needed.
const Status& out_of_memory_status() noexcept;
const Status& foreign_exception_status() noexcept;

// No struct of ours, of any version, is larger.
constexpr std::size_t kLargestStruct = 4096;

// Runs `body`, a callable that returns Status. noexcept; clears, then sets the last error.
template <typename Body>
kiln_status_t guard(Body&& body) noexcept {
  set_last_error({});
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc&) {
    status = out_of_memory_status();
  } catch (const std::exception& error) {
    try {
      status = failure(Code::internal, "unexpected exception: {}", error.what());
    } catch (...) {
      status = out_of_memory_status();
    }
  } catch (...) {  // not even a std::exception: a host's callback threw it
    status = foreign_exception_status();
  }
  set_last_error(status);
  return static_cast<kiln_status_t>(status.code());
}

inline Status check_struct_size(std::size_t size, std::string_view name) {
  if (size >= sizeof(size) && size <= kLargestStruct) return {};
  return failure(Code::invalid_argument, "{}.struct_size is {}; start from its _INIT macro", name,
                 size);
}

// Copies a caller's option struct, of whatever version, over `defaults`. A shorter one leaves the
// rest at its default; a longer one passes only if what we do not know is all zero.
template <typename Options>
Result<Options> read_options(const Options* given, Options defaults, std::string_view name) {
  if (given == nullptr) return defaults;
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  KILN_TRY(check_struct_size(size, name));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Options); i < size; ++i) {
    if (bytes[i] != 0) {
      return failure(Code::invalid_argument,
                     "{} sets a member that this version of Kiln does not know", name);
    }
  }
  std::memcpy(&defaults, given, std::min(size, sizeof(Options)));
  defaults.struct_size = sizeof(Options);
  return defaults;
}

// Writes to a caller's result struct as many bytes as it says it has.
template <typename Info>
Status write_info(Info* out, Info info, std::string_view name) {
  if (out == nullptr) return failure(Code::invalid_argument, "{} is null", name);
  const std::size_t size = out->struct_size;
  KILN_TRY(check_struct_size(size, name));
  info.struct_size = size;
  std::memcpy(out, &info, std::min(size, sizeof(Info)));
  return {};
}

inline Status require(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return {};
  return failure(Code::invalid_argument, "{} is null", name);
}

}  // namespace kiln
