// SPDX-License-Identifier: Apache-2.0
#include "templates/spec.h"

#include <doctest/doctest.h>

namespace kiln {
namespace {

std::string message_for(std::string_view text) {
  const auto spec = parse_spec(text);
  REQUIRE_FALSE(spec.is_ok());
  CHECK(spec.status().code() == Code::invalid_argument);
  return spec.status().message();
}

TEST_SUITE("Spec") {
  TEST_CASE("a template name alone is a spec without parameters") {
    const auto spec = parse_spec("static_quant");
    REQUIRE(spec.is_ok());
    CHECK(spec->template_name == "static_quant");
    CHECK(spec->parameters.empty());
  }

  TEST_CASE("parameters keep the order in which they were given, and text() gives them back") {
    const std::string text = "a.b:z=1,out=bf16+e4m3,eps=1e-06";
    const auto spec = parse_spec(text);
    REQUIRE(spec.is_ok());
    CHECK(spec->parameters == ParameterList{{"z", "1"}, {"out", "bf16+e4m3"}, {"eps", "1e-06"}});
    CHECK(spec->text() == text);
  }

  TEST_CASE("a malformed spec is refused with what is wrong") {
    CHECK(message_for("") == "spec \"\" has an empty template name");
    CHECK(message_for(":a=1") == "spec \":a=1\" has an empty template name");
    CHECK(message_for("t:") == "spec \"t:\" has an empty parameter name");
    CHECK(message_for("t:a=1,") == "spec \"t:a=1,\" has an empty parameter name");
    CHECK(message_for("t:,a=1") == "spec \"t:,a=1\" has an empty parameter name");
    CHECK(message_for("t:=1") == "spec \"t:=1\" has an empty parameter name");
    CHECK(message_for("t:a=") == "spec \"t:a=\" has an empty parameter value");
    CHECK(message_for("t:a") == "spec \"t:a\" gives no value for \"a\"");
    CHECK(message_for("t:a=1,a=2") == "spec \"t:a=1,a=2\" gives \"a\" twice");
    CHECK(message_for("t:a=1=2").find("has \"=\" in a parameter value") != std::string::npos);
    CHECK(message_for("t:a=1:b").find("has \":\" in a parameter value") != std::string::npos);
    CHECK(message_for("t :a=1").find("has \" \" in a template name") != std::string::npos);
    CHECK(message_for("../t").find("has \"/\" in a template name") != std::string::npos);
  }

  TEST_CASE("hostile text is quoted in one short line") {
    using namespace std::string_view_literals;
    for (std::string_view hostile :
         {"a\nb"sv, "a\0b"sv, R"(a"b)"sv, "\xff\xfe"sv, "t:a=\x1b[31m"sv, "t:\xc3\xa9=1"sv}) {
      const std::string message = message_for(hostile);
      CHECK(message.find('\n') == std::string::npos);
      CHECK(message.find('\0') == std::string::npos);
      CHECK(message.find('\x1b') == std::string::npos);
      CHECK(message.size() < 200);
    }
    const std::string message = message_for(std::string(4097, 'a'));
    CHECK(message.find("is longer than 4096 bytes") != std::string::npos);
    CHECK(message.size() < 200);
    CHECK(parse_spec(std::string(4096, 'a')).is_ok());
  }
}

}  // namespace
}  // namespace kiln
