# SPDX-License-Identifier: Apache-2.0
"""kiln ls, show and stats."""

import pathlib
import shutil
import subprocess
import tempfile

from kiln_cli import AXPY_MANIFEST, PROGRAM, CliTest, kept_environment, main, write_template

ENTRY_MEMBERS = ["key", "template", "parameters", "spec", "target", "image_bytes", "stored_bytes",
                 "registers", "shared_bytes", "local_bytes", "spill_bytes", "compile_us", "hits",
                 "created_at", "last_used_at", "pinned", "toolchain", "lowered_name"]
TIME = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z"


class FilledCache(CliTest):
    """Each test gets a copy of a cache with two variants for two targets, one of them hit once."""

    @classmethod
    def setUpClass(cls):
        cls.original = pathlib.Path(tempfile.mkdtemp(prefix="kiln-cli-filled-"))
        cls.addClassCleanup(shutil.rmtree, cls.original)
        templates = cls.original / "templates"
        write_template(templates)
        environment = {**kept_environment(), "KILN_TEMPLATE_PATH": str(templates),
                       "KILN_CACHE_DIR": str(cls.original / "cache")}
        for arguments in (["axpy", "axpy:block=64", "--target", "sm_90a,sm_100a"],
                          ["axpy", "--target", "sm_90a"]):
            subprocess.run([PROGRAM, "warm", *arguments], env=environment, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.use_axpy()
        shutil.copytree(self.original / "cache", self.cache)


class AbsentCache(CliTest):
    def test_is_empty_and_is_not_made(self):
        self.assertEqual(self.entries(), [])
        self.kiln("ls")
        stats = self.json("stats")
        for counter in ("memory_hits", "disk_hits", "misses", "compiles", "recovered"):
            self.assertEqual(stats[counter], 0)
        self.assertEqual((stats["store"]["exists"], stats["store"]["entries"]), (False, 0))
        self.kiln("stats")
        self.refused(4, "show", "ab")
        self.assertFalse(self.cache.exists())
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_is_empty_too_where_nothing_says_where_it_would_be(self):
        for name in ("HOME", "KILN_CACHE_DIR"):
            del self.environment[name]
        done = self.kiln("ls", "--json")
        self.assertEqual(len(self.warnings(done)), 1, done.stderr)
        self.assertEqual(self.json("stats")["misses"], 0)


class Ls(FilledCache):
    def test_json_has_the_documented_members(self):
        for entry in self.entries():
            self.assertEqual(list(entry), ENTRY_MEMBERS)
            self.assertRegex(entry["key"], r"\A[0-9a-f]{64}\Z")
            self.assertRegex(entry["created_at"], TIME)
            self.assertRegex(entry["last_used_at"], TIME)
            self.assertEqual(entry["template"], "axpy")
            self.assertEqual(entry["spec"], f"axpy:block={entry['parameters']['block']}")
            self.assertTrue(entry["toolchain"].startswith("nvrtc-"))
            self.assertIn("axpy", entry["lowered_name"])
            for number in ("image_bytes", "stored_bytes", "registers", "compile_us"):
                self.assertGreater(entry[number], 0)

    def test_the_table_has_a_line_an_entry(self):
        lines = self.kiln("ls").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["SPEC", "TARGET", "REGISTERS", "SPILLS", "IMAGE",
                                            "COMPILE", "HITS", "LAST", "USED", "PINNED", "KEY"])
        self.assertEqual(len(lines), 5)

    def test_filters(self):
        self.assertEqual(len(self.entries()), 4)
        self.assertEqual(len(self.entries("--template", "axpy")), 4)
        self.assertEqual(self.entries("--template", "static_quant"), [])
        for target in ("sm_90a", "9.0", "90"):
            self.assertEqual({entry["target"] for entry in self.entries("--target", target)},
                             {"sm_90a"})
        self.assertEqual(self.entries("--target", "sm_90"), [])
        key = self.entries()[2]["key"]
        for prefix in (key[:20], key[:20].upper(), key):
            self.assertEqual([entry["key"] for entry in self.entries("--key", prefix)], [key])
        self.assertEqual(len(self.entries("--limit", "3")), 3)

    def test_sorts_by_every_field(self):
        for field in ("last_used_at", "created_at", "image_bytes", "compile_us", "hits",
                      "registers"):
            values = [entry[field] for entry in self.entries("--sort", field)]
            self.assertEqual(values, sorted(values, reverse=True), field)
        self.assertEqual(self.entries("--sort", "hits")[0]["hits"], 1)
        specs = [entry["spec"] for entry in self.entries("--sort", "spec")]
        self.assertEqual(specs, sorted(specs))

    def test_refuses_bad_values(self):
        for option, value in (("--sort", "colour"), ("--limit", "0"), ("--limit", "-1"),
                              ("--limit", "few"), ("--target", "hopper"), ("--key", "xyz"),
                              ("--key", ""), ("--key", "a" * 65)):
            with self.subTest(f"{option} {value}"):
                self.assertIn(value, self.refused(2, "ls", option, value))

    def test_looking_changes_nothing(self):
        before = self.json("stats")
        for _ in range(2):
            self.kiln("ls")
            self.kiln("show", "axpy", "--target", "sm_90a", "--image", self.directory / "image")
        self.assertEqual(self.json("stats"), before)
        self.assertEqual(self.entries("--sort", "hits")[0]["hits"], 1)

    def test_a_reader_may_leave(self):
        with subprocess.Popen([PROGRAM, "ls"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment) as process:
            process.stdout.close()
            errors = process.stderr.read()
        self.assertEqual((process.returncode, errors), (0, b""))

    def test_whatever_the_cache_holds_is_printed_as_valid_text(self):
        with self.database() as database:
            database.execute(
                "UPDATE entries SET lowered_name = CAST(x'ff1b5b316d' AS TEXT), "
                "spec = CAST(x'61ff1b' AS TEXT), layout = '{}', "
                # A zstd frame that says "no JSON".
                "key_fields = x'28b52ffd20073900006e6f204a534f4e'")
        for entry in self.entries():
            self.assertEqual(entry["lowered_name"], "\ufffd\x1b[1m")
            self.assertEqual(entry["parameters"], {})
        self.assertTrue(all(line.isprintable() for line in self.kiln("ls").stdout.splitlines()))
        key = self.entries()[0]["key"]
        shown = self.kiln("show", key).stdout
        self.assertTrue(all(line.isprintable() for line in shown.splitlines()), shown)
        self.assertEqual(self.json("show", key)["entry"]["layout"], [])


class Show(FilledCache):
    def test_finds_an_entry_by_key_and_by_spec(self):
        for entry in self.entries():
            for name in (entry["key"], entry["key"][:16]):
                self.assertEqual(self.json("show", name)["entry"]["key"], entry["key"])
            shown = self.json("show", entry["spec"], "--target", entry["target"])["entry"]
            self.assertEqual(shown["key"], entry["key"])
        default = self.json("show", "axpy", "--target", "9.0")["entry"]
        self.assertEqual(default["spec"], "axpy:block=256")

    def test_json_has_the_documented_members(self):
        entry = self.json("show", "axpy", "--target", "sm_90a")["entry"]
        self.assertEqual(list(entry), ENTRY_MEMBERS + ["request", "key_fields", "layout", "log"])
        self.assertEqual(entry["key_fields"]["template"], "axpy")
        self.assertEqual(entry["key_fields"]["target"], "sm_90a")
        [[source, digest]] = entry["key_fields"]["sources"]
        self.assertEqual((source, len(digest)), ("axpy.cuh", 64))
        self.assertEqual([(p["name"], p["offset_bytes"], p["size_bytes"])
                          for p in entry["layout"]],
                         [("x", 0, 8), ("y", 8, 8), ("a", 16, 4), ("count", 20, 4)])

    def test_prints_every_fact(self):
        text = self.kiln("show", "axpy", "--target", "sm_90a").stdout
        entry = self.json("show", "axpy", "--target", "sm_90a")["entry"]
        for fact in ("key", "spec", "target", "toolchain", "lowered_name", "request",
                     "created_at"):
            self.assertIn(entry[fact], text)
        for option in entry["key_fields"]["options"]:
            self.assertIn(option, text)
        for argument in AXPY_MANIFEST["arguments"]:
            self.assertRegex(text, rf"(?m)^{argument['name']} +\d+ +\d+$")

    def test_works_by_key_without_the_template(self):
        key = self.json("show", "axpy", "--target", "sm_90a")["entry"]["key"]
        del self.environment["KILN_TEMPLATE_PATH"]
        entry = self.json("show", key)["entry"]
        self.assertEqual([p["name"] for p in entry["layout"]], [None] * 4)
        self.refused(4, "show", "axpy")

    def test_lists_the_candidates_of_an_ambiguous_name(self):
        message = self.refused(2, "show", "axpy")
        keys = [entry["key"] for entry in self.entries() if entry["spec"] == "axpy:block=256"]
        self.assertEqual(len(keys), 2)
        for key in keys:
            self.assertIn(key, message)

    def test_what_is_not_there_is_not_found(self):
        absent = "0" * 64
        self.assertIn(absent, self.refused(4, "show", absent))
        self.assertIn("sm_80", self.refused(4, "show", "axpy", "--target", "sm_80"))
        self.refused(4, "show", "axpy:block=32")
        self.refused(4, "show", "frob:a=1")

    def test_refuses_what_is_no_name(self):
        self.refused(2, "show")
        self.refused(2, "show", "axpy:block=33")
        self.refused(2, "show", "axpy", "--target", "hopper")
        self.refused(2, "show", "")

    def test_writes_the_image(self):
        image = self.directory / "axpy.cubin"
        entry = self.json("show", "axpy", "--target", "sm_90a", "--image", image)["entry"]
        written = image.read_bytes()
        self.assertEqual(written[:4], b"\x7fELF")
        self.assertEqual(len(written), entry["image_bytes"])
        self.assertIn(entry["lowered_name"].encode(), written)

    def test_an_image_that_cannot_be_written_is_a_failure(self):
        absent = self.directory / "absent" / "image"
        self.assertIn(str(absent),
                      self.refused(1, "show", "axpy", "--target", "90", "--image", absent))
        self.assertIn("/dev/full",
                      self.refused(1, "show", "axpy", "--target", "90", "--image", "/dev/full"))


class Stats(CliTest):
    def test_counts_over_processes(self):
        self.use_axpy()
        for _ in range(3):
            self.warm("axpy")
        stats = self.json("stats")
        self.assertEqual(list(stats), ["schema", "memory_hits", "disk_hits", "pack_hits",
                                       "other_toolchain_hits", "misses", "compiles",
                                       "compile_failures", "recovered", "evicted", "pruned",
                                       "process_waits",
                                       "process_wait_us", "lock_timeouts", "store"])
        self.assertEqual((stats["disk_hits"], stats["misses"], stats["compiles"]), (2, 1, 1))
        store = stats["store"]
        self.assertEqual((store["exists"], store["entries"]), (True, 1))
        self.assertEqual(store["image_bytes"], self.entries()[0]["image_bytes"])
        self.assertRegex(self.kiln("stats").stdout, r"(?m)^disk_hits: +2$")


if __name__ == "__main__":
    main()
