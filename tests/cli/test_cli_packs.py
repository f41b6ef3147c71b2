# SPDX-License-Identifier: Apache-2.0
"""kiln export and import, packs on the search path, and signatures."""

import pathlib
import shutil
import sqlite3
import subprocess
import unittest

from kiln_cli import CliTest, main

OPENSSL = shutil.which("openssl")


class PackTest(CliTest):
    """A cache with two variants for two targets."""

    def setUp(self):
        super().setUp()
        self.use_axpy()
        self.warm_all()
        self.pack = self.directory / "kernels.kpack"
        self.other = self.directory / "other"

    def warm_all(self, *arguments):
        return self.json("warm", "axpy", "axpy:block=64", "--target", "sm_90a,sm_100a", *arguments)

    def export(self, *arguments):
        return self.json("export", self.pack, *arguments)

    def import_(self, *arguments, code=0):
        return self.json("import", "--cache-dir", self.other, *arguments, code=code)

    def doctor_pack(self):
        [pack] = self.json("doctor", "--cache-dir", self.other)["packs"]
        return pack

    def damage(self, sql):
        with sqlite3.connect(self.pack) as database:
            database.execute(sql)
        database.close()


class ExportAndImport(PackTest):
    def test_another_cache_gets_the_same_entries(self):
        report = self.export()
        self.assertEqual(list(report), ["schema", "pack", "entries", "left_out", "file_bytes",
                                        "signed_by"])
        self.assertEqual((report["pack"], report["entries"], report["left_out"],
                          report["file_bytes"], report["signed_by"]),
                         (str(self.pack), 4, 0, self.pack.stat().st_size, None))
        done = self.import_(self.pack)
        self.assertEqual(list(done), ["schema", "imported", "present", "refused", "packs"])
        self.assertEqual((done["imported"], done["present"], done["refused"]), (4, 0, 0))
        self.assertEqual(self.import_(self.pack)["present"], 4)
        kept = ("key", "spec", "target", "image_bytes", "created_at", "toolchain", "registers")

        def facts(entries):
            return sorted(tuple(entry[name] for name in kept) for entry in entries)

        self.assertEqual(facts(self.entries("--cache-dir", self.other)), facts(self.entries()))
        self.assertTrue(self.json("verify", "--cache-dir", self.other)["sound"])
        report = self.warm_all("--cache-dir", self.other)
        self.assertEqual((report["compiled"], report["cached"]), (0, 4))

    def test_only_what_the_filters_leave(self):
        entry = self.entries()[0]
        key, key_is_for_90 = entry["key"], entry["target"] == "sm_90a"
        for arguments, count in ((["--target", "90"], 2), (["--key", key[:20].upper()], 1),
                                 (["--template", "axpy", "--target", "sm_100a"], 2),
                                 (["--toolchain", "nvrtc-"], 4)):
            with self.subTest(arguments):
                self.assertEqual(self.export(*arguments, "--force")["entries"], count)
                self.assertEqual(len(self.entries(*arguments)), count)
        for arguments in (["--template", "other"], ["--toolchain", "nvrtc-0."]):
            self.refused(4, "export", self.pack, *arguments, "--force")
        self.export("--force")
        self.assertEqual(self.import_(self.pack, "--key", key)["imported"], 1)
        self.assertEqual(self.import_(self.pack, "--target", "90")["imported"],
                         2 - key_is_for_90)
        self.assertEqual(self.import_(self.pack, "--template", "other")["imported"], 0)

    def test_a_file_is_replaced_only_by_force(self):
        self.pack.write_text("mine")
        self.assertIn("--force", self.refused(2, "export", self.pack))
        self.assertEqual(self.pack.read_text(), "mine")
        self.export("--force")
        self.assertEqual(self.export("--force")["entries"], 4)
        self.assertEqual([path.name for path in self.directory.glob("*kpack*")], [self.pack.name])

    def test_what_cannot_be_written_is_a_failure(self):
        self.assertIn("absent", self.refused(1, "export", self.directory / "absent" / "a.kpack"))
        self.refused(2, "export", f"{self.directory}/")
        self.refused(2, "export")
        self.refused(4, "export", self.pack, "--cache-dir", self.other)
        self.assertFalse(self.other.exists())

    def test_a_relative_path_and_a_strange_name(self):
        self.kiln("export", "a b?#%41.kpack", cwd=self.directory)
        done = self.json("import", "a b?#%41.kpack", "--cache-dir", self.other, cwd=self.directory)
        self.assertEqual(done["imported"], 4)

    def test_the_summary_for_people(self):
        self.assertRegex(self.kiln("export", self.pack).stdout, r"4 entries, .*KiB, not signed\n")
        self.assertEqual(self.kiln("import", self.pack).stdout,
                         "0 imported, 4 already present, 0 refused\n")

    def test_refusals_are_named_and_the_rest_is_imported(self):
        self.export()
        self.damage("UPDATE entries SET registers = 1 WHERE id = 1")
        garbage = self.directory / "garbage.kpack"
        garbage.write_text("text")
        done = self.import_(garbage, self.pack, self.directory / "absent", code=1)
        self.assertEqual((done["imported"], done["refused"]), (3, 1))
        first, second, third = done["packs"]
        self.assertEqual(list(first), ["path", "imported", "present", "refused", "reason",
                                       "refusals"])
        self.assertIn("no SQLite database", first["reason"])
        self.assertIsNone(second["reason"])
        [refusal] = second["refusals"]
        self.assertRegex(refusal["key"], r"\A[0-9a-f]{64}\Z")
        self.assertTrue(refusal["spec"].startswith("axpy:"))
        self.assertIn("entry_sha256", refusal["reason"])
        self.assertIn("No such file", third["reason"])
        message = self.kiln("import", self.pack, "--cache-dir", self.other, code=1).stderr
        self.assertIn("entry_sha256", message)

    def test_a_pack_of_the_future_is_refused_and_left_as_it_is(self):
        self.export()
        self.damage("PRAGMA user_version = 2")
        before = self.pack.read_bytes()
        done = self.import_(self.pack, code=1)
        self.assertIn("schema is 2; this Kiln knows 1", done["packs"][0]["reason"])
        self.refused(1, "verify", self.pack)
        self.environment["KILN_PACK_PATH"] = str(self.pack)
        self.assertIn("schema is 2", self.doctor_pack()["reason"])
        self.assertEqual(self.pack.read_bytes(), before)

    def test_verify_checks_a_pack(self):
        self.export()
        seen = self.json("verify", self.pack)
        self.assertEqual((seen["sound"], seen["entries"]), (True, 4))
        self.damage("UPDATE images SET image = zeroblob(10) WHERE entry = 2")
        seen = self.json("verify", self.pack, code=1)
        self.assertEqual((seen["damaged_entries"], seen["damage"][0]["row"]), (1, 2))
        self.assertNotIn("--repair", self.kiln("verify", self.pack, code=1).stdout)
        self.refused(2, "verify", self.pack, "--repair")
        self.refused(4, "verify", self.directory / "absent")
        self.pack.write_text("text")
        self.assertFalse(self.json("verify", self.pack, code=1)["sound"])


