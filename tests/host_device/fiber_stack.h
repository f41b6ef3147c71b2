// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fiber's stack, and what AddressSanitizer must be told when the stack in use changes.

#include <sys/mman.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define KILN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef KILN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace kiln::host {

// Memory of one fiber's stack, with a page below it that may not be touched.
class Stack {
 public:
  static constexpr std::size_t kBytes = 256UL << 10;

  Stack()
      : memory_(mmap(nullptr,
                     kGuardBytes + kBytes,
                     PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1,
                     0)) {
    if (is_valid()) (void)mprotect(memory_, kGuardBytes, PROT_NONE);
  }
  ~Stack() {
    if (!is_valid()) return;
    clean();
    munmap(memory_, kGuardBytes + kBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  bool is_valid() const { return memory_ != MAP_FAILED; }
  std::byte* bottom() const { return static_cast<std::byte*>(memory_) + kGuardBytes; }
  // Forgets what frames of an abandoned fiber marked as out of bounds.
  void clean() const {
#ifdef KILN_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(bottom(), kBytes);
#endif
  }

 private:
  static constexpr std::size_t kGuardBytes = 4096;

  void* memory_;
};

// Just before a switch to the stack at `bottom`; a null `fake_stack`: this one is never used again.
inline void before_switch([[maybe_unused]] void** fake_stack,
                          [[maybe_unused]] const void* bottom,
                          [[maybe_unused]] std::size_t bytes) {
#ifdef KILN_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
}

// Just after it, on the new stack; tells where the previous one is.
inline void after_switch([[maybe_unused]] void* fake_stack,
                         [[maybe_unused]] const void** previous_bottom,
                         [[maybe_unused]] std::size_t* previous_bytes) {
#ifdef KILN_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, previous_bottom, previous_bytes);
#endif
}

}  // namespace kiln::host
