// SPDX-License-Identifier: Apache-2.0
#include "jit/toolchain.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace kiln {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string note(std::uint32_t type, const std::string& owner, const std::string& data) {
  std::string text = bytes_of(Elf64_Nhdr{static_cast<Elf64_Word>(owner.size()),
                                         static_cast<Elf64_Word>(data.size()), type});
  text += owner;
  text.resize((text.size() + 3) / 4 * 4);
  text += data;
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

const std::string kGnu("GNU\0", 4);

// A shared library's head with a note segment, `gap` bytes into the file.
std::string library_with(const std::string& notes, std::size_t gap) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(header) + 2 * sizeof(segment) + gap;
  segment.p_filesz = notes.size();
  return bytes_of(header) + bytes_of(load) + bytes_of(segment) + std::string(gap, '\0') + notes;
}

std::string write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// A version that no machine has, so that the loader's search finds nothing.
constexpr int kMajor = 77;
constexpr int kMinor = 3;

TEST_SUITE("read_build_id") {
  TEST_CASE("the id is found at the start and at the end of the file, among other notes") {
    const TemporaryDirectory directory;
    const std::string notes = note(NT_GNU_ABI_TAG, kGnu, "0123456789abcdef") +
                              note(3, "Other", "x") +
                              note(NT_GNU_BUILD_ID, kGnu, "\x65\xbe\x0d\xb3");
    for (const std::size_t gap : {std::size_t{0}, std::size_t{5'000'000}}) {
      CHECK(read_build_id(write(directory.file("library"), library_with(notes, gap))) ==
            "65be0db3");
    }
  }

  TEST_CASE("without an id, or without an ELF file, it is empty") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("library");
    CHECK(read_build_id(directory.file("nothing")).empty());
    CHECK(read_build_id(directory.path()).empty());
    CHECK(read_build_id(write(path, "")).empty());
    CHECK(read_build_id(write(path, "#!/bin/sh")).empty());
    CHECK(read_build_id(write(path, library_with("", 0))).empty());
    CHECK(read_build_id(write(path, library_with(note(1, kGnu, "x"), 0))).empty());
    const std::string whole = library_with(note(NT_GNU_BUILD_ID, kGnu, "abcd"), 8);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CHECK(read_build_id(write(path, whole.substr(0, size))).empty());
    }
  }
}

