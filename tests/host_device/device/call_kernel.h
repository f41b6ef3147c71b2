// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls a kernel by pointers to its arguments, as a driver does, and tells which it takes.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace kiln::host {

template <typename... Parameters, std::size_t... i>
void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<i...>) {
  kernel(*static_cast<Parameters*>(arguments[i])...);
}

template <typename... Parameters>
void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Parameters...>());
}

// 'p' pointer, 'i' int, 'l' long long, 'f' float, '?' anything else.
template <typename Parameter>
constexpr char letter() {
  if constexpr (std::is_pointer_v<Parameter>) return 'p';
  if constexpr (std::is_same_v<Parameter, int>) return 'i';
  if constexpr (std::is_same_v<Parameter, long long>) return 'l';
  if constexpr (std::is_same_v<Parameter, float>) return 'f';
  return '?';
}

template <typename... Parameters>
const char* signature(void (*)(Parameters...)) {
  static constexpr char text[] = {letter<Parameters>()..., '\0'};
  return text;
}

}  // namespace kiln::host
