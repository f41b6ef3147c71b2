// SPDX-License-Identifier: Apache-2.0
#include "runtime/build_info.h"

#include "cache/store.h"
#include "jit/key.h"
#include "kiln/version.h"

#include <cuda.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <zstd.h>

namespace kiln {

std::string build_info() {
  return fmt::format(
      "version={}.{}.{} cuda_headers={}.{} sqlite={} zstd={} key_schema={} store_schema={}",
      KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH, CUDA_VERSION / 1000,
      CUDA_VERSION % 1000 / 10, sqlite3_libversion(), ZSTD_versionString(), kKeySchema,
      kStoreSchema);
}

}  // namespace kiln
