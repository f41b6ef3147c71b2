// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs variants on the CPU: compiles the template's own sources with a C++ compiler, each variant
// once, into a library that is loaded into this program, and calls it once a thread of the grid.
// Keeps its files in a directory of its own until it is destroyed. Not thread-safe.

#include "support/shared_library.h"
#include "tests/host_device/backend.h"
#include "tests/host_device/fibers.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

// The compiler and the sanitizers that this program was built with.
std::string default_cpu_compiler();
std::vector<std::string> default_cpu_flags();

struct CpuBackendOptions {
  std::string compiler = default_cpu_compiler();  // a program, found by PATH
  std::vector<std::string> flags = default_cpu_flags();
  // Small, so that kernels whose grid depends on it loop.
  int sm_count = 1;
};

class CpuBackend final : public Backend {
 public:
  static Result<std::unique_ptr<CpuBackend>> create(CpuBackendOptions options);
  ~CpuBackend() override;

  Status run(const Variant& variant, const KernelArguments& arguments) override;
  bool is_device() const override { return false; }
  void set_order(host::Order order) { order_ = order; }
  std::size_t compile_count() const { return compiled_.size(); }

 private:
  struct Compiled {
    Specialization specialization;
    SharedLibrary library;
    void (*kernel)(void** arguments) = nullptr;
  };
  CpuBackend(CpuBackendOptions options, std::string directory);
  Result<const Compiled*> compile(const Variant& variant);
  Result<Compiled> build(const Variant& variant, const std::string& directory) const;

  CpuBackendOptions options_;
  std::string directory_;
  host::Order order_ = host::Order::ascending;
  std::map<std::string, Compiled> compiled_;  // by spec
};

}  // namespace kiln
