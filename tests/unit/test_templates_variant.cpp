// SPDX-License-Identifier: Apache-2.0
#include "templates/variant.h"
#include "tests/unit/templates_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <clocale>
#include <limits>
#include <locale>

namespace kiln {
namespace {

using test::kScaleManifest;
using test::replaced;
using test::template_of;
using test::variant_of;

constexpr std::string_view kDefaults =
    "scale:columns=64,out=e4m3,mode=up,fast=false,factor=1.5,vector=4";

std::string spec_of(const ParameterList& given) {
  return variant_of(template_of(kScaleManifest), given).spec();
}

std::string refusal(const ParameterList& given) {
  const auto variant = Variant::make(template_of(kScaleManifest), given);
  REQUIRE_FALSE(variant.is_ok());
  CHECK(variant.status().code() == Code::invalid_argument);
  return variant.status().message();
}

struct CommaDecimal final : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// Whole process in a locale that writes 1.500,25; C's too where such a locale is installed.
class CommaLocale {
 public:
  CommaLocale()
      : previous_(std::locale::global(std::locale(std::locale(), new CommaDecimal))),
        previous_c_(std::setlocale(LC_ALL, nullptr)) {
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    MESSAGE("decimal point of the C library: ", std::string(std::localeconv()->decimal_point));
  }
  ~CommaLocale() {
    std::locale::global(previous_);
    std::setlocale(LC_ALL, previous_c_.c_str());
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  std::locale previous_;
  std::string previous_c_;
};

}  // namespace

TEST_SUITE("Variant") {
  TEST_CASE("parameters left out take the default, and all stand in the manifest's order") {
    CHECK(spec_of({{"columns", "64"}}) == kDefaults);
  }

  TEST_CASE("order, spelling and stated defaults do not matter") {
    ParameterList given = {{"columns", "+0064"},
                           {"out", "e5m2+bf16"},
                           {"mode", "down"},
                           {"factor", "+15e-1"},
                           {"vector", "04"}};
    std::sort(given.begin(), given.end());
    int orders = 0;
    do {
      ++orders;
      CHECK(spec_of(given) ==
            "scale:columns=64,out=bf16+e5m2,mode=down,fast=false,factor=1.5,vector=4");
    } while (std::next_permutation(given.begin(), given.end()));
    CHECK(orders == 120);
  }

  TEST_CASE("a canonical spec is its own canonical form") {
    for (const char* factor : {"1e-06", "0.1", "100", "1e-30", "33.333333", "0", "-0", "1e1"}) {
      const auto variant =
          variant_of(template_of(kScaleManifest), {{"columns", "64"}, {"factor", factor}});
      CHECK(variant_of(template_of(kScaleManifest), variant.parameters()).spec() == variant.spec());
    }
  }

  TEST_CASE("reals that round to the same float are one variant") {
    CHECK(spec_of({{"columns", "64"}, {"factor", "0.1"}}) ==
          spec_of({{"columns", "64"}, {"factor", "0.100000001"}}));
    CHECK(spec_of({{"columns", "64"}, {"factor", "-0"}}) ==
          spec_of({{"columns", "64"}, {"factor", "0.0"}}));
  }

  TEST_CASE("a parameter that cannot matter takes its default, but must still be valid") {
    CHECK(spec_of({{"columns", "64"}, {"out", "bf16"}, {"mode", "down"}}) ==
          spec_of({{"columns", "64"}, {"out", "bf16"}}));
    CHECK(spec_of({{"columns", "64"}, {"out", "e5m2"}, {"mode", "down"}}) !=
          spec_of({{"columns", "64"}, {"out", "e5m2"}}));
    CHECK(refusal({{"columns", "64"}, {"out", "bf16"}, {"mode", "dwon"}}) ==
          "parameter \"mode\" is \"dwon\"; allowed: up, down");
  }

  TEST_CASE("the locale changes neither canonical text nor name expressions") {
    const ParameterList given = {{"columns", "4096"}, {"factor", "1.25"}};
    const auto plain = variant_of(template_of(kScaleManifest), given);
    const std::string name = specialize(plain, {9, 0})->name_expression;
    const CommaLocale locale;
    const auto variant = variant_of(template_of(kScaleManifest), given);
    CHECK(variant.spec() == plain.spec());
    CHECK(variant.spec() == "scale:columns=4096,out=e4m3,mode=up,fast=false,factor=1.25,vector=4");
    CHECK(variant.manifest().find_parameter("factor")->default_value == "1.5");
    CHECK(specialize(variant, {9, 0})->name_expression == name);
    CHECK(refusal({{"columns", "64"}, {"factor", "1,25"}}) ==
          "parameter \"factor\" is \"1,25\"; allowed: a number from 0 to 100");
  }

  TEST_CASE("a value that is not allowed is refused with what is") {
    CHECK(refusal({{"columns", "63"}}) ==
          "parameter \"columns\" is 63; allowed: a multiple of 8 from 8 to 4096");
    for (const char* bad :
         {"0", "4104", "-8", "8.0", "", " 8", "0x10", "+-8", "++8", "8 ", "99999999999999999999"}) {
      CHECK(refusal({{"columns", bad}}).ends_with("allowed: a multiple of 8 from 8 to 4096"));
    }
    CHECK(refusal({{"columns", "64"}, {"vector", "3"}}) ==
          "parameter \"vector\" is 3; allowed: 1, 2, 4, 8");
    CHECK(refusal({{"columns", "64"}, {"fast", "yes"}}) ==
          "parameter \"fast\" is \"yes\"; allowed: true, false");
    CHECK(refusal({{"columns", "64"}, {"out", "fp8"}}) ==
          "parameter \"out\" is \"fp8\"; allowed: bf16, e4m3, e5m2 (joined by +)");
    for (const char* bad : {"", "+", "bf16+", "+bf16", "bf16+bf16", "bf16,e4m3"}) {
      CHECK(refusal({{"columns", "64"}, {"out", bad}})
                .ends_with("allowed: bf16, e4m3, e5m2 (joined by +)"));
    }
    for (const char* bad : {"100.1", "-1", "nan", "inf", "1e99", "1e-99", "0x1p0", "1.5f", "+-1"}) {
      CHECK(refusal({{"columns", "64"}, {"factor", bad}})
                .ends_with("allowed: a number from 0 to 100"));
    }
  }

  TEST_CASE("unknown, missing and repeated parameters are refused") {
    CHECK(refusal({{"colums", "64"}}) ==
          "template \"scale\" has no parameter \"colums\"; it has: columns, out, mode, fast, "
          "factor, vector");
    CHECK(refusal({}) ==
          "parameter \"columns\" of \"scale\" must be given; allowed: a multiple of 8 from 8 to "
          "4096");
    CHECK(refusal({{"columns", "64"}, {"columns", "64"}}) ==
          "parameter \"columns\" is given twice");
  }

  TEST_CASE("hostile names and values end in one short line") {
    using namespace std::string_literals;
    for (const std::string& hostile : {"a\nb"s, "a\0b"s, "a\"b"s, "\xff"s, "../.."s,
                                       std::string(4096, 'x'), "\u202e"s, "\u00e9"s}) {
      for (const std::string& message :
           {refusal({{hostile, "1"}}), refusal({{"columns", hostile}})}) {
        CHECK(message.find('\n') == std::string::npos);
        CHECK(message.find('\0') == std::string::npos);
        CHECK(message.find('\xff') == std::string::npos);
        CHECK(message.size() < 250);
      }
    }
  }

  TEST_CASE("a broken constraint is refused with values and reason") {
    CHECK(refusal({{"columns", "72"}, {"vector", "8"}}) ==
          "parameter \"columns\" is 72; allowed with vector 8: columns a multiple of 16 (two "
          "accesses a thread)");
    CHECK(spec_of({{"columns", "80"}, {"vector", "8"}}).ends_with("vector=8"));
  }

  TEST_CASE("parse joins syntax, catalog and manifest") {
    const auto catalog = Catalog::open({});
    REQUIRE_MESSAGE(catalog.is_ok(), catalog.status().message());
    const auto variant = Variant::parse(*catalog, "layernorm_modulate:out=e4m3+bf16,hidden=6144");
    REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
    CHECK(variant->spec().starts_with("layernorm_modulate:hidden=6144,out=bf16+e4m3,"));
    CHECK(Variant::parse(*catalog, variant->spec())->spec() == variant->spec());
    CHECK(Variant::parse(*catalog, "foo:a=1").status().code() == Code::not_found);
    CHECK(Variant::parse(*catalog, "foo:a").status().code() == Code::invalid_argument);
    CHECK(Variant::parse(*catalog, "layernorm_modulate:hidden=6143").status().message() ==
          "parameter \"hidden\" is 6143; allowed: a multiple of 4 from 4 to 16384");
  }
}

}  // namespace kiln
