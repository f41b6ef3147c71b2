// SPDX-License-Identifier: Apache-2.0
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace {

bool g_has_failed = false;

// Only listens: a destructor cannot ask doctest whether its test has failed.
struct FailureListener : doctest::IReporter {
  explicit FailureListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { g_has_failed = false; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override { g_has_failed = true; }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& assertion) override {
    if (assertion.m_failed) g_has_failed = true;
  }
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("failure", 1, FailureListener);

}  // namespace

namespace kiln::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kiln-test-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (g_has_failed) {
    MESSAGE("kept: ", path_);
    return;
  }
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace kiln::test
