# SPDX-License-Identifier: Apache-2.0
"""Cache directories that cannot be used: kernels are compiled all the same, with one warning."""

import os
import pathlib
import shutil
import tempfile
import unittest

from kiln_cli import PROGRAM, CliTest, kept_environment, main

OTHER_USER = 65534


class UnusableCache(CliTest):
    def warm_without_store(self, environment=None, **options):
        done = self.kiln("warm", "axpy", "--target", "sm_90a", environment=environment, **options)
        self.assertIn("1 compiled (0 stored), 0 cached", done.stdout)
        self.assertEqual(len(self.warnings(done)), 1, done.stderr)
        return self.warnings(done)[0]

    def setUp(self):
        super().setUp()
        self.use_axpy()

    def test_a_file(self):
        self.cache.write_text("a file")
        self.assertIn(str(self.cache), self.warm_without_store())
        self.assertEqual(self.cache.read_text(), "a file")

    def test_below_a_file(self):
        self.cache.write_text("a file")
        self.environment["KILN_CACHE_DIR"] = str(self.cache / "deep" / "er")
        self.warm_without_store()

    def test_a_relative_path(self):
        self.environment["KILN_CACHE_DIR"] = "relative"
        self.assertIn('"relative"', self.warm_without_store(cwd=self.directory))
        self.assertFalse((self.directory / "relative").exists())
        self.assertIn('"relative"', self.refused(2, "ls"))
        self.assertIn('"relative"', self.refused(2, "stats"))

    def test_one_that_others_can_write(self):
        self.cache.mkdir()
        self.cache.chmod(0o777)
        self.assertIn("0777", self.warm_without_store())
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_none_at_all(self):
        bare = kept_environment()
        bare["KILN_TEMPLATE_PATH"] = str(self.templates)
        self.assertIn("HOME", self.warm_without_store(environment=bare, cwd=self.directory))
        self.assertEqual([path.name for path in self.directory.iterdir()], ["templates"])

    def test_a_log_level_of_error_silences_the_warning(self):
        self.cache.write_text("a file")
        self.environment["KILN_LOG_LEVEL"] = "error"
        done = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertEqual(self.warnings(done), [])

    def test_a_log_file_gets_the_warning_too(self):
        self.cache.write_text("a file")
        log = self.directory / "log"
        self.environment["KILN_LOG_FILE"] = str(log)
        self.warm_without_store()
        self.assertIn("kiln warning: ", log.read_text())

    def test_looking_into_a_file_fails(self):
        self.cache.write_text("a file")
        for command in ("ls", "stats"):
            self.assertIn(str(self.cache), self.refused(1, command))


@unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
class AnotherUser(CliTest):
    def setUp(self):
        super().setUp()
        self.use_axpy()
        # Whoever this is may not enter the directory of the build.
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="kiln-cli-user-"))
        self.addCleanup(shutil.rmtree, self.place)
        self.place.chmod(0o755)
        self.directory.chmod(0o755)
        self.program = self.place / "kiln"
        shutil.copy(PROGRAM, self.program)

    def warm_as_other(self):
        done = self.kiln("warm", "axpy", "--target", "sm_90a", user=OTHER_USER, group=OTHER_USER,
                         extra_groups=[], executable=str(self.program))
        self.assertIn("1 compiled (0 stored)", done.stdout)
        self.assertEqual(len(self.warnings(done)), 1, done.stderr)
        return self.warnings(done)[0]

    def test_does_not_use_a_cache_that_is_not_theirs(self):
        self.cache.mkdir(mode=0o755)
        self.assertIn("belongs to user 0", self.warm_as_other())

    def test_goes_on_without_a_cache_that_they_cannot_write(self):
        self.cache.mkdir(mode=0o500)
        os.chown(self.cache, OTHER_USER, OTHER_USER)
        self.assertIn(str(self.cache), self.warm_as_other())

    def test_goes_on_without_a_cache_that_they_cannot_make(self):
        self.assertIn(str(self.cache), self.warm_as_other())
        self.assertFalse(self.cache.exists())


if __name__ == "__main__":
    main()