class SearchPath(PackTest):
    def setUp(self):
        super().setUp()
        self.export()

    def cached(self, path):
        """Whether all is found in this pack or directory, by a cache that has nothing."""
        environment = {**self.environment, "KILN_PACK_PATH": str(path)}
        shutil.rmtree(self.other, ignore_errors=True)
        report = self.json("warm", "axpy", "axpy:block=64", "--target", "sm_90a,sm_100a",
                           "--cache-dir", self.other, environment=environment)
        stats = self.json("stats", "--cache-dir", self.other)
        self.assertEqual(stats["pack_hits"], report["cached"])
        self.assertEqual(stats["store"]["entries"], report["compiled"])
        return report["cached"] == 4 and report["compiled"] == 0

    def test_a_pack_makes_a_warm_up_compile_nothing(self):
        self.environment["KILN_NVRTC"] = "/nonexistent/libnvrtc.so"
        self.assertTrue(self.cached(self.pack))
        self.assertTrue(self.cached(f"{self.directory / 'absent'}:{self.pack}"))
        self.assertTrue(self.cached(self.directory))

    def test_wherever_it_is_moved(self):
        for name in ("plain", "a b", "100%41?x=1#y", "ü"):
            place = self.directory / name
            place.mkdir(mode=0o755)
            self.pack = self.pack.rename(place / f"{name}.kpack")
            with self.subTest(name):
                self.assertTrue(self.cached(self.pack))
                self.assertTrue(self.cached(place))
                self.assertEqual(list(place.iterdir()), [self.pack])

    def test_the_cache_directory_has_packs_of_its_own(self):
        packs = self.other / "packs"
        packs.mkdir(parents=True, mode=0o700)
        self.other.chmod(0o700)
        self.pack.rename(packs / self.pack.name)
        report = self.warm_all("--cache-dir", self.other)
        self.assertEqual((report["compiled"], report["cached"]), (0, 4))
        pack = self.doctor_pack()
        self.assertEqual((pack["origin"], pack["entries"], pack["reason"]),
                         ("cache directory", 4, ""))

    def test_one_that_others_can_write_is_not_used_unless_told(self):
        self.pack.chmod(0o666)
        self.assertFalse(self.cached(self.pack))
        self.environment["KILN_PACK_PATH"] = str(self.pack)
        self.assertIn("0666", self.doctor_pack()["reason"])
        self.assertIn("0666", self.import_(self.pack, code=1)["packs"][0]["reason"])
        self.environment["KILN_TRUST_DIR"] = "1"
        self.assertTrue(self.cached(self.pack))
        self.assertEqual(self.doctor_pack()["reason"], "")

    def test_a_bad_one_is_one_warning_and_a_miss(self):
        self.damage("UPDATE entries SET registers = 1")
        self.environment["KILN_PACK_PATH"] = str(self.pack)
        done = self.kiln("warm", "axpy", "axpy:block=64", "--target", "sm_90a", "--cache-dir",
                         self.other)
        self.assertIn("2 compiled (2 stored), 0 cached", done.stdout)
        [warning] = self.warnings(done)
        self.assertIn(str(self.pack), warning)

    def test_a_relative_path_is_refused(self):
        environment = {**self.environment, "KILN_PACK_PATH": self.pack.name}
        done = self.kiln("warm", "axpy", "--target", "sm_90a", "--cache-dir", self.other,
                         environment=environment, cwd=self.directory)
        self.assertIn("1 compiled", done.stdout)
        self.assertIn("absolute", self.warnings(done)[0])

    def test_doctor_tells_of_each_pack_and_variable(self):
        self.environment["KILN_PACK_PATH"] = f"{self.pack}:{self.directory / 'absent'}"
        report = self.json("doctor", "--cache-dir", self.other)
        first, second = report["packs"]
        self.assertEqual(list(first), ["path", "origin", "entries", "unsigned_entries",
                                       "untrusted_entries", "signed_by", "reason"])
        self.assertEqual((first["path"], first["origin"], first["entries"], first["reason"]),
                         (str(self.pack), "KILN_PACK_PATH", 4, ""))
        self.assertIn("No such file", second["reason"])
        variables = {v["name"]: v for v in report["environment"]}
        for name in ("KILN_PACK_PATH", "KILN_TRUST", "KILN_SIGN_KEY", "KILN_TRUST_DIR"):
            self.assertIn(name, variables)
        self.assertEqual(variables["KILN_PACK_PATH"]["origin"], "environment")
        text = self.kiln("doctor").stdout
        self.assertRegex(text, r"(?m)^pack: +\S+kernels\.kpack \(from KILN_PACK_PATH\): 4 entries")
        self.assertRegex(text, r"(?m)^pack: .*: refused: .*No such file")


