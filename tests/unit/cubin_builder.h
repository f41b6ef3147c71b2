// SPDX-License-Identifier: Apache-2.0
#pragma once

// Builds small cubins for tests: the header, sections and records that read_cubin() looks at, in
// the form that NVRTC 13.0 gives them.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kiln::test {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A record of a .nv.info section with a length.
inline std::string record(std::uint8_t code, const std::string& data) {
  std::string bytes = {4, static_cast<char>(code)};
  append(bytes, static_cast<std::uint16_t>(data.size()));
  return bytes + data;
}

inline std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values)
    append(bytes, value);
  return bytes;
}

inline std::string parameter(std::uint16_t ordinal, std::uint16_t offset, std::uint32_t size) {
  std::string data = words({0});
  append(data, ordinal);
  append(data, offset);
  append(data, (size << 18U) | 0x1f000U);
  return record(0x17, data);
}

inline std::string large_parameter(std::uint16_t ordinal,
                                   std::uint16_t offset,
                                   std::uint16_t size) {
  std::string data = words({0});
  append(data, ordinal);
  append(data, offset);
  append(data, size);
  append(data, std::uint16_t{0x0500});
  return record(0x45, data);
}

inline std::string registers(std::uint32_t symbol, std::uint32_t count) {
  return record(0x2f, words({symbol, count}));
}
inline std::string frame(std::uint32_t symbol, std::uint32_t bytes) {
  return record(0x11, words({symbol, bytes}));
}
inline std::string stack(std::uint32_t symbol, std::uint32_t bytes) {
  return record(0x12, words({symbol, bytes}));
}

class CubinBuilder {
 public:
  struct Section {
    std::string name;
    std::uint32_t type = 0;
    std::string bytes;
    std::uint64_t size = 0;  // of a section without bytes
  };

  static constexpr std::uint32_t kInfo = 0x70000000;

  std::uint8_t abi = 0x41;
  std::uint32_t flags = 0x06005a04;  // sm_90
  std::uint16_t machine = 190;

  CubinBuilder& section(std::string name, std::uint32_t type, std::string bytes) {
    const std::uint64_t size = bytes.size();
    sections_.push_back({std::move(name), type, std::move(bytes), size});
    return *this;
  }
  CubinBuilder& empty_section(std::string name, std::uint64_t size) {
    sections_.push_back({std::move(name), SHT_NOBITS, {}, size});
    return *this;
  }
  // Symbol 0 is the empty one that every table starts with.
  CubinBuilder& symbol(const std::string& name, std::uint8_t info, std::uint8_t other) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings_.size());
    symbol.st_info = info;
    symbol.st_other = other;
    append(symbols_, symbol);
    strings_ += name + '\0';
    return *this;
  }
  CubinBuilder& kernel(const std::string& name) { return symbol(name, 0x12, 0x10); }

  std::string build() const {
    std::vector<Section> all = {{"", SHT_NULL, {}, 0}};
    all.insert(all.end(), sections_.begin(), sections_.end());
    all.push_back({".symtab", SHT_SYMTAB, symbols_, symbols_.size()});
    all.push_back({".strtab", SHT_STRTAB, strings_, strings_.size()});
    std::string names;
    std::vector<std::uint32_t> name_offsets;
    all.push_back({".shstrtab", SHT_STRTAB, {}, 0});
    for (const Section& section : all) {
      name_offsets.push_back(static_cast<std::uint32_t>(names.size()));
      names += section.name + '\0';
    }
    all.back().bytes = names;
    all.back().size = names.size();

    std::string body;
    std::string table;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Elf64_Shdr header{};
      header.sh_name = name_offsets[i];
      header.sh_type = all[i].type;
      header.sh_offset = sizeof(Elf64_Ehdr) + body.size();
      header.sh_size = all[i].size;
      append(table, header);
      body += all[i].bytes;
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = abi;
    header.e_machine = machine;
    header.e_flags = flags;
    header.e_shoff = sizeof(header) + body.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(all.size());
    header.e_shstrndx = static_cast<Elf64_Half>(all.size() - 1);
    std::string image;
    append(image, header);
    return image + body + table;
  }

 private:
  std::vector<Section> sections_;
  std::string strings_ = std::string(1, '\0');
  std::string symbols_ = std::string(sizeof(Elf64_Sym), '\0');
};

}  // namespace kiln::test
