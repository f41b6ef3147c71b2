// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_writer.h"

#include "cache/connection.h"
#include "cache/embedded_schema.h"
#include "cache/entry_table.h"
#include "support/files.h"
#include "support/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

namespace kiln {
namespace {

constexpr char kInsertSignature[] =
    "INSERT INTO signatures (entry, key_sha256, signature) VALUES (?1, ?2, ?3)";
constexpr int kMostAttempts = 8;

std::string_view as_text(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Removes the file unless it was published.
class UnfinishedPack {
 public:
  static Result<UnfinishedPack> create(const std::string& directory) {
    for (int attempt = 0; true; ++attempt) {
      // Other nodes may write there too, and have a process of this number.
      const auto now = std::chrono::system_clock::now().time_since_epoch().count();
      const std::string path =
          join_path(directory, fmt::format(".kpack-{}-{:x}.new", ::getpid(), now));
      const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      if (fd) return UnfinishedPack(path);
      if (errno != EEXIST || attempt == kMostAttempts) return system_failure(Code::io, errno, path);
    }
  }
  UnfinishedPack(UnfinishedPack&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  UnfinishedPack& operator=(UnfinishedPack&&) = delete;
  ~UnfinishedPack() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  Status publish(const std::string& path, bool may_replace);

 private:
  explicit UnfinishedPack(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Status synchronize(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return system_failure(Code::io, errno, path);
  return {};
}

Status name_is_taken(const std::string& path) {
  return failure(Code::invalid_argument, "{} exists already", path);
}

Status rename_without_replacing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EEXIST) return name_is_taken(to);
  // Not every file system can do that in one step.
  if (errno != EINVAL && errno != ENOSYS) return system_failure(Code::io, errno, to);
  struct stat status {};
  if (::lstat(to.c_str(), &status) == 0) return name_is_taken(to);
  if (std::rename(from.c_str(), to.c_str()) != 0) return system_failure(Code::io, errno, to);
  return {};
}

Status UnfinishedPack::publish(const std::string& path, bool may_replace) {
  KILN_TRY(synchronize(path_));
  if (!may_replace) {
    KILN_TRY(rename_without_replacing(path_, path));
  } else if (std::rename(path_.c_str(), path.c_str()) != 0) {
    return system_failure(Code::io, errno, path);
  }
  path_.clear();
  const std::size_t slash = path.rfind('/');
  const Status status = synchronize(path.substr(0, std::max<std::size_t>(slash, 1)));
  // The name is there; not every file system and mode lets a directory be synchronized.
  if (!status.is_ok()) log(LogLevel::debug, "{}", status.message());
  return {};
}

Status add(Connection& connection, const StoredEntry& entry, const SigningKey* signer) {
  KILN_TRY(insert_entry(connection, entry.facts, entry.entry_sha256, entry.image));
  if (signer == nullptr) return {};
  const std::int64_t id = connection.last_row();
  KILN_TRY_ASSIGN(const Signature signature, signer->sign(entry.entry_sha256));
  KILN_TRY_ASSIGN(Statement insert, connection.statement(kInsertSignature));
  insert.bind(1, id).bind(2, signature.key_sha256).bind_blob(3, as_text(signature.bytes));
  return insert.run();
}

// Also returns the digest of the contents, in `contents`.
Status fill(const std::string& path,
            Store& store,
            const PackRequest& request,
            WrittenPack& written,
            Digest& contents) {
  KILN_TRY_ASSIGN(auto connection, Connection::open(path, Connection::Access::read_write));
  // Nobody else knows the file, and it is synchronized as a whole when it gets its name.
  KILN_TRY(connection->execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF"));
  KILN_TRY(connection->execute((schema_text("pack.sql") + schema_text("entries.sql")).c_str()));
  KILN_TRY_ASSIGN(Transaction transaction, Transaction::begin(*connection));
  Hasher hasher;
  hasher.field("kiln pack",
               request.signer == nullptr ? "" : as_text(request.signer->sha256().bytes));
  for (const Digest& key : request.keys) {
    KILN_TRY_ASSIGN(const auto entry, store.read(key));
    if (!entry) {
      ++written.left_out;
      continue;
    }
    KILN_TRY(add(*connection, *entry, request.signer));
    ++written.entries;
    hasher.field("entry", as_text(entry->entry_sha256.bytes));
  }
  contents = hasher.finish();
  return transaction.commit();
}

}  // namespace

Result<WrittenPack> write_pack(Store& store, PackRequest request) {
  const SignalBlock block;
  std::sort(request.keys.begin(), request.keys.end());
  const auto repeated = std::unique(request.keys.begin(), request.keys.end());
  request.keys.erase(repeated, request.keys.end());
  KILN_TRY_ASSIGN(UnfinishedPack unfinished, UnfinishedPack::create(request.directory));
  WrittenPack written;
  Digest contents;
  KILN_TRY(fill(unfinished.path(), store, request, written, contents));
  if (written.entries == 0) return failure(Code::not_found, "there is no entry to put into a pack");
  written.path = join_path(request.directory, request.name.value_or(contents.hex() + ".kpack"));
  struct stat status {};
  if (::stat(unfinished.path().c_str(), &status) == 0) written.file_bytes = status.st_size;
  KILN_TRY(unfinished.publish(written.path, request.may_replace));
  return written;
}

}  // namespace kiln
