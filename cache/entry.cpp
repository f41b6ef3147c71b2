// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.h"

#include <nlohmann/json.hpp>
#include <zstd.h>

#include <limits>
#include <utility>

namespace kiln {
namespace {

constexpr std::int64_t kLargestImage = 64 << 20;
constexpr int kCompressionLevel = 3;

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::string layout_to_json(const std::vector<KernelParameter>& layout) {
  std::string text;
  for (const KernelParameter& parameter : layout) {
    text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", parameter.offset_bytes,
                        parameter.size_bytes);
  }
  return fmt::format("[{}]", text);
}

Result<std::vector<KernelParameter>> layout_from_json(const std::string& text) {
  const Status malformed = failure(Code::corrupt, "parameter layout \"{}\" is malformed", text);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return malformed;
  std::vector<KernelParameter> layout;
  for (const auto& pair : json) {
    if (!pair.is_array() || pair.size() != 2) return malformed;
    std::int32_t values[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* number = pair[i].get_ptr<const nlohmann::json::number_unsigned_t*>();
      if (number == nullptr || *number > std::numeric_limits<std::int32_t>::max()) return malformed;
      values[i] = static_cast<std::int32_t>(*number);
    }
    layout.push_back({.offset_bytes = values[0], .size_bytes = values[1]});
  }
  if (layout_to_json(layout) != text) return malformed;
  return layout;
}

Result<std::string> compress(std::string_view content) {
  std::string stored(ZSTD_compressBound(content.size()), '\0');
  // The frame holds the content's size, and no checksum: the entry's digest covers it.
  const std::size_t size = ZSTD_compress(stored.data(), stored.size(), content.data(),
                                         content.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0) {
    return failure(Code::out_of_memory, "zstd: {}", ZSTD_getErrorName(size));
  }
  stored.resize(size);
  return stored;
}

// One frame and nothing after it, whose own idea of its size agrees: to be checked before
// allocating.
bool is_one_frame(std::string_view stored, std::uint64_t bytes) {
  return ZSTD_getFrameContentSize(stored.data(), stored.size()) == bytes &&
         ZSTD_findFrameCompressedSize(stored.data(), stored.size()) == stored.size();
}

Result<std::string> decompress(std::string_view stored, std::size_t bytes) {
  std::string content(bytes, '\0');
  const std::size_t size =
      ZSTD_decompress(content.data(), content.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != content.size()) {
    return failure(Code::corrupt, "a stored frame of {} bytes does not decompress: {}", bytes,
                   ZSTD_getErrorName(size));
  }
  return content;
}

}  // namespace

Digest entry_digest(const EntryFacts& facts, std::string_view stored_image) {
  Hasher hasher;
  const auto number = [&](std::string_view tag, std::int64_t value) {
    hasher.field(tag, fmt::format_int(value).c_str());
  };
  hasher.field("kiln entry", "1");
  hasher.field("key", as_text(facts.key));
  hasher.field("request", as_text(facts.request));
  hasher.field("template_name", facts.template_name);
  hasher.field("spec", facts.spec);
  hasher.field("target", facts.target);
  hasher.field("toolchain", facts.toolchain);
  hasher.field("lowered_name", facts.lowered_name);
  hasher.field("layout", facts.layout);
  number("registers", facts.resources.registers);
  number("shared_bytes", facts.resources.shared_bytes);
  number("local_bytes", facts.resources.local_bytes);
  number("spill_store_bytes", facts.resources.spill_store_bytes);
  number("spill_load_bytes", facts.resources.spill_load_bytes);
  hasher.field("key_fields", facts.key_fields);
  hasher.field("log", facts.log);
  number("compile_us", facts.compile_us);
  number("created_at", facts.created_at);
  number("image_bytes", facts.image_bytes);
  hasher.field("image", stored_image);
  return hasher.finish();
}

EntryFacts make_facts(const Digest& key,
                      const Digest& request,
                      std::string template_name,
                      std::string spec,
                      std::string key_fields,
                      const Artifact& artifact,
                      std::int64_t created_at) {
  return {.key = key,
          .request = request,
          .template_name = std::move(template_name),
          .spec = std::move(spec),
          .target = artifact.target.text(),
          .toolchain = artifact.toolchain,
          .lowered_name = artifact.lowered_name,
          .layout = layout_to_json(artifact.layout),
          .resources = artifact.resources,
          .key_fields = std::move(key_fields),
          .log = artifact.log,
          .compile_us = artifact.compile_us,
          .created_at = created_at,
          .image_bytes = static_cast<std::int64_t>(artifact.image.size())};
}

Result<Artifact> make_artifact(const EntryFacts& facts, std::string image) {
  // Only the canonical spelling is ever stored; parse_target() also takes shorter ones.
  const auto target = parse_target(facts.target);
  if (!target.is_ok() || target->text() != facts.target) {
    return failure(Code::corrupt, "stored target \"{}\" is unknown", facts.target);
  }
  KILN_TRY_ASSIGN(auto layout, layout_from_json(facts.layout));
  return Artifact{.image = std::move(image),
                  .target = *target,
                  .lowered_name = facts.lowered_name,
                  .layout = std::move(layout),
                  .resources = facts.resources,
                  .toolchain = facts.toolchain,
                  .compile_us = facts.compile_us,
                  .log = facts.log};
}

Result<std::string> compress_image(std::string_view image) {
  if (std::cmp_greater(image.size(), kLargestImage)) {
    return failure(Code::io, "image has {} bytes; at most {} can be stored", image.size(),
                   kLargestImage);
  }
  return compress(image);
}

Result<std::string> compress_text(std::string_view text) {
  return compress(text);
}

Result<std::string> decompress_image(std::string_view stored, std::int64_t image_bytes) {
  if (image_bytes < 0 || image_bytes > kLargestImage) {
    return failure(Code::corrupt, "stored image claims {} bytes; at most {} are allowed",
                   image_bytes, kLargestImage);
  }
  if (!is_one_frame(stored, static_cast<std::uint64_t>(image_bytes))) {
    return failure(Code::corrupt, "stored image is not one zstd frame of {} bytes", image_bytes);
  }
  return decompress(stored, static_cast<std::size_t>(image_bytes));
}

Result<std::string> decompress_text(std::string_view stored) {
  const std::uint64_t bytes = ZSTD_getFrameContentSize(stored.data(), stored.size());
  // What zstd says instead of a size is larger than any.
  if (bytes > kLongestFact || !is_one_frame(stored, bytes)) {
    return failure(Code::corrupt, "{} bytes are not one zstd frame of at most {}", stored.size(),
                   kLongestFact);
  }
  return decompress(stored, bytes);
}

}  // namespace kiln
