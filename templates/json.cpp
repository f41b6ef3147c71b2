// SPDX-License-Identifier: Apache-2.0
#include "templates/json.h"

#include "support/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace kiln {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 16;
constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Builds the document, and stops at the first thing that is wrong.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  Json document;
  Status status;

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return place(value);
  }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (stack_.back()->find(value) != stack_.back()->end()) {
      status = failure(Code::invalid_argument, "member {} is given twice", in_quotes(value));
      return false;
    }
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& /*last_token*/,
                   const Json::exception& /*error*/) override {
    const std::string_view before = text_.substr(0, position > 0 ? position - 1 : 0);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    status = failure(Code::invalid_argument, "not valid JSON at line {}, column {}", line, column);
    return false;
  }

 private:
  Json* insert(Json value) {
    if (stack_.empty()) {
      document = std::move(value);
      return &document;
    }
    Json& parent = *stack_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool place(Json value) {
    insert(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (stack_.size() == kMaxDepth) {
      status = failure(Code::invalid_argument, "nested deeper than {} levels", kMaxDepth);
      return false;
    }
    stack_.push_back(insert(std::move(container)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  // Open containers. Only the last one grows, so the pointers stay valid.
  std::vector<Json*> stack_;
  std::string key_;
};

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Builder builder(text);
  // The parser takes a NUL for the end of the text.
  if (text.find('\0') != std::string_view::npos) {
    return failure(Code::invalid_argument, "the text has a NUL byte");
  }
  if (!Json::sax_parse(text, &builder)) return builder.status;
  return std::move(builder.document);
}

Status decode(const Json& json, bool& value) {
  if (!json.is_boolean()) return failure(Code::invalid_argument, "must be true or false");
  value = json.get<bool>();
  return {};
}

Status decode(const Json& json, std::int64_t& value) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest)) {
    return failure(Code::invalid_argument, "must be an integer of 64 bits");
  }
  value = json.get<std::int64_t>();
  return {};
}

Status decode(const Json& json, double& value) {
  if (!json.is_number()) return failure(Code::invalid_argument, "must be a number");
  value = json.get<double>();
  return {};
}

Status decode(const Json& json, std::string& value) {
  const auto* text = json.get_ptr<const std::string*>();
  if (text == nullptr) return failure(Code::invalid_argument, "must be a string");
  if (text->empty()) return failure(Code::invalid_argument, "is empty");
  if (!is_printable(*text)) {
    return failure(Code::invalid_argument, "{} has a control character", in_quotes(*text));
  }
  value = *text;
  return {};
}

Status decode(const Json& json, std::vector<std::string>& value) {
  std::vector<std::string> elements;
  KILN_TRY(for_each_element(
      json, [&](const auto& element) { return decode(element, elements.emplace_back()); }));
  value = std::move(elements);
  return {};
}

Status decode(const Json& json, ComputeCapability& value) {
  std::string text;
  KILN_TRY(decode(json, text));
  const char* end = text.data() + text.size();
  ComputeCapability capability;
  const auto major = std::from_chars(text.data(), end, capability.major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    std::from_chars(major.ptr + 1, end, capability.minor);
  }
  // Comparing the texts also refuses signs, leading zeros and what follows the number.
  if (capability.text() != text || capability.major < 1 || capability.minor < 0) {
    return failure(Code::invalid_argument, "{} is no compute capability such as \"8.9\"",
                   in_quotes(text));
  }
  value = capability;
  return {};
}

Result<std::string> scalar_text(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  if (json.is_number_integer()) {
    std::int64_t value = 0;
    KILN_TRY(decode(json, value));
    return fmt::format("{}", value);
  }
  if (json.is_number_float()) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), json.get<double>());
    return std::string(text.data(), end.ptr);
  }
  std::string text;
  if (!decode(json, text).is_ok()) {
    return failure(Code::invalid_argument, "must be text, a number, true or false");
  }
  return text;
}

Result<JsonObject> JsonObject::open(const Json& json) {
  if (!json.is_object()) return failure(Code::invalid_argument, "must be an object");
  return JsonObject(json);
}

Status JsonObject::require(std::string_view member) {
  if (find(member) != nullptr) return {};
  return failure(Code::invalid_argument, "member \"{}\" is missing", member);
}

const Json* JsonObject::find(std::string_view member) {
  if (!is_asked(member)) asked_.push_back(member);
  const auto found = json_->find(member);
  return found == json_->end() ? nullptr : &*found;
}

bool JsonObject::is_asked(std::string_view member) const {
  return std::find(asked_.begin(), asked_.end(), member) != asked_.end();
}

Status JsonObject::finish() const {
  for (auto member = json_->begin(); member != json_->end(); ++member) {
    if (is_asked(member.key())) continue;
    std::vector<std::string_view> known = asked_;
    std::sort(known.begin(), known.end());
    return failure(Code::invalid_argument, "unknown member {}; known: {}", in_quotes(member.key()),
                   joined(known, ", "));
  }
  return {};
}

}  // namespace kiln
