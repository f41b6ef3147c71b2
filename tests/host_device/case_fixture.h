// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of kernels on the CPU share: compiled variants live as long as the program, since
// compiling is what takes their time.

#include "tests/host_device/cpu_backend.h"
#include "tests/host_device/variant_case.h"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <string>

namespace kiln {

class CaseFixture {
 public:
  static CpuBackend& backend() {
    static const auto created = CpuBackend::create({});
    REQUIRE_MESSAGE(created.is_ok(), created.status().message());
    return **created;
  }
  static const Catalog& catalog() {
    static const auto opened = Catalog::open({});
    REQUIRE_MESSAGE(opened.is_ok(), opened.status().message());
    return *opened;
  }

  static void check(const VariantCase& given) {
    INFO(given.text());
    const auto result = run_case(backend(), catalog(), given);
    REQUIRE_MESSAGE(result.is_ok(), result.status().message(), result.status().detail());
    CHECK_MESSAGE(result->mismatches == 0, result->first_mismatch);
    CHECK(result->compared > 0);
    CHECK(result->is_rest_untouched);
  }

  // The message that a case is refused with.
  static std::string refusal(const VariantCase& given) {
    const auto result = run_case(backend(), catalog(), given);
    CHECK(result.status().code() == Code::invalid_argument);
    return result.is_ok() ? "" : result.status().message();
  }

  // Whatever the generator `make` comes up with, RC_PARAMS says how often.
  template <typename Make>
  static void check_any(const std::string& what, Make make) {
    CHECK(rc::check(what, [&] {
      const VariantCase given = make();
      const auto result = run_case(backend(), catalog(), given);
      RC_LOG() << given.text() << '\n';
      if (!result.is_ok()) RC_FAIL(result.status().message() + result.status().detail());
      RC_LOG() << result->first_mismatch << '\n';
      RC_ASSERT(result->mismatches == 0);
      RC_ASSERT(result->compared > 0);
      RC_ASSERT(result->is_rest_untouched);
    }));
  }

  // Row counts around what blocks and tiles hold.
  static rc::Gen<std::int64_t> any_rows() {
    return rc::gen::element<std::int64_t>(1, 2, 3, 31, 127, 128, 129);
  }
  static rc::Gen<std::int64_t> any_gap() { return rc::gen::inRange<std::int64_t>(0, 4); }
};

}  // namespace kiln
