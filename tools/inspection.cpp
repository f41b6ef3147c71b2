// SPDX-License-Identifier: Apache-2.0
#include "tools/inspection.h"

#include "support/text.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace kiln {

Result<CacheDirectory> cache_directory(const Invocation& invocation) {
  if (invocation.cache_dir) return CacheDirectory{*invocation.cache_dir, "--cache-dir"};
  return choose_cache_directory(invocation.environment);
}

Result<StorePlace> store_place(const Invocation& invocation) {
  KILN_TRY_ASSIGN(const CacheDirectory directory, cache_directory(invocation));
  return place_store(directory, invocation.environment);
}

Result<std::unique_ptr<Store>> inspect_store(const Invocation& invocation) {
  const Result<StorePlace> place = store_place(invocation);
  if (place.is_ok()) {
    // The store takes this for an absent one.
    struct stat status {};
    if (::stat(place->directory.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
      return system_failure(Code::io, ENOTDIR, place->directory);
    }
    return Store::open(place->directory, StoreMode::inspect,
                       invocation.environment.cache_limit_bytes);
  }
  if (place.status().code() != Code::unavailable) return place.status();
  invocation.console.write_log(LogLevel::warning, place.status().message());
  return std::unique_ptr<Store>();
}

Result<std::unique_ptr<Store>> change_store(const Invocation& invocation) {
  KILN_TRY_ASSIGN(const auto inspected, inspect_store(invocation));
  if (inspected == nullptr) return std::unique_ptr<Store>();
  KILN_TRY_ASSIGN(const Store::Summary summary, inspected->summary());
  if (!summary.exists) return std::unique_ptr<Store>();
  return create_store(invocation);
}

Result<std::unique_ptr<Store>> create_store(const Invocation& invocation) {
  KILN_TRY_ASSIGN(const StorePlace place, store_place(invocation));
  KILN_TRY(prepare_cache_directory(place.directory));
  return Store::open(place.directory, StoreMode::read_write,
                     invocation.environment.cache_limit_bytes);
}

Result<PackTrust> pack_trust(const Environment& environment,
                             const std::vector<std::string>& more_keys) {
  std::vector<std::string> paths = environment.trust;
  paths.insert(paths.end(), more_keys.begin(), more_keys.end());
  PackTrust trust{.others = environment.trust_dir};
  KILN_TRY_ASSIGN(trust.keys, TrustedKeys::read(paths, trust.others));
  return trust;
}

Result<std::string> parse_key_prefix(std::string_view text) {
  if (!is_key_prefix(text)) {
    return failure(Code::invalid_argument, "key prefix is {}; allowed: 1 to {} hexadecimal digits",
                   in_quotes(text), 2 * Digest::kBytes);
  }
  return std::string(text);
}

}  // namespace kiln
