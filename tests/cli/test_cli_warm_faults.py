# SPDX-License-Identifier: Apache-2.0
"""kiln warm with bad input, without a compiler, on damage and when interrupted."""

import re
import signal
import subprocess
import unittest

from kiln_cli import LAYERNORM, PROGRAM, CliTest, has_driver, main, write_template


class BadInput(CliTest):
    def refuse_before_compiling(self, code, *arguments, names):
        # A good spec goes along: it must not be compiled.
        message = self.refused(code, "warm", LAYERNORM, *arguments)
        for name in names:
            self.assertIn(name, message)
        self.assertFalse(self.cache.exists(), "a refused call made a cache")

    def test_usage_errors_end_the_run_before_any_compile(self):
        for spec, names in (
                ("", ["empty"]),
                (":", ["empty"]),
                ("static_quant:", ["static_quant:"]),
                ("static_quant:out", ["out"]),
                ("static_quant:out=", ["out"]),
                ("static_quant:out=e4m3,out=e4m3", ["twice"]),
                ("static_quant:out=e4 m3", ['" "']),
                ("static_quant:\nout=e4m3", ["\\n"]),
                ("../static_quant", ['"/"']),
                ("static_quant:vector=" + "8" * 5000, ["4096"]),
                ("static_quant:out=e9m9", ["e9m9", "e4m3, e5m2"]),
                ("static_quant:vector=3", ["vector", "3", "1, 2, 4, 8"]),
                ("static_quant:colour=red", ["colour"]),
                ("layernorm_modulate", ["hidden"]),
                ("layernorm_modulate:hidden=6143", ["hidden", "6143"]),
                ("layernorm_modulate:hidden=99999999999999999999", ["hidden"])):
            with self.subTest(spec):
                self.refuse_before_compiling(2, "--target", "sm_90a", spec, names=names)

    def test_unknown_names_are_not_found(self):
        self.refuse_before_compiling(4, "--target", "sm_90a", "frob:a=1",
                                     names=["frob", "static_quant"])
        self.refuse_before_compiling(4, "--target", "sm_90a", "--model", "frob",
                                     names=["frob", "flux2-dev"])

    def test_a_bad_target_is_a_usage_error(self):
        for target in ("sm_", "sm_90x", "sm_52", "compute_90", "hopper", "sm_80a", "90.0.0", "sm_90a,",
                       ",sm_90a", "sm_90a,,sm_100a", ""):
            with self.subTest(target):
                self.refuse_before_compiling(2, "--target", target, names=[])

    def test_a_bad_shard_or_job_count_is_a_usage_error(self):
        for shard in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "1/0"):
            with self.subTest(shard):
                self.refuse_before_compiling(2, "--target", "sm_90a", "--shard", shard,
                                             names=[f'"{shard}"'])
        for jobs in ("0", "-1", "many", "1.5", "100000"):
            with self.subTest(jobs):
                self.refuse_before_compiling(2, "--target", "sm_90a", "--jobs", jobs,
                                             names=[f'"{jobs}"'])

    def test_nothing_to_warm_is_a_usage_error(self):
        self.assertIn("--model", self.refused(2, "warm", "--target", "sm_90a"))

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_without_device_and_target_it_says_what_to_do(self):
        self.refuse_before_compiling(2, names=["libcuda.so.1", "--target sm_90a"])

    def test_a_template_directory_that_is_absent_or_damaged(self):
        self.environment["KILN_TEMPLATE_PATH"] = str(self.templates)
        self.assertIn(str(self.templates), self.refused(4, "warm", LAYERNORM, "--target", "90"))
        self.templates.mkdir()
        (self.templates / "axpy.json").write_text("{")
        self.assertIn("axpy.json", self.refused(2, "warm", LAYERNORM, "--target", "90"))


