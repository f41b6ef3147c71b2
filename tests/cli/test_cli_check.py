# SPDX-License-Identifier: Apache-2.0
"""kiln check and kiln bench, as far as they go without a device: what is refused, with which code,
and before anything is written."""

import unittest

from kiln_cli import LAYERNORM, CliTest, has_driver, main, write_template

COMMANDS = ("check", "bench")
SHAPED = [
    {"name": "x", "type": "pointer", "dtype": "f32", "shape": ["count"], "description": "in"},
    {"name": "y", "type": "pointer", "dtype": "f32", "output": True, "shape": ["count"],
     "description": "out"},
    {"name": "a", "type": "float32", "description": "factor"},
    {"name": "count", "type": "int32", "min": 1, "example": 100, "description": "elements"},
]


class Refusals(CliTest):
    def refused_by_both(self, code, *arguments):
        for command in COMMANDS:
            with self.subTest(command):
                yield self.refused(code, command, *arguments)
                self.assertFalse(self.cache.exists())

    def test_nothing_to_run(self):
        for message in self.refused_by_both(2):
            self.assertIn("--model", message)

    def test_an_unknown_template_or_model(self):
        for message in self.refused_by_both(4, "frob"):
            self.assertIn("layernorm_modulate", message)
        for message in self.refused_by_both(4, "--model", "frob"):
            self.assertIn("flux2-dev", message)

    def test_a_bad_parameter(self):
        for message in self.refused_by_both(2, "layernorm_modulate:hidden=6143"):
            self.assertIn("6143", message)

    def test_a_malformed_shape(self):
        for shape in ("rows", "rows=", "=1", "rows=many", "rows=1,rows=2", "rows=1,", ""):
            for message in self.refused_by_both(2, LAYERNORM, "--shape", shape):
                self.assertIn("--shape", message)

    def test_a_shape_that_the_template_has_not(self):
        for message in self.refused_by_both(2, LAYERNORM, "--shape", "frobs=1"):
            self.assertIn('"frobs"', message)

    def test_a_value_out_of_range(self):
        for rows in ("0", "-1", str(1 << 31)):
            for message in self.refused_by_both(2, LAYERNORM, f"--shape=rows={rows}"):
                self.assertIn(f'"rows" is {rows}', message)

    def test_a_shape_without_a_spec(self):
        for message in self.refused_by_both(2, "--model", "flux2-dev", "--shape", "rows=1"):
            self.assertIn("--shape", message)

    def test_numbers_out_of_range(self):
        for option, command in (("--device", "check"), ("--device", "bench"),
                                ("--seed", "check"), ("--repeat", "bench")):
            for value in ("-1", "many"):
                message = self.refused(2, command, LAYERNORM, f"{option}={value}")
                self.assertIn(option, message)
                self.assertIn(f'"{value}"', message)
        self.refused(2, "bench", LAYERNORM, "--repeat=0")

    def test_a_template_that_does_not_say_its_shapes(self):
        self.use_axpy()
        for message in self.refused_by_both(1, "axpy", "--shape", "count=1"):
            self.assertIn('shape of argument "x"', message)

    def test_an_argument_without_value_or_example(self):
        self.use_axpy()
        for message in self.refused_by_both(2, "axpy"):
            self.assertIn('"count"', message)

    def test_a_check_without_a_reference(self):
        write_template(self.templates, arguments=SHAPED)
        self.environment["KILN_TEMPLATE_PATH"] = str(self.templates)
        message = self.refused(1, "check", "axpy")
        self.assertIn('"axpy" has no reference', message)


@unittest.skipIf(has_driver(), "there is a driver")
class WithoutDriver(CliTest):
    def test_is_unavailable_for_the_reason_that_the_loader_gives(self):
        for command in COMMANDS:
            for arguments in ([LAYERNORM], ["--model", "flux2-dev"], [LAYERNORM, "--json"]):
                with self.subTest(command, arguments=arguments):
                    message = self.refused(3, command, *arguments)
                    self.assertIn("libcuda.so.1", message)
        self.assertFalse(self.cache.exists())

    def test_no_plot_is_begun(self):
        plot = self.directory / "plot.svg"
        self.refused(3, "bench", LAYERNORM, "--plot", plot)
        self.assertFalse(plot.exists())


if __name__ == "__main__":
    main()