@unittest.skipUnless(OPENSSL, "needs the openssl program")
class Signatures(PackTest):
    def setUp(self):
        super().setUp()
        self.keys = {name: self.make_key(name) for name in ("ours", "theirs")}

    def make_key(self, name, *kind):
        private, public = self.directory / f"{name}.pem", self.directory / f"{name}.pub"
        kind = kind or ("-algorithm", "ed25519")
        subprocess.run([OPENSSL, "genpkey", *kind, "-out", private], check=True,
                       stderr=subprocess.DEVNULL)
        subprocess.run([OPENSSL, "pkey", "-in", private, "-pubout", "-out", public], check=True)
        private.chmod(0o600)
        public.chmod(0o644)
        return private, public

    def test_decide_what_is_imported_and_what_is_served(self):
        ours, ours_public = self.keys["ours"]
        theirs_public = self.keys["theirs"][1]
        both = f"{theirs_public}:{ours_public}"
        for sign, trust, is_taken in (([], "", True), ([], ours_public, False),
                                      (["--sign", ours], "", True),
                                      (["--sign", ours], ours_public, True),
                                      (["--sign", ours], theirs_public, False),
                                      (["--sign", ours], both, True)):
            with self.subTest(sign=sign, trust=trust):
                self.export("--force", *sign)
                self.environment["KILN_TRUST"] = str(trust)
                shutil.rmtree(self.other, ignore_errors=True)
                done = self.import_(self.pack, code=0 if is_taken else 1)
                self.assertEqual((done["imported"], done["refused"]),
                                 (4, 0) if is_taken else (0, 4))
                shutil.rmtree(self.other, ignore_errors=True)
                self.environment["KILN_PACK_PATH"] = str(self.pack)
                report = self.warm_all("--cache-dir", self.other)
                self.assertEqual(report["cached"], 4 if is_taken else 0)
                pack = self.doctor_pack()
                self.assertEqual(len(pack["signed_by"]), 1 if sign else 0)
                self.assertEqual("trusted key" in pack["reason"], not is_taken)

    def test_the_option_adds_to_the_variable(self):
        self.environment["KILN_SIGN_KEY"] = str(self.keys["ours"][0])
        self.assertRegex(self.export()["signed_by"], r"\A[0-9a-f]{64}\Z")
        self.environment["KILN_TRUST"] = str(self.keys["theirs"][1])
        self.import_(self.pack, code=1)
        done = self.import_(self.pack, "--trust", self.keys["ours"][1])
        self.assertEqual(done["imported"], 4)

    def test_the_key_is_named_as_openssl_would(self):
        der = subprocess.run([OPENSSL, "pkey", "-pubin", "-in", self.keys["ours"][1], "-outform",
                              "DER"], check=True, stdout=subprocess.PIPE).stdout
        digest = subprocess.run([OPENSSL, "dgst", "-sha256", "-r"], input=der, check=True,
                                stdout=subprocess.PIPE).stdout.split()[0].decode()
        self.assertEqual(self.export("--sign", self.keys["ours"][0])["signed_by"], digest)
        self.assertIn(f"signed by {digest[:16]}",
                      self.kiln("export", self.pack, "--force", "--sign",
                                self.keys["ours"][0]).stdout)

    def test_a_forged_signature_is_refused(self):
        self.export("--sign", self.keys["theirs"][0])
        ours = self.export("--force", "--sign", self.keys["ours"][0])["signed_by"]
        self.export("--force", "--sign", self.keys["theirs"][0])
        self.damage(f"UPDATE signatures SET key_sha256 = x'{ours}'")
        done = self.import_(self.pack, "--trust", self.keys["ours"][1], code=1)
        self.assertEqual({refusal["reason"] for refusal in done["packs"][0]["refusals"]},
                         {"its signature is wrong"})

    def test_bad_keys_are_told_and_nothing_is_written(self):
        private, public = self.keys["ours"]
        rsa, rsa_public = self.make_key("rsa", "-algorithm", "RSA")
        locked = self.directory / "locked.pem"
        subprocess.run([OPENSSL, "pkey", "-in", private, "-aes256", "-passout", "pass:x", "-out",
                        locked], check=True)
        locked.chmod(0o600)
        for path, code, part in ((rsa, 2, "RSA"), (locked, 2, "encrypted"), (public, 2, "0644"),
                                 (self.directory / "absent", 4, "absent"),
                                 (self.directory, 1, "not a regular file")):
            with self.subTest(path=path):
                self.assertIn(part, self.refused(code, "export", self.pack, "--sign", path))
        private.chmod(0o640)
        self.assertIn("0640", self.refused(2, "export", self.pack, "--sign", private))
        self.assertFalse(self.pack.exists())
        self.export()
        for path, code, part in ((rsa_public, 2, "RSA"), (private, 2, "public key"),
                                 (self.directory / "absent", 4, "absent")):
            with self.subTest(path=path):
                self.assertIn(part, self.refused(code, "import", self.pack, "--trust", path,
                                                 "--cache-dir", self.other))
        self.assertFalse(self.other.exists())

    def test_without_a_usable_trusted_key_no_pack_serves(self):
        self.export("--sign", self.keys["ours"][0])
        self.environment.update(KILN_PACK_PATH=str(self.pack),
                                KILN_TRUST=f"{self.keys['ours'][1]}:/nonexistent/key.pub")
        done = self.kiln("warm", "axpy", "--target", "sm_90a", "--cache-dir", self.other)
        self.assertIn("1 compiled", done.stdout)
        [warning] = self.warnings(done)
        self.assertIn("/nonexistent/key.pub", warning)
        self.assertIn("/nonexistent/key.pub", self.doctor_pack()["reason"])