TEST_SUITE("Toolchain") {
  TEST_CASE("the text names version, build, size and builtins") {
    Toolchain toolchain{13, 0, "65be", 109338064, sha256("builtins")};
    CHECK(toolchain.text() == "nvrtc-13.0+65be+109338064+" + sha256("builtins").hex());
    toolchain.build_id.clear();
    CHECK(toolchain.text() == "nvrtc-13.0++109338064+" + sha256("builtins").hex());
  }

  TEST_CASE("the text parses to the same toolchain, and other text is refused") {
    for (const char* build_id : {"65be", ""}) {
      const Toolchain toolchain{12, 9, build_id, 109338064, sha256("builtins")};
      const auto parsed = parse_toolchain(toolchain.text());
      REQUIRE(parsed.is_ok());
      CHECK(*parsed == toolchain);
    }
    const std::string text = Toolchain{13, 0, "65be", 1, {}}.text();
    for (std::size_t size = 0; size < text.size(); ++size) {
      CHECK(parse_toolchain(text.substr(0, size)).status().code() == Code::invalid_argument);
    }
    CHECK_FALSE(parse_toolchain(text + "0").is_ok());
    CHECK_FALSE(parse_toolchain("nvrtc-x.0+65be+1+" + Digest{}.hex()).is_ok());
  }

  TEST_CASE("build id, size and builtins are read, and each tells two builds apart") {
    const TemporaryDirectory directory;
    const std::string library = directory.file("libnvrtc.so.77");
    const std::string builtins = directory.file("libnvrtc-builtins.so.77.3");
    write(library, library_with(note(NT_GNU_BUILD_ID, kGnu, "abcd"), 100));
    write(builtins, std::string(ELFMAG) + "one");
    const auto first = read_toolchain(library, kMajor, kMinor);
    REQUIRE(first.is_ok());
    CHECK(first->build_id == "61626364");
    CHECK(first->library_bytes == static_cast<std::int64_t>(fs::file_size(library)));
    CHECK(first->builtins == sha256(std::string(ELFMAG) + "one"));
    write(builtins, std::string(ELFMAG) + "two");
    const auto second = read_toolchain(library, kMajor, kMinor);
    CHECK(second->text() != first->text());
    write(library, library_with(note(NT_GNU_BUILD_ID, kGnu, "abce"), 100));
    const auto third = read_toolchain(library, kMajor, kMinor);
    CHECK(third->text() != second->text());
    write(library, library_with(note(NT_GNU_BUILD_ID, kGnu, "abce"), 101));
    CHECK(read_toolchain(library, kMajor, kMinor)->text() != third->text());
  }

  TEST_CASE("builtins that are missing or of another version are not found, and named") {
    const TemporaryDirectory directory;
    const std::string library =
        write(directory.file("libnvrtc.so.77"), library_with(note(1, kGnu, "x"), 0));
    write(directory.file("libnvrtc-builtins.so.77.2"), ELFMAG);
    const auto toolchain = read_toolchain(library, kMajor, kMinor);
    REQUIRE_FALSE(toolchain.is_ok());
    CHECK(toolchain.status().code() == Code::not_found);
    const std::string& message = toolchain.status().message();
    CHECK(message.find("libnvrtc-builtins.so.77.3") != std::string::npos);
    CHECK(message.find(directory.path()) != std::string::npos);
  }

  TEST_CASE("builtins that are no library are corrupt") {
    const TemporaryDirectory directory;
    const std::string library = write(directory.file("libnvrtc.so.77"), "x");
    for (const char* text : {"", "nonsense"}) {
      write(directory.file("libnvrtc-builtins.so.77.3"), text);
      CHECK(read_toolchain(library, kMajor, kMinor).status().code() == Code::corrupt);
    }
  }

  TEST_CASE("a library that is gone is not found") {
    const TemporaryDirectory directory;
    CHECK(read_toolchain(directory.file("libnvrtc.so.77"), kMajor, kMinor).status().code() ==
          Code::not_found);
  }
}

TEST_SUITE("ToolchainMemo") {
  TEST_CASE("a memo holds until the file is replaced, touched, resized or removed") {
    const TemporaryDirectory directory;
    const std::string path = write(directory.file("libnvrtc.so.77"), "library");
    const auto memo = make_memo(path, Toolchain{kMajor, kMinor, "id", 7, {}});
    REQUIRE(memo.is_ok());
    CHECK(memo->path == path);
    CHECK(memo->size == 7);
    CHECK(memo->toolchain.starts_with("nvrtc-77.3+id+7+"));
    CHECK(is_current(*memo));

    struct stat before {};
    REQUIRE(::stat(path.c_str(), &before) == 0);
    const timespec times[] = {before.st_atim, {before.st_mtim.tv_sec + 1, 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    CHECK_FALSE(is_current(*memo));
    const timespec back[] = {before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), back, 0) == 0);
    CHECK(is_current(*memo));

    // Same size and time, another file.
    write(directory.file("new"), "LIBRARY");
    REQUIRE(::utimensat(AT_FDCWD, directory.file("new").c_str(), back, 0) == 0);
    fs::rename(directory.file("new"), path);
    CHECK_FALSE(is_current(*memo));

    const auto renewed = make_memo(path, {});
    REQUIRE(renewed.is_ok());
    std::ofstream(path, std::ios::app) << "more";
    CHECK_FALSE(is_current(*renewed));
    fs::remove(path);
    CHECK_FALSE(is_current(*renewed));
    CHECK(make_memo(path, {}).status().code() == Code::not_found);
  }
}

}  // namespace
}  // namespace kiln
