# SPDX-License-Identifier: Apache-2.0
"""kiln prune, pin and unpin, and the limit of the cache."""

import random

from kiln_cli import AXPY_SOURCE, CliTest, main, write_template

DAY_S = 86400


class Prune(CliTest):
    """A cache with two variants for two targets; those of block=64 were last used 10 days ago."""

    def setUp(self):
        super().setUp()
        self.use_axpy()
        self.kiln("warm", "axpy", "axpy:block=64", "--target", "sm_90a,sm_100a")
        with self.database() as database:
            database.execute("UPDATE entries SET created_at = created_at - ? "
                             "WHERE spec = 'axpy:block=64'", (10 * DAY_S,))

    def key(self, spec, target):
        [key] = [entry["key"] for entry in self.entries()
                 if (entry["spec"], entry["target"]) == (spec, target)]
        return key

    def pruned(self, *arguments):
        """What a prune takes, which a dry run has told before."""
        before = self.entries()
        planned = self.json("prune", "--dry-run", *arguments)
        self.assertEqual(self.entries(), before)
        done = self.json("prune", *arguments)
        self.assertEqual(list(done), ["schema", "dry_run", "pruned", "freed_bytes", "entries"])
        self.assertEqual((planned["dry_run"], done["dry_run"]), (True, False))
        self.assertEqual(planned["entries"], done["entries"])
        self.assertEqual(done["pruned"], len(done["entries"]))
        # Of entries as small as these, several share a page.
        self.assertLessEqual(done["freed_bytes"] > 0, done["pruned"] > 0)
        self.assertEqual(len(self.entries()), len(before) - done["pruned"])
        return sorted((entry["spec"], entry["target"]) for entry in done["entries"])

    def test_by_age(self):
        self.assertEqual(self.pruned("--older-than", "11d"), [])
        self.assertEqual(self.pruned("--older-than", "239h", "--target", "90"),
                         [("axpy:block=64", "sm_90a")])
        self.assertEqual(self.pruned("--older-than", "14000m"), [("axpy:block=64", "sm_100a")])
        self.assertEqual(len(self.pruned("--older-than", "0s")), 2)

    def test_by_target_template_and_toolchain(self):
        self.assertEqual(self.pruned("--template", "other"), [])
        self.assertEqual(self.pruned("--toolchain", "nvrtc-1.0"), [])
        self.assertEqual(self.pruned("--target", "sm_100a"),
                         [("axpy:block=256", "sm_100a"), ("axpy:block=64", "sm_100a")])
        self.assertEqual(len(self.pruned("--template", "axpy", "--toolchain", "nvrtc-")), 2)

    def test_to_a_size_and_everything(self):
        self.assertEqual(self.pruned("--to", "1G"), [])
        self.assertEqual(self.pruned("--to", "0", "--target", "90"),
                         [("axpy:block=256", "sm_90a"), ("axpy:block=64", "sm_90a")])
        self.assertEqual(len(self.pruned("--all")), 2)

    def test_without_a_criterion_the_limit_applies(self):
        self.assertEqual(self.pruned(), [])

    def test_spares_what_is_pinned_unless_asked_not_to(self):
        key = self.key("axpy:block=64", "sm_90a")
        shown = self.json("pin", key[:16])["entries"]
        self.assertEqual([(entry["key"], entry["pinned"]) for entry in shown], [(key, True)])
        self.assertEqual([entry["key"] for entry in self.entries() if entry["pinned"]], [key])
        self.assertRegex(self.kiln("show", key).stdout, r"(?m)^pinned: +yes$")
        self.assertEqual(len(self.pruned("--all")), 3)
        self.assertIn(" yes ", self.kiln("ls").stdout)
        self.kiln("unpin", key)
        self.assertRegex(self.kiln("show", key).stdout, r"(?m)^pinned: +no$")
        self.kiln("pin", key)
        self.assertEqual(self.pruned("--all", "--include-pinned"), [("axpy:block=64", "sm_90a")])

    def test_the_table_ends_with_a_summary(self):
        lines = self.kiln("prune", "--all", "--dry-run").stdout.splitlines()
        self.assertEqual(len(lines), 1 + 4 + 2)
        self.assertRegex(lines[-1], r"\A4 entries would be pruned, about .*iB freed\Z")
        lines = self.kiln("prune", "--target", "90").stdout.splitlines()
        self.assertRegex(lines[-1], r"\A2 entries pruned, .*B freed\Z")
        self.assertEqual(self.kiln("prune", "--target", "90").stdout,
                         "0 entries pruned, 0 B freed\n")

    def test_refuses_bad_values(self):
        for option, value in (("--older-than", "30"), ("--older-than", "d"),
                              ("--older-than", "-1d"), ("--older-than", "9" * 18 + "d"),
                              ("--to", "few"), ("--to", "-1"), ("--to", "1X"),
                              ("--target", "hopper")):
            with self.subTest(f"{option} {value}"):
                self.assertIn(value, self.refused(2, "prune", f"{option}={value}"))
        self.assertIn("--all", self.refused(2, "prune", "--all", "--target", "90"))
        self.assertEqual(len(self.entries()), 4)

    def test_refuses_keys_that_name_no_or_several_entries(self):
        self.refused(2, "pin", "xyz")
        self.refused(2, "pin")
        self.refused(4, "unpin", "0" * 64)
        with self.database() as database:
            for number in (1, 2):
                database.execute("UPDATE entries SET key = ? WHERE id = ?",
                                 (bytes([0xAA, number] + [0] * 30), number))
        self.assertIn('"aa"', self.refused(2, "pin", "aa"))
        self.assertEqual([entry for entry in self.entries() if entry["pinned"]], [])