class NetworkFileSystem(PackTest):
    """A cache directory that cannot hold the database, and that several nodes share."""

    def setUp(self):
        super().setUp()
        self.environment["KILN_TEST_FILE_SYSTEM"] = "nfs"
        self.shared = self.directory / "shared"
        self.environment["KILN_CACHE_DIR"] = str(self.shared)

    def on_node(self, number, *arguments):
        self.environment["KILN_LOCAL_DIR"] = str(self.directory / f"node{number}")
        return self.json("warm", "--target", "sm_90a", *arguments)

    def test_a_warm_up_publishes_a_pack_that_other_nodes_find(self):
        first = self.on_node(1, "axpy", "axpy:block=64")
        self.assertEqual(first["compiled"], 2)
        pack = pathlib.Path(first["pack"])
        self.assertEqual(pack.parent, self.shared / "packs")
        self.assertRegex(pack.name, r"\A[0-9a-f]{64}\.kpack\Z")
        second = self.on_node(2, "axpy", "axpy:block=64")
        self.assertEqual((second["compiled"], second["cached"], second["pack"]), (0, 2, None))
        # The same again: nothing new is published.
        again = self.on_node(1, "axpy", "axpy:block=64")
        self.assertEqual((again["cached"], again["pack"]), (2, str(pack)))
        self.assertEqual(list((self.shared / "packs").iterdir()), [pack])
        third = self.on_node(2, "axpy", "axpy:block=96")
        self.assertEqual(third["compiled"], 1)
        self.assertEqual(len(list((self.shared / "packs").iterdir())), 2)
        self.assertFalse(list(self.shared.glob("store-*")))

    def test_a_directory_that_cannot_be_written_is_a_warning(self):
        self.shared.write_text("a file")
        self.environment["KILN_LOCAL_DIR"] = str(self.directory / "node")
        done = self.kiln("warm", "axpy", "--target", "sm_90a")
        self.assertIn("1 compiled (1 stored)", done.stdout)
        self.assertEqual(len([line for line in self.warnings(done) if "no pack" in line]), 1)

    def test_on_a_local_file_system_nothing_is_published(self):
        del self.environment["KILN_TEST_FILE_SYSTEM"]
        self.assertIsNone(self.on_node(1, "axpy")["pack"])
        self.assertFalse((self.shared / "packs").exists())


if __name__ == "__main__":
    main()
