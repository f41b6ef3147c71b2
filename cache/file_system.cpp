// SPDX-License-Identifier: Apache-2.0
#include "cache/file_system.h"

#include "support/files.h"

#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace kiln {
namespace {

struct KnownFileSystem {
  std::uint64_t magic;  // statfs(2)
  std::string_view name;
  bool is_local;
};

constexpr KnownFileSystem kKnown[] = {
    {0xEF53, "ext4", true},        {0x58465342, "xfs", true},     {0x9123683E, "btrfs", true},
    {0x2FC12FC1, "zfs", true},     {0xF2F52010, "f2fs", true},    {0x01021994, "tmpfs", true},
    {0x794C7630, "overlay", true}, {0x6969, "nfs", false},        {0xFF534D42, "cifs", false},
    {0xFE534D42, "smb2", false},   {0x00C36400, "ceph", false},   {0x0BD00BD0, "lustre", false},
    {0x47504653, "gpfs", false},   {0x65735546, "fuse", false},   {0x01021997, "9p", false},
    {0x5346414F, "afs", false},    {0x19830326, "fhgfs", false},  {0x7461636F, "ocfs2", false},
    {0x01161970, "gfs2", false},   {0x786F4256, "vboxsf", false},
};

}  // namespace

Result<FileSystem> file_system_of(const std::string& path) {
  struct statfs facts {};
  const std::string place = nearest_existing(path);
  while (::statfs(place.c_str(), &facts) != 0) {
    if (errno != EINTR) return system_failure(Code::io, errno, place);
  }
  // The field is signed and the numbers are of 32 bits.
  const std::uint64_t magic = static_cast<std::uint64_t>(facts.f_type) & 0xFFFFFFFFU;
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const auto& each) { return each.magic == magic; });
  if (known == std::end(kKnown)) return FileSystem{.name = fmt::format("{:#x}", magic)};
  return FileSystem{.name = std::string(known->name), .is_local = known->is_local};
}

FileSystem file_system_named(std::string_view name) {
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const auto& each) { return each.name == name; });
  return {.name = std::string(name), .is_local = known != std::end(kKnown) && known->is_local};
}

}  // namespace kiln
