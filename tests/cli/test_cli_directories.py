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


class NetworkFileSystem(CliTest):
    def setUp(self):
        super().setUp()
        self.use_axpy()
        self.local = self.directory / "local"
        self.environment["KILN_TEST_FILE_SYSTEM"] = "nfs"
        self.environment["KILN_LOCAL_DIR"] = str(self.local)

    def test_the_database_moves_to_a_local_directory_with_one_warning(self):
        done = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertIn("1 compiled (1 stored)", done.stdout)
        [warning] = self.warnings(done)
        for part in (str(self.cache), "nfs", str(self.local)):
            self.assertIn(part, warning)
        self.assertEqual([path.name for path in self.cache.iterdir()], ["packs"])
        self.assertEqual(self.local.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.warm("axpy")["cached"], 1)
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.json("verify")["entries"], 1)
        self.assertEqual(self.json("prune", "--all", "--dry-run")["pruned"], 1)
        store = self.json("stats")["store"]
        self.assertEqual(store["path"], str(self.local / "store-v1.db"))
        self.assertIn("nfs", store["moved_because"])
        self.assertIn("nfs", self.kiln("stats").stdout)

    def test_doctor_tells_where_and_why(self):
        cache = self.json("doctor")["cache"]
        self.assertEqual(cache["file_system"], "nfs")
        self.assertIn("nfs", cache["moved_because"])
        self.assertIn(str(self.local), self.kiln("doctor").stdout)
        self.assertFalse(self.local.exists())

    def test_the_user_may_know_better(self):
        self.environment["KILN_CACHE_LOCAL"] = "1"
        done = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertEqual(self.warnings(done), [])
        self.assertTrue((self.cache / "store-v1.db").exists())
        self.assertEqual(self.json("doctor")["cache"]["moved_because"], "")

    def test_a_relative_local_directory(self):
        self.environment["KILN_LOCAL_DIR"] = "here"
        self.assertIn('"here"', self.refused(2, "ls"))
        done = self.kiln("warm", "axpy", "--target", "sm_90a", cwd=self.directory)
        self.assertIn("1 compiled (0 stored)", done.stdout)
        self.assertEqual(len(self.warnings(done)), 1)
        self.assertFalse((self.directory / "here").exists())


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
