// SPDX-License-Identifier: Apache-2.0
#include "templates/source.h"

#include "support/text.h"
#include "templates/names.h"

#include <algorithm>
#include <map>

namespace kiln {
namespace {

constexpr std::string_view kBlanks = " \t\v\f";

struct Directive {
  std::string name;
  // False inside a `//` comment or behind code, where the compiler cannot take it for a directive.
  bool is_certain = false;
};

// Joins continued lines, as the compiler does before anything else.
std::string spliced(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("\\\n")) {
      i += 1;
    } else if (rest.starts_with("\\\r\n")) {
      i += 2;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

// The length of the '#' that `text` starts with, in any of its spellings; 0 if there is none.
std::size_t hash_size(std::string_view text) {
  for (std::string_view spelling : {"#", "%:", "?\?="}) {
    if (text.starts_with(spelling)) return spelling.size();
  }
  return 0;
}

// Where the next one may be; the end of the text if nowhere.
std::size_t next_hash(std::string_view text, std::size_t position) {
  const auto* found = std::find_if(text.begin() + position, text.end(),
                                   [](char c) { return c == '#' || c == '%' || c == '?'; });
  return static_cast<std::size_t>(found - text.begin());
}

std::string_view skip_blanks(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with("/*")) return text;
    const std::size_t end = text.find("*/", 2);
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 2);
  }
}

// Whether a '#' behind `before` can start a directive: nothing but blanks and block comments
// precede it on its line. A comment may have begun on an earlier line.
bool can_start_directive(std::string_view before) {
  const std::size_t line = before.find_last_of("\n\r");
  if (line != std::string_view::npos) before.remove_prefix(line + 1);
  const std::size_t comment = before.rfind("*/");
  if (comment != std::string_view::npos) before.remove_prefix(comment + 2);
  return before.find_first_not_of(kBlanks) == std::string_view::npos;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\n\r"));
}

// Directives whose text is not known here, or depends on the machine.
Status check_word(std::string_view word, std::string_view rest, std::string_view file) {
  if (word == "include_next" || word == "import" || word == "embed") {
    return failure(Code::invalid_argument, "{} uses #{}; templates may only #include \"…\"", file,
                   word);
  }
  if (word == "include" && !rest.starts_with('"')) {
    return failure(Code::invalid_argument,
                   "{} has #include {}; templates may only #include \"…\", of the kiln/ prelude "
                   "or their own files",
                   file, in_quotes(first_line(rest)));
  }
  return {};
}

Result<std::vector<Directive>> find_directives(const SourceText& source) {
  const std::string text = spliced(source.text);
  const std::string_view all = text;
  std::vector<Directive> directives;
  for (std::size_t i = next_hash(all, 0); i < all.size(); i = next_hash(all, i + 1)) {
    const std::size_t hash = hash_size(all.substr(i));
    if (hash == 0) continue;
    std::string_view rest = skip_blanks(all.substr(i + hash));
    const std::string_view word =
        rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    rest = skip_blanks(rest.substr(word.size()));
    const bool is_certain = can_start_directive(all.substr(0, i));
    if (is_certain) KILN_TRY(check_word(word, rest, source.name));
    if (word != "include" || !rest.starts_with('"')) continue;
    const std::string_view line = first_line(rest.substr(1));
    const std::size_t end = line.find('"');
    if (end == std::string_view::npos && is_certain) {
      return failure(Code::invalid_argument, "{} has #include {} without a closing quote",
                     source.name, in_quotes(line));
    }
    if (end != std::string_view::npos) {
      directives.push_back({std::string(line.substr(0, end)), is_certain});
    }
  }
  return directives;
}

// Where compilers disagree about what a character means, this scanner could see less than they do.
Status check_characters(const SourceText& source) {
  const std::string_view text = source.text;
  if (!is_utf8(text)) {
    return failure(Code::invalid_argument, "{} is not valid UTF-8", source.name);
  }
  for (std::size_t i = text.find('\r'); i != std::string_view::npos; i = text.find('\r', i + 1)) {
    if (!text.substr(i).starts_with("\r\n")) {
      return failure(Code::invalid_argument, "{} has a carriage return within a line", source.name);
    }
  }
  for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i + 1)) {
    const std::size_t end = text.find_first_not_of(kBlanks, i + 1);
    const bool ends_line = end == std::string_view::npos || text[end] == '\n' || text[end] == '\r';
    if (ends_line && end != i + 1) {
      return failure(Code::invalid_argument, "{} has blanks behind a backslash at a line's end",
                     source.name);
    }
  }
  return {};
}

Status check_text(const SourceText& source) {
  if (source.text.find('\0') != std::string::npos) {
    return failure(Code::invalid_argument, "{} contains a NUL byte", source.name);
  }
  KILN_TRY(check_characters(source));
  const std::string text = spliced(source.text);
  if (text.find("__has_include") != std::string::npos ||
      text.find("__has_embed") != std::string::npos) {
    return failure(Code::invalid_argument,
                   "{} uses __has_include or __has_embed, whose answer depends on the machine",
                   source.name);
  }
  for (const std::string_view macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    if (text.find(macro) != std::string::npos) {
      return failure(Code::invalid_argument, "{} uses {}: its code would differ by the time",
                     source.name, macro);
    }
  }
  // Could paste any of the names above, or a directive's.
  for (const std::string_view operation : {"##", "%:%:"}) {
    if (text.find(operation) != std::string::npos) {
      return failure(Code::invalid_argument, "{} uses {}, which templates may not", source.name,
                     operation);
    }
  }
  return {};
}

class Collector {
 public:
  explicit Collector(const IncludeResolver& resolve) : resolve_(resolve) {}

  Status scan(const SourceText& source) {
    KILN_TRY(check_text(source));
    KILN_TRY_ASSIGN(const std::vector<Directive> directives, find_directives(source));
    for (const Directive& directive : directives)
      KILN_TRY(add(directive, source.name));
    return {};
  }

  // Cycles end here: a name is queued once.
  Status scan_queued() {
    while (!queue_.empty()) {
      const std::string name = std::move(queue_.back());
      queue_.pop_back();
      KILN_TRY(scan({name, texts_[name]}));
    }
    return {};
  }

  std::vector<SourceText> take() {
    std::vector<SourceText> includes;
    for (auto& [name, text] : texts_)
      includes.push_back({name, std::move(text)});
    return includes;
  }

 private:
  Status add(const Directive& directive, std::string_view includer) {
    if (texts_.find(directive.name) != texts_.end()) return {};
    if (!is_include_name(directive.name)) {
      if (!directive.is_certain) return {};
      return failure(Code::invalid_argument,
                     "{} includes {}; allowed: relative names of letters, digits and _ . + -, "
                     "joined by /",
                     includer, in_quotes(directive.name));
    }
    std::optional<std::string> text = resolve_(directive.name);
    if (!text) {
      if (!directive.is_certain) return {};
      return failure(Code::not_found, "{} includes {}, which does not exist", includer,
                     in_quotes(directive.name));
    }
    texts_.emplace(directive.name, *std::move(text));
    queue_.push_back(directive.name);
    return {};
  }

  const IncludeResolver& resolve_;
  std::map<std::string, std::string> texts_;
  std::vector<std::string> queue_;
};

}  // namespace

Result<SourceSet> collect_sources(SourceText main, const IncludeResolver& resolve) {
  Collector collector(resolve);
  KILN_TRY(collector.scan(main));
  KILN_TRY(collector.scan_queued());
  return SourceSet{std::move(main), collector.take()};
}

}  // namespace kiln
