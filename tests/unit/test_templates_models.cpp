// SPDX-License-Identifier: Apache-2.0
#include "templates/models.h"
#include "templates/tensor.h"
#include "templates/variant.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace kiln {

TEST_SUITE("Model") {
  TEST_CASE("every listed variant can be made, specialized and launched with its shape") {
    const auto models = list_models();
    REQUIRE_MESSAGE(models.is_ok(), models.status().message());
    REQUIRE_FALSE(models->empty());
    const auto catalog = Catalog::open({});
    REQUIRE(catalog.is_ok());
    for (const Model& model : *models) {
      for (const ModelVariant& listed : model.variants) {
        CAPTURE(listed.spec);
        const auto variant = Variant::parse(*catalog, listed.spec);
        REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
        const auto specialization = specialize(*variant, {9, 0});
        REQUIRE_MESSAGE(specialization.is_ok(), specialization.status().message());
        const auto arguments = complete_arguments(*variant, listed.shape);
        REQUIRE_MESSAGE(arguments.is_ok(), arguments.status().message());
        const auto shape = launch_shape(*variant, *specialization, *arguments, 132);
        CHECK_MESSAGE(shape.is_ok(), shape.status().message());
        CHECK(listed.per_forward >= 1);
      }
    }
  }

  TEST_CASE("models are sorted and found by name") {
    const auto models = list_models();
    REQUIRE(models.is_ok());
    CHECK(std::is_sorted(models->begin(), models->end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; }));
    const auto found = find_model("flux2-dev");
    REQUIRE(found.is_ok());
    CHECK(found->name == "flux2-dev");
    CHECK_FALSE(found->variants.empty());
    const auto unknown = find_model("flux9\n").status();
    CHECK(unknown.code() == Code::not_found);
    CHECK(unknown.message().starts_with("model \"flux9\\n\" is not known; known: flux1-dev, "));
  }
}

}  // namespace kiln
