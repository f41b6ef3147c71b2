// SPDX-License-Identifier: Apache-2.0
#include "jit/cubin.h"

#include "support/text.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>

namespace kiln {
namespace {

constexpr Elf64_Half kMachineCuda = 190;
constexpr Elf64_Word kSectionCudaInfo = 0x70000000;
constexpr unsigned char kSymbolIsKernel = 0x10;  // st_other of a __global__ function

// The two forms of ELF header: up to NVRTC 12.9 for targets below sm_100, and the newer one.
constexpr unsigned char kAbiOld = 0x33;
constexpr unsigned char kAbiNew = 0x41;

// From sm_90 on, the first bytes of shared memory belong to the system, and the section counts
// them. Seen with NVRTC 12.0 to 13.0; ptxas reports the size without them.
constexpr std::int64_t kReservedSharedBytes = 1024;
constexpr ComputeCapability kFirstWithReservedShared = {9, 0};

// Attributes of .nv.info sections.
constexpr std::uint8_t kFormatSized = 4;  // a 16-bit length and that many bytes follow
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;
constexpr std::uint8_t kParameterInfo = 0x17;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kParameterInfo2 = 0x45;

Status no_cubin(std::string_view reason) {
  return failure(Code::corrupt, "image is no cubin: {}", reason);
}

// A T at `offset`, if all of it is inside.
template <typename T>
std::optional<T> read_at(std::string_view data, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > data.size() || data.size() - offset < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, data.data() + offset, sizeof(T));
  return value;
}

std::optional<std::string_view> text_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return std::nullopt;
  const auto end = strings.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return strings.substr(offset, end - offset);
}

struct Attribute {
  std::uint8_t code = 0;
  std::string_view data;
};

class Cubin {
 public:
  static Result<Cubin> open(std::string_view image) {
    Cubin cubin;
    cubin.image_ = image;
    KILN_TRY(cubin.read_header());
    KILN_TRY(cubin.read_sections());
    return cubin;
  }

  ComputeCapability capability() const {
    const unsigned number = header_.e_ident[EI_OSABI] == kAbiNew ? (header_.e_flags >> 8U) & 0xFFU
                                                                 : header_.e_flags & 0xFFU;
    return capability_of(static_cast<int>(number));
  }

  const Elf64_Shdr* find(std::string_view name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? nullptr : &found->second;
  }

  // Index of a kernel in the symbol table.
  std::optional<std::uint32_t> find_kernel(std::string_view name) const {
    const Elf64_Shdr* table = find(".symtab");
    const Elf64_Shdr* strings = find(".strtab");
    if (table == nullptr || strings == nullptr) return std::nullopt;
    const std::string_view data = contents(*table);
    for (std::uint32_t i = 0; true; ++i) {
      const auto symbol = read_at<Elf64_Sym>(data, std::uint64_t{i} * sizeof(Elf64_Sym));
      if (!symbol) return std::nullopt;
      const bool is_kernel =
          ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & kSymbolIsKernel) != 0;
      if (is_kernel && text_at(contents(*strings), symbol->st_name) == name) return i;
    }
  }

  // corrupt if a record does not end where its section does.
  Result<std::vector<Attribute>> attributes(std::string_view section_name) const {
    std::vector<Attribute> attributes;
    const Elf64_Shdr* section = find(section_name);
    if (section == nullptr || section->sh_type != kSectionCudaInfo) {
      return failure(Code::corrupt, "cubin has no section {}", in_quotes(section_name));
    }
    std::string_view data = contents(*section);
    while (!data.empty()) {
      if (data.size() < 4) return no_cubin("a record of .nv.info is cut short");
      const auto format = static_cast<std::uint8_t>(data[0]);
      const auto code = static_cast<std::uint8_t>(data[1]);
      const std::size_t value = *read_at<std::uint16_t>(data, 2);
      // The other formats keep their value in the two bytes after the code.
      const std::size_t size = format == kFormatSized ? value : 0;
      if (data.size() - 4 < size) return no_cubin("a record of .nv.info is cut short");
      if (format == kFormatSized) attributes.push_back({code, data.substr(4, size)});
      data.remove_prefix(4 + size);
    }
    return attributes;
  }

 private:
  Status read_header() {
    const auto header = read_at<Elf64_Ehdr>(image_, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
      return no_cubin("it has no ELF header");
    }
    header_ = *header;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != kMachineCuda) {
      return no_cubin("it is an ELF file for another machine");
    }
    if (header_.e_ident[EI_OSABI] != kAbiOld && header_.e_ident[EI_OSABI] != kAbiNew) {
      return no_cubin(fmt::format("its ABI {} is unknown", header_.e_ident[EI_OSABI]));
    }
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return no_cubin("it has no section table");
    return {};
  }

  Status read_sections() {
    std::vector<Elf64_Shdr> sections;
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      // Both terms are checked against the image, so the sum cannot wrap around.
      if (header_.e_shoff > image_.size()) return no_cubin("its section table is cut short");
      const auto section = read_at<Elf64_Shdr>(image_, header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return no_cubin("its section table is cut short");
      const bool has_bytes = section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
      if (has_bytes && (section->sh_offset > image_.size() ||
                        section->sh_size > image_.size() - section->sh_offset)) {
        return no_cubin("a section is cut short");
      }
      sections.push_back(*section);
    }
    if (header_.e_shstrndx >= sections.size()) return no_cubin("it has no section names");
    const std::string_view names = contents(sections[header_.e_shstrndx]);
    for (const Elf64_Shdr& section : sections) {
      const auto name = text_at(names, section.sh_name);
      if (!name) return no_cubin("a section has no name");
      sections_.emplace(*name, section);
    }
    return {};
  }

  std::string_view contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) return {};
    return image_.substr(section.sh_offset, section.sh_size);
  }

  std::string_view image_;
  Elf64_Ehdr header_{};
  std::map<std::string_view, Elf64_Shdr> sections_;
};

