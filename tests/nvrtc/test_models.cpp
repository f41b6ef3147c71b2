// SPDX-License-Identifier: Apache-2.0
// Every variant of every shipped model, for three generations of GPUs.
#include "templates/models.h"
#include "tests/nvrtc/engine_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

using test::open_engine;
using test::TemporaryDirectory;

std::set<std::string> model_specs(const Catalog& catalog) {
  std::set<std::string> specs;
  const auto models = list_models();
  REQUIRE_MESSAGE(models.is_ok(), models.status().message());
  for (const Model& model : *models) {
    for (const ModelVariant& entry : model.variants) {
      const auto variant = Variant::parse(catalog, entry.spec);
      REQUIRE_MESSAGE(variant.is_ok(), model.name, ": ", variant.status().message());
      specs.insert(variant->spec());
    }
  }
  return specs;
}

// What is wrong with one variant's code, or nothing.
std::string complaint(Engine& engine, const std::string& spec, const Target& target) {
  const auto acquired =
      engine.acquire(*Variant::parse(engine.catalog(), spec), target, AcquireLimit::compile);
  if (!acquired.is_ok()) return acquired.status().message() + acquired.status().detail();
  const Resources& resources = acquired->kernel->artifact.resources;
  if (resources.local_bytes == 0 && resources.spill_bytes() == 0) return "";
  return fmt::format("{} for {}: {} bytes of stack, {} of spills", spec, target.text(),
                     resources.local_bytes, resources.spill_bytes());
}

}  // namespace

TEST_SUITE("models") {
  TEST_CASE("no variant of a shipped model spills or uses local memory") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    const std::set<std::string> specs = model_specs(engine->catalog());
    CHECK(specs.size() > 20);
    std::vector<std::pair<std::string, Target>> pairs;
    for (const char* target : {"sm_90a", "sm_100a", "sm_120a"}) {
      for (const std::string& spec : specs)
        pairs.emplace_back(spec, *parse_target(target));
    }
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::vector<std::string> complaints;
    const auto work = [&] {
      for (std::size_t i = next++; i < pairs.size(); i = next++) {
        const std::string text = complaint(*engine, pairs[i].first, pairs[i].second);
        const std::lock_guard lock(mutex);
        if (!text.empty()) complaints.push_back(text);
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& text : complaints)
      FAIL_CHECK(text);
    CHECK(engine->statistics().compiles == static_cast<std::int64_t>(pairs.size()));
  }

  TEST_CASE("every template but a yardstick has a reference with the same arguments") {
    const auto catalog = Catalog::open({});
    REQUIRE(catalog.is_ok());
    const auto templates = catalog->templates();
    REQUIRE(templates.is_ok());
    for (const auto& source : *templates) {
      const Manifest& manifest = source->manifest;
      if (manifest.name == "device_copy" || manifest.name.ends_with("_reference")) continue;
      const auto reference = catalog->find(reference_name(manifest.name));
      REQUIRE_MESSAGE(reference.is_ok(), manifest.name);
      CHECK((*reference)->manifest.arguments.size() == manifest.arguments.size());
    }
  }
}

}  // namespace kiln
