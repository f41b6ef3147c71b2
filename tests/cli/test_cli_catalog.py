# SPDX-License-Identifier: Apache-2.0
"""kiln templates and kiln models: what can be asked for."""

from kiln_cli import AXPY_MANIFEST, CliTest, main, write_template


class Templates(CliTest):
    def test_lists_embedded_and_user_templates(self):
        self.use_axpy()
        listed = {entry["name"]: entry for entry in self.json("templates")["templates"]}
        self.assertEqual(listed["layernorm_modulate"]["origin"], "embedded")
        self.assertEqual(listed["axpy"]["origin"], str(self.templates))
        text = self.kiln("templates").stdout
        for name in listed:
            self.assertRegex(text, rf"(?m)^{name} ")

    def test_describes_one(self):
        self.use_axpy()
        [template] = self.json("templates", "axpy")["templates"]
        self.assertEqual(list(template), ["name", "description", "origin", "parameters",
                                          "constraints", "least_target", "arguments"])
        [block] = template["parameters"]
        self.assertEqual((block["name"], block["type"], block["default"]),
                         ("block", "integer", "256"))
        self.assertEqual((block["min"], block["max"], block["multiple_of"]), (32, 1024, 32))
        self.assertEqual([argument["name"] for argument in template["arguments"]],
                         [argument["name"] for argument in AXPY_MANIFEST["arguments"]])
        self.assertTrue(template["arguments"][1]["is_output"])

    def test_shows_ranges_defaults_arguments_and_least_target_to_people(self):
        text = self.kiln("templates", "layernorm_modulate").stdout
        for row in (r"hidden +integer +\(required\) +a multiple of 4 from 4 to 16384",
                    r"out +set +e4m3 +bf16, f16, e4m3, e5m2, nvfp4",
                    r"least target: .*8\.9",
                    r"eps +float32"):
            self.assertRegex(text, rf"(?m)^{row}")

    def test_an_unknown_one_is_not_found_and_the_names_are_listed(self):
        message = self.refused(4, "templates", "frob")
        self.assertIn("frob", message)
        self.assertIn("static_quant", message)

    def test_a_damaged_manifest_is_named(self):
        write_template(self.templates, entry="not a name")
        self.environment["KILN_TEMPLATE_PATH"] = str(self.templates)
        self.assertIn("axpy.json", self.refused(2, "templates"))


class Models(CliTest):
    def test_every_listed_variant_is_a_valid_spec(self):
        models = self.json("models")["models"]
        self.assertIn("flux2-dev", [model["name"] for model in models])
        for model in models:
            self.assertEqual(list(model), ["name", "description", "variants"])
            for variant in model["variants"]:
                self.assertEqual(list(variant), ["spec", "site", "per_forward", "shape"])
                # Valid, so that only the entry is missing.
                self.assertIn("no entry", self.refused(4, "show", variant["spec"]))

    def test_describes_one(self):
        [model] = self.json("models", "flux2-dev")["models"]
        self.assertEqual(model["name"], "flux2-dev")
        text = self.kiln("models", "flux2-dev").stdout
        for variant in model["variants"]:
            self.assertIn(variant["spec"], text)
        self.assertRegex(self.kiln("models").stdout, r"(?m)^flux2-dev +\d+ ")

    def test_an_unknown_one_is_not_found_and_the_names_are_listed(self):
        message = self.refused(4, "models", "frob")
        self.assertIn("frob", message)
        self.assertIn("flux2-dev", message)


if __name__ == "__main__":
    main()