class Failures(CliTest):
    def test_a_target_that_the_template_does_not_support_fails_alone(self):
        answer = self.json("warm", "static_quant", "--target", "sm_80,sm_90a", code=1)
        self.assertEqual((answer["requested"], answer["compiled"], answer["failed"]), (2, 1, 1))
        [failure] = answer["failures"]
        self.assertEqual((failure["target"], failure["code"]), ("sm_80", "unsupported"))
        self.assertEqual(set(failure), {"spec", "target", "code", "message", "detail"})

    def test_a_template_that_does_not_compile_shows_the_log_and_stores_nothing(self):
        self.use_axpy()
        self.warm("axpy")
        before = self.entries()
        write_template(self.templates, name="broken", text=(
            "template <int block> __global__ void axpy(const float* x, float* y, float a, int n) "
            "{ y[0] = undeclared_name; }\n"))
        done = self.kiln("warm", "axpy", "broken", "--target", "sm_90a", code=1)
        self.assertRegex(done.stderr, r"(?m)^kiln: broken:block=256 for sm_90a: ")
        self.assertRegex(done.stderr, r"(?m)^    .*undeclared_name")
        self.assertRegex(done.stdout, r"(?m)^broken:block=256 +sm_90a +failed$")
        self.assertEqual([entry["key"] for entry in self.entries()],
                         [entry["key"] for entry in before])
        answer = self.warm("broken", code=1)
        self.assertEqual(answer["failures"][0]["code"], "compile_failed")
        self.assertIn("undeclared_name", answer["failures"][0]["detail"])

    def test_without_a_compiler_only_a_miss_fails(self):
        self.use_axpy()
        self.warm("axpy")
        self.environment["KILN_NVRTC"] = "/nonexistent"
        cached = self.warm("axpy")
        self.assertEqual((cached["cached"], cached["failed"]), (1, 0))
        done = self.kiln("warm", "axpy", "axpy:block=64", "axpy:block=96", "--target", "sm_90a",
                         code=3)
        self.assertEqual(len(re.findall(r"(?m)^kiln: .*NVRTC", done.stderr)), 1, done.stderr)
        self.assertIn("/nonexistent", done.stderr)
        answer = self.warm("axpy", "axpy:block=64", code=3)
        self.assertEqual((answer["cached"], answer["failed"]), (1, 1))
        self.assertEqual(answer["failures"][0]["code"], "unavailable")


class Damage(CliTest):
    def damage(self, change):
        self.use_axpy()
        self.warm("axpy")
        with self.database() as database:
            change(database)
        done = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertIn("1 compiled (1 stored), 0 cached", done.stdout)
        self.assertEqual(len(self.warnings(done)), 1, done.stderr)
        self.assertEqual(self.json("stats")["recovered"], 1)
        again = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertIn("0 compiled (0 stored), 1 cached", again.stdout)
        self.assertEqual(self.warnings(again), [])
        self.assertEqual(self.json("stats")["recovered"], 1)

    def test_an_image_with_a_changed_byte_is_compiled_again_once(self):
        def flip(database):
            [[image]] = database.execute("SELECT image FROM images")
            middle = len(image) // 2
            changed = image[:middle] + bytes([image[middle] ^ 1]) + image[middle + 1:]
            database.execute("UPDATE images SET image = ?", (changed,))
        self.damage(flip)

    def test_a_changed_fact_is_found_too(self):
        self.damage(lambda database: database.execute("UPDATE entries SET registers = 1"))

    def test_the_image_of_a_damaged_entry_is_not_written(self):
        self.use_axpy()
        self.warm("axpy")
        with self.database() as database:
            database.execute("UPDATE images SET image = x'00'")
        image = self.directory / "image"
        self.assertIn("damaged", self.refused(1, "show", "axpy", "--image", image))
        self.assertFalse(image.exists())


class Interrupt(CliTest):
    def test_finishes_what_runs_and_says_what_is_left_and_the_next_run_goes_on(self):
        self.use_axpy()
        specs = [f"axpy:block={32 * i}" for i in range(1, 31)]
        command = [PROGRAM, "warm", *specs, "--target", "sm_90a", "--jobs", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment) as process:
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate()
        self.assertTrue(first.startswith("[1/30] "), first)
        self.assertEqual(process.returncode, 1)
        left = int(re.search(r"(?m)^kiln: interrupted; (\d+) of 30 not tried$", errors)[1])
        compiled = int(re.search(r"30 requested: (\d+) compiled", output)[1])
        self.assertGreater(left, 0)
        self.assertEqual(compiled + left, 30)
        entries = self.entries()
        self.assertEqual(len(entries), compiled)
        resumed = self.warm(*[entry["spec"] for entry in entries])
        self.assertEqual((resumed["cached"], resumed["compiled"]), (compiled, 0))


if __name__ == "__main__":
    main()
