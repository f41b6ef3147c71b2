// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <doctest/doctest.h>

#include <vector>

namespace kiln {

TEST_SUITE("text") {
  TEST_CASE("plain text, UTF-8 too, is quoted as it is") {
    CHECK(in_quotes("") == "\"\"");
    CHECK(in_quotes("hidden=6144") == "\"hidden=6144\"");
    CHECK(in_quotes("größe 模型 🔥") == "\"größe 模型 🔥\"");
  }

  TEST_CASE("what would break a line, a terminal or the quotes is escaped") {
    using namespace std::string_view_literals;
    CHECK(in_quotes("a\"b\\c") == R"("a\"b\\c")");
    CHECK(in_quotes("a\nb\rc\td\0e\x1b\x7f"sv) == R"("a\nb\rc\td\x00e\x1b\x7f")");
    CHECK(in_quotes("\u0085\u2028\u202e\ufeff") == R"("\u0085\u2028\u202e\ufeff")");
  }

  TEST_CASE("bytes that are no UTF-8 are escaped one by one") {
    CHECK(in_quotes("\xff") == R"("\xff")");
    CHECK(in_quotes("\xc3") == R"("\xc3")");
    CHECK(in_quotes("\xc3(") == R"("\xc3(")");
    CHECK(in_quotes("\xc0\xaf") == R"("\xc0\xaf")");          // overlong
    CHECK(in_quotes("\xe0\x80\xaf") == R"("\xe0\x80\xaf")");  // overlong
    CHECK(in_quotes("\xed\xa0\x80") == R"("\xed\xa0\x80")");  // surrogate
    CHECK(in_quotes("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");
  }

  TEST_CASE("long text is cut between characters and its length stated") {
    const std::string exact(80, 'a');
    CHECK(in_quotes(exact) == '"' + exact + '"');
    CHECK(in_quotes(exact + 'a') == '"' + exact + "…\" (81 bytes)");
    CHECK(in_quotes(std::string(79, 'a') + "ö") == '"' + std::string(79, 'a') + "…\" (81 bytes)");
    CHECK(in_quotes(std::string(4096, '\n')).size() < 110);
  }

  TEST_CASE("sizes are read and written with powers of 1024, and nothing else is a size") {
    CHECK(parse_bytes("0") == 0);
    CHECK(parse_bytes("1536") == 1536);
    CHECK(parse_bytes("3k") == 3072);
    CHECK(parse_bytes("2G") == std::int64_t{2} << 30);
    CHECK(parse_bytes("8388607T") == std::int64_t{8388607} << 40);
    for (const char* text : {"", "K", "-1", "-0", "+1", "1.5G", "1 K", "1KB", "1X", "8388608T",
                             "9223372036854775808"}) {
      CAPTURE(text);
      CHECK_FALSE(parse_bytes(text).has_value());
    }
    CHECK(exact_bytes_text(0) == "0");
    CHECK(exact_bytes_text(1023) == "1023");
    CHECK(exact_bytes_text(1536) == "1536");
    CHECK(exact_bytes_text(3 << 20) == "3M");
    CHECK(exact_bytes_text(std::int64_t{2048} << 40) == "2048T");
  }

  TEST_CASE("elements are joined with the separator between them only") {
    CHECK(joined(std::vector<std::string>{}, ", ").empty());
    CHECK(joined(std::vector<std::string>{"a"}, ", ") == "a");
    CHECK(joined(std::vector<std::string>{"a", "", "b"}, "+") == "a++b");
  }
}

}  // namespace kiln