class AbsentCache(CliTest):
    def test_has_nothing_to_prune_and_is_not_made(self):
        for arguments in ([], ["--all"], ["--dry-run"]):
            answer = self.json("prune", *arguments)
            self.assertEqual((answer["pruned"], answer["freed_bytes"]), (0, 0))
            self.kiln("prune", *arguments)
        self.refused(4, "pin", "ab")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_nor_where_nothing_says_where_it_would_be(self):
        for name in ("HOME", "KILN_CACHE_DIR"):
            del self.environment[name]
        self.assertEqual(self.json("prune", "--all")["pruned"], 0)


class Limit(CliTest):
    def test_is_shown_with_what_counts_against_it(self):
        self.use_axpy()
        self.environment["KILN_CACHE_LIMIT"] = "3M"
        self.warm("axpy")
        (self.cache / "store-v1.quarantine.db").write_bytes(bytes(5000))
        for store in (self.json("stats")["store"], self.json("doctor")["cache"]):
            self.assertEqual((store["limit_bytes"], store["quarantine_bytes"]), (3 << 20, 5000))
            self.assertGreaterEqual(store["file_bytes"], store["log_bytes"])
        for command in ("stats", "doctor"):
            self.assertRegex(self.kiln(command).stdout,
                             r"(?m)^size: .* of 3\.0 MiB \(.*quarantined 4\.9 KiB\)$")

    def test_of_less_than_1_mib_or_no_size_is_refused(self):
        for value in ("1023K", "0", "-1", "many", "2 G", "9999999T"):
            self.environment["KILN_CACHE_LIMIT"] = value
            message = self.refused(2, "ls")
            self.assertIn(f'KILN_CACHE_LIMIT is "{value}"', message)
            self.assertIn("1M", message)

    def test_holds_while_warming_and_pinned_entries_stay(self):
        numbers = random.Random(1)
        table = ", ".join(str(numbers.getrandbits(32)) + "u" for _ in range(16384))
        write_template(self.templates, text=f"__device__ unsigned table[] = {{{table}}};" +
                       AXPY_SOURCE.replace("a * x[i]", "a * x[i] + table[i & 16383]"))
        self.environment.update(KILN_TEMPLATE_PATH=str(self.templates), KILN_CACHE_LIMIT="1M")
        self.assertEqual(self.warm("axpy", "--pin")["pinned"], 1)
        self.assertEqual(self.warm("axpy:block=64")["pinned"], 0)
        report = self.warm("axpy:block=64", "--pin")
        self.assertEqual((report["cached"], report["pinned"]), (1, 1))
        pinned = {entry["key"] for entry in self.entries()}
        stored = 2 + self.warm(*(f"axpy:block={32 * n}" for n in range(3, 21)))["stored"]
        self.assertGreaterEqual({entry["key"] for entry in self.entries()}, pinned)
        self.assertLess(len(self.entries()), stored)
        self.assertEqual(self.json("stats")["evicted"], stored - len(self.entries()))
        self.assertLessEqual(self.json("stats")["store"]["file_bytes"], 1 << 20)


if __name__ == "__main__":
    main()
