# SPDX-License-Identifier: Apache-2.0
"""Help, version, usage errors and what happens to standard output."""

import os
import pathlib
import re
import subprocess

from kiln_cli import COMMANDS, PROGRAM, CliTest, main

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def options_of(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


class Help(CliTest):
    def test_names_every_command(self):
        text = self.kiln("--help").stdout
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")

    def test_of_every_command_says_how_to_call_it(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = self.kiln(command, "--help")
                self.assertIn(f"Usage: kiln {command}", done.stdout)
                self.assertIn("Exit status:", done.stdout)
                self.assertEqual(done.stderr, "")

    def test_of_every_command_lists_the_options_that_the_document_lists(self):
        document = DOCUMENT.read_text()
        common = options_of(re.search(r"(?ms)^## Options of every command$(.*?)^## ",
                                      document)[1])
        for command in COMMANDS:
            with self.subTest(command):
                section = re.search(rf"(?ms)^## kiln {command}$(.*?)(?=^## |\Z)", document)[1]
                options = set()
                for row in re.findall(r"(?m)^\| (`-[^|]*)\|", section):
                    options |= options_of(row)
                self.assertEqual(options_of(self.kiln(command, "--help").stdout) - {"--version"},
                                 (options | common) - {"--version"})

    def test_touches_no_cache(self):
        self.kiln("warm", "--help")
        self.assertFalse(self.cache.exists())


class Version(CliTest):
    def test_shows_the_build(self):
        text = self.kiln("--version").stdout
        self.assertRegex(text, r"\Akiln \d+\.\d+\.\d+\n")
        self.assertIn("key_schema=1", text)


class UsageErrors(CliTest):
    def test_no_command(self):
        self.assertIn("no command", self.refused(2))

    def test_an_unknown_command_is_named_with_a_hint(self):
        message = self.refused(2, "frob")
        self.assertIn('"frob"', message)
        self.assertIn("kiln --help", message)

    def test_an_unknown_option_is_named_with_a_hint(self):
        for command in COMMANDS:
            with self.subTest(command):
                needs_one = command in ("show", "export", "import", "pin", "unpin")
                arguments = ["a"] if needs_one else []
                message = self.refused(2, command, *arguments, "--frob")
                self.assertIn('"--frob"', message)
                self.assertIn(f"kiln {command} --help", message)

    def test_an_argument_too_many(self):
        for command in ("ls", "prune", "stats", "doctor"):
            self.assertIn('"frob"', self.refused(2, command, "frob"))
        for command in ("show", "export", "verify", "templates", "models"):
            self.assertIn('"second"', self.refused(2, command, "aa", "second"))

    def test_an_option_without_its_value(self):
        for arguments in (["ls", "--limit"], ["warm", "--target"], ["stats", "--cache-dir"]):
            self.assertIn(arguments[1], self.refused(2, *arguments))

    def test_a_relative_cache_directory(self):
        for command in ("ls", "verify", "stats", "doctor"):
            self.assertIn('"here"', self.refused(2, command, "--cache-dir", "here"))
        self.assertIn('"here"', self.refused(2, "warm", "x", "--cache-dir=here"))

    def test_a_variable_with_a_bad_value(self):
        for name, value in (("KILN_TOOLCHAIN", "some"), ("KILN_LOG_LEVEL", "loud"),
                            ("KILN_LOCK_TIMEOUT_MS", "soon"), ("KILN_LOCK_TIMEOUT_MS", "-1"),
                            ("KILN_CACHE_LOCAL", "yes"), ("KILN_TRUST_DIR", "yes")):
            message = self.refused(2, "ls", environment={**self.environment, name: value})
            self.assertIn(name, message)
            self.assertIn(value, message)

    def test_a_log_file_that_cannot_be_opened(self):
        self.environment["KILN_LOG_FILE"] = str(self.directory / "absent" / "log")
        self.assertIn("KILN_LOG_FILE", self.refused(1, "ls"))


class CommonOptions(CliTest):
    def test_may_stand_on_either_side_of_the_command(self):
        self.assertEqual(self.kiln("--json", "stats").stdout, self.kiln("stats", "--json").stdout)

    def test_the_cache_directory_overrules_the_environment(self):
        other = self.directory / "other"
        for arguments in (["--cache-dir", other, "stats"], ["stats", "--cache-dir", other]):
            self.assertTrue(self.json(*arguments)["store"]["path"].startswith(str(other)))


class StandardOutput(CliTest):
    def test_that_nobody_reads_is_no_failure(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            done = subprocess.run([PROGRAM, "templates"], stdout=write_end, stderr=subprocess.PIPE,
                                  env=self.environment, check=False)
        finally:
            os.close(write_end)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_that_is_full_is_a_failure(self):
        for arguments in (["templates"], ["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE,
                                      env=self.environment, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Akiln: standard output: .*No space left")


if __name__ == "__main__":
    main()
