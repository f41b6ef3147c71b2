# SPDX-License-Identifier: Apache-2.0
"""kiln doctor: a report on whatever there is, and on what is missing."""

import unittest

from kiln_cli import CliTest, has_driver, main


class Doctor(CliTest):
    def test_json_has_the_documented_members(self):
        report = self.json("doctor")
        self.assertEqual(list(report), ["schema", "build", "environment", "cache", "packs",
                                        "nvrtc",
                                        "driver", "devices", "templates"])
        self.assertEqual(list(report["cache"]),
                         ["directory", "origin", "state", "reason", "store", "entries",
                          "file_bytes", "log_bytes", "quarantine_bytes", "limit_bytes",
                          "journal_mode", "file_system", "moved_because", "file_system_bytes",
                          "available_bytes"])
        self.assertGreater(report["templates"]["count"], 1)

    def test_makes_no_cache(self):
        cache = self.json("doctor")["cache"]
        self.assertEqual((cache["state"], cache["entries"]), ("absent", 0))
        self.assertEqual((cache["directory"], cache["origin"]),
                         (str(self.cache), "KILN_CACHE_DIR"))
        self.assertGreater(cache["file_system_bytes"], 0)
        self.kiln("doctor")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_describes_the_cache_there_is(self):
        self.use_axpy()
        self.warm("axpy")
        cache = self.json("doctor")["cache"]
        self.assertEqual((cache["state"], cache["entries"], cache["journal_mode"]),
                         ("usable", 1, "wal"))
        self.assertGreater(cache["file_bytes"], 0)
        text = self.kiln("doctor").stdout
        self.assertRegex(text, r"(?m)^cache state: +usable$")
        self.assertIn("1 entries", text)

    def test_says_who_chose_the_directory(self):
        other = str(self.directory / "other")
        self.assertEqual(self.json("doctor", "--cache-dir", other)["cache"]["origin"],
                         "--cache-dir")
        del self.environment["KILN_CACHE_DIR"]
        self.assertEqual(self.json("doctor")["cache"]["origin"], "HOME")
        self.environment["XDG_CACHE_HOME"] = other
        self.assertEqual(self.json("doctor")["cache"]["origin"], "XDG_CACHE_HOME")

    def test_says_why_there_is_only_memory(self):
        self.cache.write_text("a file")
        cache = self.json("doctor")["cache"]
        self.assertEqual(cache["state"], "memory only")
        self.assertIn(str(self.cache), cache["reason"])
        self.cache.unlink()
        self.cache.mkdir(mode=0o700)
        self.cache.chmod(0o777)
        self.assertIn("0777", self.json("doctor")["cache"]["reason"])
        self.environment["KILN_CACHE_DIR"] = "relative"
        self.assertIn("relative", self.json("doctor")["cache"]["reason"])
        for name in ("KILN_CACHE_DIR", "HOME"):
            del self.environment[name]
        cache = self.json("doctor")["cache"]
        self.assertEqual((cache["state"], cache["directory"]), ("memory only", None))
        self.assertIn("memory only", self.kiln("doctor").stdout)

    def test_lists_every_variable_with_its_origin(self):
        self.environment["KILN_LOG_LEVEL"] = "info"
        variables = {v["name"]: v for v in self.json("doctor")["environment"]}
        self.assertEqual((variables["KILN_LOG_LEVEL"]["value"],
                          variables["KILN_LOG_LEVEL"]["origin"]), ("info", "environment"))
        self.assertEqual((variables["KILN_TOOLCHAIN"]["value"],
                          variables["KILN_TOOLCHAIN"]["origin"]), ("any", "default"))
        text = self.kiln("doctor").stdout
        for name in variables:
            self.assertIn(name, text)

    def test_identifies_the_compiler(self):
        nvrtc = self.json("doctor")["nvrtc"]
        self.assertEqual(list(nvrtc), ["found", "path", "version", "origin", "toolchain",
                                       "architectures"])
        self.assertTrue(nvrtc["found"])
        self.assertTrue(nvrtc["toolchain"].startswith("nvrtc-" + nvrtc["version"]))
        self.environment["KILN_NVRTC"] = nvrtc["path"]
        self.assertEqual(self.json("doctor")["nvrtc"]["origin"], "KILN_NVRTC")
        del self.environment["KILN_NVRTC"]
        self.use_axpy()
        self.warm("axpy")
        again = self.json("doctor")["nvrtc"]
        self.assertEqual((again["origin"], again["toolchain"]),
                         ("remembered in the cache", nvrtc["toolchain"]))

    def test_says_where_it_looked_for_a_missing_compiler(self):
        self.environment["KILN_NVRTC"] = "/nonexistent/libnvrtc.so"
        nvrtc = self.json("doctor")["nvrtc"]
        self.assertEqual(list(nvrtc), ["found", "reason", "detail"])
        self.assertFalse(nvrtc["found"])
        self.assertIn("/nonexistent/libnvrtc.so", nvrtc["reason"] + nvrtc["detail"])
        self.assertRegex(self.kiln("doctor").stdout, r"(?m)^nvrtc: +missing: ")

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_says_that_there_is_no_driver(self):
        report = self.json("doctor")
        self.assertFalse(report["driver"]["found"])
        self.assertIn("libcuda.so.1", report["driver"]["reason"])
        self.assertEqual(report["devices"], [])
        self.assertRegex(self.kiln("doctor").stdout, r"(?m)^driver: +missing: .*libcuda")

    def test_reports_a_template_directory_that_cannot_be_read(self):
        self.environment["KILN_TEMPLATE_PATH"] = str(self.templates)
        self.assertIn(str(self.templates), self.json("doctor")["templates"]["reason"])


if __name__ == "__main__":
    main()
