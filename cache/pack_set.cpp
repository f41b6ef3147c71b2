// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_set.h"

#include "cache/fork_guard.h"
#include "support/log.h"

#include <mutex>
#include <utility>

namespace kiln {
namespace {

struct Member {
  std::string path;
  std::unique_ptr<Pack> pack = nullptr;
  bool is_refused = false;
  bool has_warned = false;

  void warn(const Status& reason) {
    log(has_warned ? LogLevel::debug : LogLevel::warning, "pack {}: {}", path, reason.message());
    has_warned = true;
  }
};

}  // namespace

struct PackSet::Impl {
  Impl(PackPlaces given_places, std::vector<std::string> given_keys)
      : places(std::move(given_places)), key_paths(std::move(given_keys)) {}

  void list();
  Pack* open(Member& member) const;
  std::optional<Store::Found> find(LookUp by, const Digest& digest);

  const PackPlaces places;
  const std::vector<std::string> key_paths;
  std::mutex mutex;  // guards all below
  bool is_listed = false;
  PackTrust trust;
  std::vector<Member> members;  // borrow `trust`
  // Last, so that nothing above is gone while a fork may still come by.
  ForkGuard guard{mutex, [this] {
                    for (Member& member : members)
                      member.pack.reset();
                  }};
};

void PackSet::Impl::list() {
  is_listed = true;
  const std::vector<PackFile> files = find_packs(places);
  if (files.empty()) return;
  trust.others = places.trust_others;
  auto keys = TrustedKeys::read(key_paths, trust.others);
  if (!keys.is_ok()) {
    log(LogLevel::warning, "no pack is used: KILN_TRUST: {}", keys.status().message());
    return;
  }
  trust.keys = *std::move(keys);
  for (const PackFile& file : files) {
    if (file.status.is_ok()) {
      members.push_back({.path = file.path});
    } else {
      log(LogLevel::warning, "packs: {}", file.status.message());
    }
  }
}

Pack* PackSet::Impl::open(Member& member) const {
  if (member.pack != nullptr || member.is_refused) return member.pack.get();
  auto opened = Pack::open(member.path, trust);
  if (opened.is_ok()) {
    member.pack = *std::move(opened);
  } else {
    member.is_refused = true;
    member.warn(opened.status());
  }
  return member.pack.get();
}

std::optional<Store::Found> PackSet::Impl::find(LookUp by, const Digest& digest) {
  if (!is_listed) list();
  for (Member& member : members) {
    Pack* pack = open(member);
    if (pack == nullptr) continue;
    std::vector<Status> refusals;
    auto found = pack->find(by, digest, refusals);
    for (const Status& refusal : refusals)
      member.warn(refusal.with_context(digest.hex()));
    if (!found.is_ok()) {
      member.warn(found.status());
    } else if (found->has_value()) {
      return *std::move(found);
    }
  }
  return std::nullopt;
}

PackSet::PackSet(PackPlaces places, std::vector<std::string> trusted_keys)
    : impl_(std::make_unique<Impl>(std::move(places), std::move(trusted_keys))) {}

PackSet::~PackSet() {
  if (impl_->guard.lock().is_ok()) return;
  // Its lock may be held for ever, and its connections must not be closed.
  [[maybe_unused]] const Impl* leaked = impl_.release();
}

std::optional<Store::Found> PackSet::find(LookUp by, const Digest& digest) {
  const auto lock = impl_->guard.lock();
  if (!lock.is_ok()) {
    log(LogLevel::debug, "packs: {}", lock.status().message());
    return std::nullopt;
  }
  return impl_->find(by, digest);
}

}  // namespace kiln
