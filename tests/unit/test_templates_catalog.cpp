// SPDX-License-Identifier: Apache-2.0
#include "templates/catalog.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/templates_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace kiln {
namespace {

using test::kScaleManifest;
using test::replaced;
using test::TemporaryDirectory;

void write(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.good());
}

Status failure_of(const std::vector<std::string>& directories) {
  const auto catalog = Catalog::open(directories);
  REQUIRE_FALSE(catalog.is_ok());
  CHECK(catalog.status().message().find('\n') == std::string::npos);
  return catalog.status();
}

bool mentions(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

constexpr std::string_view kSource = "#include \"kiln/types.cuh\"\n#include \"helper.cuh\"\n";

void write_scale(const TemporaryDirectory& directory) {
  write(directory.file("scale.json"), kScaleManifest);
  write(directory.file("scale.cuh"), kSource);
  write(directory.file("helper.cuh"), "// helper\n");
}

}  // namespace

TEST_SUITE("Catalog") {
  TEST_CASE("the embedded templates are there, sorted, with the sources they include") {
    const auto catalog = Catalog::open({});
    REQUIRE_MESSAGE(catalog.is_ok(), catalog.status().message());
    const auto templates = catalog->templates();
    REQUIRE_MESSAGE(templates.is_ok(), templates.status().message());
    REQUIRE(templates->size() >= 2);
    for (std::size_t i = 1; i < templates->size(); ++i) {
      CHECK((*templates)[i - 1]->manifest.name < (*templates)[i]->manifest.name);
    }
    const auto found = catalog->find("layernorm_modulate");
    REQUIRE(found.is_ok());
    CHECK((*found)->origin == "embedded");
    CHECK((*found)->sources.main.name == "layernorm_modulate.cuh");
    REQUIRE_FALSE((*found)->sources.includes.empty());
    for (const SourceText& include : (*found)->sources.includes) {
      CHECK(include.name.starts_with("kiln/"));
    }
  }

  TEST_CASE("an unknown template is not_found and the known ones are listed") {
    const auto catalog = Catalog::open({});
    REQUIRE(catalog.is_ok());
    const Status status = catalog->find("foo").status();
    CHECK(status.code() == Code::not_found);
    CHECK(status.message().starts_with("template \"foo\" is not known; known: device_copy, "));
    CHECK(catalog->find(std::string(4096, 'x')).status().message().size() < 800);
  }

  TEST_CASE("a user template includes the prelude and files of its own directory") {
    const TemporaryDirectory directory;
    write_scale(directory);
    write(directory.file("notes.txt"), "no template");
    write(directory.file(".#scale.json"), "an editor's");
    const auto catalog = Catalog::open({directory.path()});
    REQUIRE_MESSAGE(catalog.is_ok(), catalog.status().message());
    const auto found = catalog->find("scale");
    REQUIRE_MESSAGE(found.is_ok(), found.status().message());
    CHECK((*found)->origin == directory.path());
    CHECK((*found)->sources.main.text == kSource);
    REQUIRE((*found)->sources.includes.size() >= 2);
    CHECK((*found)->sources.includes[0].name == "helper.cuh");
    CHECK((*found)->sources.includes[0].text == "// helper\n");
  }

  TEST_CASE("a directory of one's own cannot replace the prelude") {
    const TemporaryDirectory directory;
    write_scale(directory);
    std::filesystem::create_directory(directory.file("kiln"));
    write(directory.file("kiln/types.cuh"), "// mine");
    write(directory.file("kiln/other.cuh"), "// mine");
    const auto catalog = Catalog::open({directory.path()});
    REQUIRE(catalog.is_ok());
    const auto found = catalog->find("scale");
    REQUIRE(found.is_ok());
    for (const SourceText& include : (*found)->sources.includes) {
      CHECK(include.text != "// mine");
    }
    write(directory.file("helper.cuh"), "#include \"kiln/other.cuh\"");
    const Status status = failure_of({directory.path()});
    CHECK(status.code() == Code::not_found);
    CHECK(mentions(status, "helper.cuh includes \"kiln/other.cuh\", which does not exist"));
  }

  TEST_CASE("a directory that does not exist is not_found and named with its variable") {
    const TemporaryDirectory directory;
    const Status status = failure_of({directory.file("none")});
    CHECK(status.code() == Code::not_found);
    CHECK(mentions(status, directory.file("none")));
    CHECK(mentions(status, "KILN_TEMPLATE_PATH"));
    write(directory.file("file"), "");
    CHECK(failure_of({directory.file("file")}).code() == Code::io);
  }

  TEST_CASE("a bad user template is named with the reason, never skipped") {
    const TemporaryDirectory directory;
    write_scale(directory);
    const auto refusal = [&] { return failure_of({directory.path()}); };
    const std::string manifest = directory.file("scale.json");

    write(manifest, "{");
    CHECK(mentions(refusal(), "scale.json\": not valid JSON at line 1, column 2"));
    write(manifest, replaced(kScaleManifest, R"("name": "scale")", R"("name": "other")"));
    CHECK(mentions(refusal(), "the name is \"other\"; allowed, as the file's: \"scale\""));
    write(manifest, replaced(kScaleManifest, "scale.cuh", "gone.cuh"));
    CHECK(mentions(refusal(), "gone.cuh"));
    CHECK(refusal().code() == Code::not_found);
    write(manifest, std::string((1U << 20U) + 1, ' '));
    CHECK(mentions(refusal(), "is larger than 1048576 bytes"));
    std::filesystem::remove(manifest);
    std::filesystem::create_directory(manifest);
    CHECK(mentions(refusal(), "\"scale.json\" is no regular file"));
  }

  TEST_CASE("something that would block a reader is refused, not opened") {
    const TemporaryDirectory directory;
    REQUIRE(::mkfifo(directory.file("pipe.json").c_str(), 0600) == 0);
    CHECK(mentions(failure_of({directory.path()}), "\"pipe.json\" is no regular file"));
  }

  TEST_CASE("a name can be taken once only") {
    const TemporaryDirectory one, two;
    write_scale(one);
    write_scale(two);
    const Status twice = failure_of({one.path(), two.path()});
    CHECK(mentions(twice, two.file("scale.json")));
    CHECK(mentions(twice, one.path()));
    const TemporaryDirectory three;
    write(three.file("static_quant.json"),
          replaced(kScaleManifest, R"("name": "scale")", R"("name": "static_quant")"));
    write(three.file("scale.cuh"), "");
    CHECK(mentions(failure_of({three.path()}),
                   "the name \"static_quant\" is taken by a template of Kiln itself"));
  }
}

}  // namespace kiln