struct NumberedParameter {
  std::uint16_t ordinal = 0;
  KernelParameter parameter;
};

// Both forms: 32-bit index, 16-bit ordinal, 16-bit offset, then the size: in the upper 14 bits of
// a 32-bit word, or (for large parameters) in 16 bits of its own.
std::optional<NumberedParameter> parse_parameter(const Attribute& attribute) {
  const auto ordinal = read_at<std::uint16_t>(attribute.data, 4);
  const auto offset = read_at<std::uint16_t>(attribute.data, 6);
  const auto word = read_at<std::uint32_t>(attribute.data, 8);
  if (!ordinal || !offset || !word) return std::nullopt;
  const std::uint32_t size = attribute.code == kParameterInfo ? *word >> 18U : *word & 0xFFFFU;
  return NumberedParameter{*ordinal, {*offset, static_cast<std::int32_t>(size)}};
}

Result<std::vector<KernelParameter>> read_layout(const Cubin& cubin, std::string_view kernel) {
  KILN_TRY_ASSIGN(const auto attributes, cubin.attributes(fmt::format(".nv.info.{}", kernel)));
  std::vector<NumberedParameter> numbered;
  for (const Attribute& attribute : attributes) {
    if (attribute.code != kParameterInfo && attribute.code != kParameterInfo2) continue;
    const auto parameter = parse_parameter(attribute);
    if (!parameter) return no_cubin("a parameter record is cut short");
    numbered.push_back(*parameter);
  }
  std::sort(numbered.begin(), numbered.end(),
            [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  std::vector<KernelParameter> layout;
  for (const auto& [ordinal, parameter] : numbered) {
    if (ordinal != layout.size()) return no_cubin("parameter ordinals have a gap");
    layout.push_back(parameter);
  }
  return layout;
}

// Attributes of all functions, each with the symbol that it is about: registers and stack.
Status read_symbol_facts(const Cubin& cubin, std::uint32_t symbol, CubinFacts& facts) {
  KILN_TRY_ASSIGN(const auto attributes, cubin.attributes(".nv.info"));
  bool has_registers = false;
  for (const auto& [code, data] : attributes) {
    if (code != kRegisterCount && code != kFrameSize && code != kMinStackSize) continue;
    const auto about = read_at<std::uint32_t>(data, 0);
    const auto value = read_at<std::uint32_t>(data, 4);
    if (!about || !value || *value > std::numeric_limits<std::int32_t>::max()) {
      return no_cubin("a resource record is damaged");
    }
    if (*about != symbol) continue;
    const auto number = static_cast<std::int32_t>(*value);
    if (code == kRegisterCount) {
      facts.registers = number;
      has_registers = true;
    } else {
      facts.local_bytes = std::max(facts.local_bytes, number);
    }
  }
  return has_registers ? Status() : no_cubin("it does not say how many registers the kernel uses");
}

}  // namespace

Result<CubinFacts> read_cubin(std::string_view image, std::string_view kernel) {
  KILN_TRY_ASSIGN(const Cubin cubin, Cubin::open(image));
  const auto symbol = cubin.find_kernel(kernel);
  if (!symbol) return failure(Code::corrupt, "cubin has no kernel {}", in_quotes(kernel));
  CubinFacts facts;
  facts.capability = cubin.capability();
  KILN_TRY_ASSIGN(facts.layout, read_layout(cubin, kernel));
  KILN_TRY(read_symbol_facts(cubin, *symbol, facts));
  if (const Elf64_Shdr* shared = cubin.find(fmt::format(".nv.shared.{}", kernel))) {
    if (shared->sh_size > std::numeric_limits<std::int32_t>::max()) {
      return no_cubin("its shared memory is too large to be true");
    }
    auto bytes = static_cast<std::int64_t>(shared->sh_size);
    if (facts.capability >= kFirstWithReservedShared) bytes -= kReservedSharedBytes;
    facts.shared_bytes = static_cast<std::int32_t>(std::max<std::int64_t>(bytes, 0));
  }
  return facts;
}

}  // namespace kiln
