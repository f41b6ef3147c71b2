// SPDX-License-Identifier: Apache-2.0
#include "templates/source.h"

#include <doctest/doctest.h>

#include <map>

namespace kiln {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

struct Collected {
  Result<SourceSet> result;
  int resolved = 0;

  std::vector<std::string> names() const {
    REQUIRE_MESSAGE(result.is_ok(), result.status().message());
    std::vector<std::string> names;
    for (const SourceText& include : result->includes)
      names.push_back(include.name);
    return names;
  }
};

Collected collect(const std::string& text, const Files& files = {}) {
  int resolved = 0;
  auto result = collect_sources({"main.cuh", text}, [&](std::string_view name) {
    ++resolved;
    const auto found = files.find(name);
    return found == files.end() ? std::optional<std::string>() : found->second;
  });
  return {std::move(result), resolved};
}

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("SourceSet") {
  TEST_CASE("includes are followed two levels down, and sorted, each once") {
    const auto collected = collect("#include \"z.cuh\"\n#include \"kiln/a.cuh\"\n",
                                   {{"z.cuh", "#include \"kiln/a.cuh\"\n#include \"b.cuh\""},
                                    {"kiln/a.cuh", "#include \"kiln/c.cuh\""},
                                    {"kiln/c.cuh", "c"},
                                    {"b.cuh", "b"},
                                    {"unused.cuh", ""}});
    CHECK(collected.names() == Names{"b.cuh", "kiln/a.cuh", "kiln/c.cuh", "z.cuh"});
    CHECK(collected.resolved == 4);
    CHECK(collected.result->includes[2].text == "c");
    CHECK(collected.result->main.name == "main.cuh");
  }

  TEST_CASE("a cycle ends, also one through the main file") {
    const auto collected = collect("#include \"a.cuh\"", {{"a.cuh", "#include \"b.cuh\""},
                                                          {"b.cuh",
                                                           "#include \"a.cuh\"\n"
                                                           "#include \"main.cuh\""},
                                                          {"main.cuh", "#include \"a.cuh\""}});
    CHECK(collected.names() == Names{"a.cuh", "b.cuh", "main.cuh"});
  }

  TEST_CASE("every spelling of the directive is found") {
    const Files files = {{"a.cuh", ""}};
    for (const char* text :
         {"#include \"a.cuh\"", "  #\tinclude\t\"a.cuh\" // why", "#include\"a.cuh\"",
          "int a;\r\n#include \"a.cuh\"\r\n", "/* why */ #include \"a.cuh\"",
          "/* a\n b */ # /* c */ include /* d */ \"a.cuh\"", "#inc\\\nlude \"a.cuh\"",
          "#inc\\\r\nlude \"a.\\\ncuh\"", "%:include \"a.cuh\"",
          "#if 0\n#include \"a.cuh\"\n#endif", "// #include \"a.cuh\"",
          "/*\n * #include \"a.cuh\"\n */", "/* #include \"a.cuh\" */"}) {
      CAPTURE(text);
      CHECK(collect(text, files).names() == Names{"a.cuh"});
    }
  }

  TEST_CASE("what is no directive adds nothing") {
    for (const char* text :
         {"#define include 1", "#pragma once", R"(auto s = "#include \"a\"";)",
          "// #include <cuda_fp16.h> is never needed", "#included \"a.cuh\"",
          "// #include \"gone.cuh\"", "// #include \"../gone.cuh\"", "#", "#include_"}) {
      CAPTURE(text);
      CHECK(collect(text).names().empty());
    }
  }

  TEST_CASE("a file that does not exist is not_found and names who includes it") {
    const auto status = collect("#include \"a.cuh\"", {{"a.cuh", "#include \"b.cuh\""}}).result;
    CHECK(status.status().code() == Code::not_found);
    CHECK(status.status().message() == "a.cuh includes \"b.cuh\", which does not exist");
  }

  TEST_CASE("text from outside the set is refused") {
    for (const char* text :
         {"#include <cuda_fp16.h>", "#include NAME", "#include", "#include \"a.cuh",
          "#include \"a.cuh\n\"", "#include_next \"a.cuh\"", "#import \"a.cuh\"",
          "#embed \"a.cuh\"", "/* a */ /* b */ #include <a>", "#if __has_include(\"a.cuh\")",
          "const char* t = __TIME__;", "// __DATE__", "__TIMESTAMP__",
          // Ways to hide one from the scanner, but not from the compiler.
          "// c \\ \n#include \"/etc/hostname\"", "#\rinclude \"/etc/hostname\"",
          "#if __has_inc\\\nlude(\"/etc/hostname\")", "__TI\\\nME__", "#define C(a, b) a##b",
          "#define C(a, b) a%:%:b", "// \xff\xfe\n"}) {
      CAPTURE(text);
      const auto status = collect(text, {{"a.cuh", ""}}).result.status();
      CHECK(status.code() == Code::invalid_argument);
      CHECK(status.message().find('\n') == std::string::npos);
    }
    CHECK(collect("#include <cuda_fp16.h>").result.status().message() ==
          "main.cuh has #include \"<cuda_fp16.h>\"; templates may only #include \"…\", of the "
          "kiln/ prelude or their own files");
  }

  TEST_CASE("a name that could leave the template's directory never reaches the resolver") {
    using namespace std::string_literals;
    for (const std::string& name : {"../a"s, "a/../b"s, "/etc/passwd"s, ""s, "."s, ".."s, "a//b"s,
                                    "a/"s, "a b"s, "a\\b"s, "\xc3\xa9"s, std::string(4096, 'a')}) {
      CAPTURE(name);
      const auto collected = collect("#include \"" + name + "\"");
      CHECK(collected.result.status().code() == Code::invalid_argument);
      CHECK(collected.result.status().message().size() < 300);
      CHECK(collected.resolved == 0);
    }
    CHECK(collect("#include \"a\0b\""s).result.status().message() ==
          "main.cuh contains a NUL byte");
  }

  TEST_CASE("a text cut anywhere is scanned to its end") {
    const std::string text = "/* a */ #inc\\\nlude \"a.cuh\" // ?\?=include %: \"\n#\\";
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const auto collected = collect(text.substr(0, i), {{"a.cuh", ""}});
      CHECK(
          (collected.result.is_ok() || collected.result.status().code() == Code::invalid_argument));
    }
  }
}

}  // namespace kiln
