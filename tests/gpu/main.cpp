// SPDX-License-Identifier: Apache-2.0
// Exits 77, which means skipped, on a machine without a CUDA device.
#define DOCTEST_CONFIG_IMPLEMENT
#include "runtime/device.h"

#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
  const auto device = kiln::Devices().device(0);
  if (!device.is_ok()) {
    std::printf("skipped: %s\n", device.status().message().c_str());
    return 77;
  }
  std::printf("device 0: %s\n", (*device)->name.c_str());
  doctest::Context context(argc, argv);
  return context.run();
}
