// SPDX-License-Identifier: Apache-2.0
#include "cache_fixture.h"

#include "jit/key.h"
#include "support/log.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

namespace kiln::test {
namespace {

std::atomic<int> failures{0};

// Counts failed assertions, which doctest does not tell a running test.
struct FailureListener : doctest::IReporter {
  explicit FailureListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override { ++failures; }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& data) override {
    if (data.m_failed) ++failures;
  }
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("failures", 2, FailureListener);

}  // namespace

int in_child(const std::function<void()>& body) {
  const int before = failures;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 0;
    try {
      body();
      status = failures > before ? 1 : 0;
    } catch (...) {  // a failed REQUIRE
      status = 2;
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string sample_image(std::uint32_t seed, std::size_t bytes) {
  std::mt19937 random(seed);
  std::string image(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) {
    image[i] = static_cast<char>(i % 64 < 32 ? random() & 0xFFU : i / 256);
  }
  return image;
}

EntryFacts sample_facts(std::uint32_t seed, std::size_t image_bytes) {
  const auto number = static_cast<std::int32_t>(seed);
  return {.key = digest_of(fmt::format("key {}", seed)),
          .request = digest_of(fmt::format("request {}", seed)),
          .template_name = fmt::format("template_{}", seed),
          .spec = fmt::format("template_{}:hidden=6144", seed),
          .target = "sm_90a",
          .toolchain = "nvrtc-13.0+abc+1+def",
          .lowered_name = fmt::format("_ZN4kiln{}E", seed),
          .layout = "[[0,8],[8,4]]",
          .resources = {.registers = 32 + number,
                        .shared_bytes = 1024 + number,
                        .local_bytes = 8 + number,
                        .spill_store_bytes = 4 + number,
                        .spill_load_bytes = 12 + number},
          .key_fields = fmt::format(R"({{"schema":1,"template":"template_{}"}})", seed),
          .log = "warning: nothing",
          .compile_us = 100000 + number,
          .created_at = 1700000000 + number,
          .image_bytes = static_cast<std::int64_t>(image_bytes)};
}

EntryFacts keyed_facts(std::uint32_t seed, std::size_t image_bytes) {
  EntryFacts facts = sample_facts(seed, image_bytes);
  const KeyFields fields{.template_name = facts.template_name,
                         .sources = {{facts.template_name + ".cuh", digest_of(facts.spec)}},
                         .parameters = {{"hidden", "6144"}},
                         .name_expression = "kiln::f<6144>",
                         .target = facts.target,
                         .options = {"--std=c++17"},
                         .toolchain = facts.toolchain};
  facts.key = fields.key();
  facts.request = fields.request();
  facts.key_fields = fields.to_json();
  return facts;
}

Digest digest_of(std::string_view text) {
  return sha256(text);
}

std::unique_ptr<Store> open_store(const std::string& directory, StoreMode mode) {
  auto store = Store::open(directory, mode);
  INFO(store.status().message());
  REQUIRE(store.is_ok());
  return std::move(*store);
}

void put_sample(Store& store, std::uint32_t seed) {
  const Status status = store.put(sample_facts(seed), sample_image(seed));
  INFO(status.message());
  REQUIRE(status.is_ok());
}

bool finds_sample(Store& store, std::uint32_t seed, bool* recovered) {
  const auto found = store.find(sample_facts(seed).key, recovered);
  INFO(found.status().message());
  REQUIRE(found.is_ok());
  if (!found->has_value()) return false;
  CHECK((*found)->facts == sample_facts(seed));
  CHECK((*found)->image == sample_image(seed));
  return true;
}

RawDatabase::RawDatabase(const std::string& path) {
  REQUIRE(sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
  sqlite3_busy_timeout(database_, 5000);
}

RawDatabase::~RawDatabase() {
  sqlite3_close(database_);
}

void RawDatabase::execute(const std::string& sql) {
  INFO(sql);
  const int result = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  INFO(sqlite3_errmsg(database_));
  REQUIRE(result == SQLITE_OK);
}

std::vector<std::string> RawDatabase::column(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  std::vector<std::string> values;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, 0));
    const int size = sqlite3_column_bytes(statement, 0);
    values.emplace_back(data == nullptr ? "" : data, static_cast<std::size_t>(size));
  }
  sqlite3_finalize(statement);
  return values;
}

std::int64_t RawDatabase::integer(const std::string& sql) {
  const auto values = column(sql);
  REQUIRE(values.size() == 1);
  return std::stoll(values.front());
}

void RawDatabase::set_image(const Digest& key, const std::string& image) {
  set_blob(fmt::format("UPDATE images SET image = ?1 "
                       "WHERE entry = (SELECT id FROM entries WHERE key = x'{}')",
                       key.hex()),
           image);
}

void RawDatabase::set_key_fields(const Digest& key, std::string_view text) {
  const auto stored = compress_text(text);
  REQUIRE(stored.is_ok());
  set_blob(fmt::format("UPDATE entries SET key_fields = ?1 WHERE key = x'{}'", key.hex()), *stored);
}

void RawDatabase::set_blob(const std::string& sql, const std::string& blob) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  sqlite3_bind_blob64(statement, 1, blob.data(), blob.size(), SQLITE_STATIC);
  CHECK(sqlite3_step(statement) == SQLITE_DONE);
  CHECK(sqlite3_changes(database_) == 1);
  sqlite3_finalize(statement);
}

std::string RawDatabase::image(const Digest& key) {
  const auto images = column(fmt::format(
      "SELECT image FROM images JOIN entries ON entry = id WHERE key = x'{}'", key.hex()));
  REQUIRE(images.size() == 1);
  return images.front();
}

std::string database_path(const TemporaryDirectory& directory) {
  return directory.file("store-v1.db");
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  REQUIRE(file.good());
}

bool exists(const std::string& path) {
  return std::filesystem::exists(path);
}

LogCapture::LogCapture() : warnings_(std::make_shared<std::vector<std::string>>()) {
  set_log_sink(
      [warnings = warnings_](LogLevel, std::string_view line) { warnings->emplace_back(line); },
      LogLevel::warning);
}

LogCapture::~LogCapture() {
  set_log_sink({}, LogLevel::off);
}

int LogCapture::warnings() const {
  return static_cast<int>(warnings_->size());
}

}  // namespace kiln::test
