// SPDX-License-Identifier: Apache-2.0
// The engine's dealings with NVRTC: when to load it, and what is known of it without loading it.
#include "runtime/engine.h"

#include <filesystem>
#include <system_error>

namespace kiln {
namespace {

// Whether KILN_NVRTC, a file or the directory that holds it, names the file of a memo.
bool is_named(const std::string& explicit_path, const std::string& memo_path) {
  std::error_code error;
  const auto path = std::filesystem::canonical(explicit_path, error);
  if (error) return false;
  return path == memo_path || path == std::filesystem::path(memo_path).parent_path();
}

}  // namespace

bool Engine::is_nvrtc_loaded() const {
  const std::lock_guard lock(nvrtc_mutex_);
  return nvrtc_ != nullptr;
}

Result<std::shared_ptr<const Nvrtc>> Engine::nvrtc() {
  const std::lock_guard lock(nvrtc_mutex_);
  if (nvrtc_ != nullptr) return nvrtc_;
  KILN_TRY_ASSIGN(nvrtc_, Nvrtc::load({.explicit_path = options_.environment.nvrtc,
                                       .remembered_path = remembered_path_}));
  if (store_ != nullptr) {
    const Result<ToolchainMemo> memo = make_memo(nvrtc_->path(), nvrtc_->toolchain());
    const Status status = memo.is_ok() ? store_->put_toolchain_memo(*memo) : memo.status();
    if (!status.is_ok()) note_store_failure(status);
  }
  return nvrtc_;
}

std::optional<Toolchain> Engine::known_toolchain() {
  const std::lock_guard lock(nvrtc_mutex_);
  if (nvrtc_ != nullptr) return nvrtc_->toolchain();
  if (are_memos_read_ || store_ == nullptr) return remembered_;
  are_memos_read_ = true;
  const auto memos = store_->toolchain_memos();
  if (!memos.is_ok()) {
    note_store_failure(memos.status());
    return std::nullopt;
  }
  for (const ToolchainMemo& memo : *memos) {
    const auto& explicit_path = options_.environment.nvrtc;
    if (explicit_path && !is_named(*explicit_path, memo.path)) continue;
    if (!is_current(memo)) continue;
    Result<Toolchain> toolchain = parse_toolchain(memo.toolchain);
    if (!toolchain.is_ok()) continue;
    remembered_path_ = memo.path;
    remembered_ = std::move(toolchain).value();
    break;
  }
  return remembered_;
}

}  // namespace kiln
