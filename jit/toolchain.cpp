// SPDX-License-Identifier: Apache-2.0
#include "jit/toolchain.h"

#include "support/files.h"
#include "support/shared_library.h"
#include "support/text.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

namespace kiln {
namespace {

constexpr std::size_t kMostNoteBytes = std::size_t{64} << 10U;
constexpr std::size_t kMostBuiltinsBytes = std::size_t{256} << 20U;
constexpr int kMostProgramHeaders = 256;
constexpr std::string_view kBuildIdOwner("GNU\0", 4);
constexpr std::string_view kTextPrefix = "nvrtc-";

// All of `count` bytes at `offset`.
std::optional<std::string> read_range(int fd, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t size = 0;
  while (size < count) {
    const ssize_t got =
        ::pread(fd, bytes.data() + size, count - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    size += static_cast<std::size_t>(got);
  }
  return bytes;
}

template <typename T>
std::optional<T> read_object(int fd, std::uint64_t offset) {
  const auto bytes = read_range(fd, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

constexpr std::size_t padded(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

// The build id among a segment's notes, which are padded to 4 bytes whatever the segment says.
std::string build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof(note));
    notes.remove_prefix(sizeof(note));
    const std::size_t name_size = padded(note.n_namesz);
    if (name_size > notes.size() || note.n_descsz > notes.size() - name_size) return {};
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == kBuildIdOwner) {
      return to_hex(notes.substr(name_size, note.n_descsz));
    }
    notes.remove_prefix(std::min(notes.size(), name_size + padded(note.n_descsz)));
  }
  return {};
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::string Toolchain::text() const {
  return fmt::format("nvrtc-{}.{}+{}+{}+{}", major, minor, build_id, library_bytes, builtins.hex());
}

Result<Toolchain> parse_toolchain(std::string_view text) {
  const auto damaged = [text] {
    return failure(Code::invalid_argument, "toolchain {} is malformed", in_quotes(text));
  };
  if (!text.starts_with(kTextPrefix)) return damaged();
  std::string_view rest = text.substr(kTextPrefix.size());
  // Takes what precedes `end`, and `end` itself.
  const auto take = [&rest](char end) {
    const std::string_view part = rest.substr(0, rest.find(end));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  const auto take_number = [&take](char end, auto& number) {
    const std::string_view part = take(end);
    const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return error == std::errc() && last == part.data() + part.size();
  };
  Toolchain toolchain;
  if (!take_number('.', toolchain.major) || !take_number('+', toolchain.minor)) return damaged();
  toolchain.build_id = take('+');
  if (!take_number('+', toolchain.library_bytes)) return damaged();
  const auto builtins = Digest::from_hex(rest);
  if (!builtins.is_ok()) return damaged();
  toolchain.builtins = *builtins;
  return toolchain;
}

std::string read_build_id(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  const auto header = read_object<Elf64_Ehdr>(fd.get(), 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > kMostProgramHeaders) {
    return {};
  }
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        read_object<Elf64_Phdr>(fd.get(), header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE || segment->p_filesz > kMostNoteBytes) continue;
    const auto notes = read_range(fd.get(), segment->p_offset, segment->p_filesz);
    if (!notes) continue;
    if (std::string id = build_id_in(*notes); !id.empty()) return id;
  }
  return {};
}

std::string builtins_name(int major, int minor) {
  return fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
}

Result<std::string> find_builtins(const std::string& library, int major, int minor) {
  const std::string name = builtins_name(major, minor);
  // NVRTC opens its builtins by bare name, so one that is loaded is the one that it gets.
  if (const SharedLibrary loaded = find_loaded_library(name)) {
    if (std::string path = library_path(loaded.get()); !path.empty()) return path;
  }
  const std::string beside = join_path(directory_of(library), name);
  if (::access(beside.c_str(), F_OK) == 0) return beside;
  if (const auto found = open_library(name); found.is_ok()) {
    if (std::string path = library_path(found->get()); !path.empty()) return path;
  }
  return failure(Code::not_found,
                 "{} is neither in {} nor in the loader's search path; NVRTC cannot compile "
                 "without it: install it beside {}",
                 name, directory_of(library), library);
}

Result<Toolchain> read_toolchain(const std::string& path, int major, int minor) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return system_failure(errno == ENOENT ? Code::not_found : Code::io, errno, path);
  }
  KILN_TRY_ASSIGN(const std::string builtins_path, find_builtins(path, major, minor));
  KILN_TRY_ASSIGN(const std::string builtins, read_file(builtins_path, kMostBuiltinsBytes));
  if (!builtins.starts_with(ELFMAG)) {
    return failure(Code::corrupt, "{} is no shared library", builtins_path);
  }
  Toolchain toolchain;
  toolchain.major = major;
  toolchain.minor = minor;
  toolchain.build_id = read_build_id(path);
  toolchain.library_bytes = status.st_size;
  toolchain.builtins = sha256(builtins);
  return toolchain;
}

Result<ToolchainMemo> make_memo(const std::string& path, const Toolchain& toolchain) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return system_failure(errno == ENOENT ? Code::not_found : Code::io, errno, path);
  }
  return ToolchainMemo{.path = path,
                       .device = static_cast<std::int64_t>(status.st_dev),
                       .inode = static_cast<std::int64_t>(status.st_ino),
                       .size = status.st_size,
                       .mtime_ns = nanoseconds(status.st_mtim),
                       .toolchain = toolchain.text()};
}

bool is_current(const ToolchainMemo& memo) {
  struct stat status {};
  return ::stat(memo.path.c_str(), &status) == 0 &&
         memo.device == static_cast<std::int64_t>(status.st_dev) &&
         memo.inode == static_cast<std::int64_t>(status.st_ino) && memo.size == status.st_size &&
         memo.mtime_ns == nanoseconds(status.st_mtim);
}

}  // namespace kiln
