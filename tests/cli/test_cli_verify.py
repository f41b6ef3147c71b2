# SPDX-License-Identifier: Apache-2.0
"""kiln verify."""

import re

from kiln_cli import CliTest, main

MEMBERS = ["schema", "exists", "sound", "entries", "damaged_entries", "damaged_rows",
           "dropped_rows", "quarantined", "database_errors", "damage"]
DAMAGE_MEMBERS = ["table", "row", "key", "spec", "reason", "dropped"]
PAGE_BYTES = 4096


class Verify(CliTest):
    def fill(self):
        self.use_axpy()
        self.warm("axpy", "axpy:block=64")

    def files(self):
        return {path: path.read_bytes() for path in self.cache.glob("store-v*.db")}

    def damage(self, change):
        """Fills the cache and lets `change` forge the entry of axpy:block=256, whose key it gets;
        returns that key."""
        self.fill()
        [key] = [entry["key"] for entry in self.entries() if entry["spec"] == "axpy:block=256"]
        with self.database() as database:
            change(database, bytes.fromhex(key))
        return key

    def check_named(self, change, reason):
        key = self.damage(change)
        before = self.files()
        seen = self.json("verify", code=1)
        self.assertEqual(list(seen), MEMBERS)
        self.assertEqual((seen["exists"], seen["sound"], seen["entries"]), (True, False, 2))
        self.assertEqual((seen["damaged_entries"], seen["dropped_rows"]), (1, 0))
        [damage] = seen["damage"]
        self.assertEqual(list(damage), DAMAGE_MEMBERS)
        self.assertEqual((damage["table"], damage["dropped"]), ("entries", False))
        self.assertRegex(damage["reason"], reason)
        if damage["key"] is not None:
            self.assertEqual(damage["key"], key)
        done = self.kiln("verify", code=1)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["TABLE", "ROW", "KEY", "REASON", "SPEC"])
        self.assertEqual(len(lines), 3)
        self.assertIn(damage["reason"], lines[1])
        self.assertEqual(lines[2],
                         "2 entries checked: 1 damaged; --repair removes what is damaged")
        self.assertEqual(self.files(), before)

        done = self.kiln("verify", "--repair", code=1)
        self.assertIn("2 entries checked: 1 damaged; 1 dropped", done.stdout)
        self.assertEqual(self.kiln("verify").stdout, "1 entry checked: no damage\n")
        self.kiln("verify", "--repair")
        self.assertEqual(self.json("stats")["recovered"], 1)
        answer = self.warm("axpy", "axpy:block=64")
        self.assertEqual((answer["compiled"], answer["cached"]), (1, 1))
        self.assertTrue(self.json("verify")["sound"])

    def check_image(self, change):
        def forge(database, key):
            [[row, image]] = database.execute(
                "SELECT entry, image FROM images JOIN entries ON id = entry WHERE key = ?", (key,))
            database.execute("UPDATE images SET image = ? WHERE entry = ?", (change(image), row))
        self.check_named(forge, "entry_sha256")

    def test_an_absent_cache_is_sound_and_is_not_made(self):
        for arguments in ([], ["--repair"]):
            seen = self.json("verify", *arguments)
            self.assertEqual((seen["exists"], seen["sound"], seen["entries"]), (False, True, 0))
            self.assertEqual(self.kiln("verify", *arguments).stdout, "absent: nothing to check\n")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_cache_as_it_was_written_is_sound(self):
        self.fill()
        before = self.files()
        for arguments in ([], ["--repair"]):
            seen = self.json("verify", *arguments)
            self.assertEqual(list(seen), MEMBERS)
            self.assertEqual((seen["sound"], seen["entries"], seen["damage"]), (True, 2, []))
        self.assertEqual(self.kiln("verify").stdout, "2 entries checked: no damage\n")
        self.assertEqual(self.files(), before)

    def test_names_a_truncated_image(self):
        self.check_image(lambda image: image[:len(image) // 2])

    def test_names_an_emptied_image(self):
        self.check_image(lambda image: b"")

    def test_names_an_image_with_a_changed_byte(self):
        def flip(image):
            middle = len(image) // 2
            return image[:middle] + bytes([image[middle] ^ 1]) + image[middle + 1:]
        self.check_image(flip)

    def test_names_an_image_that_is_gone(self):
        self.check_named(lambda database, key: database.execute(
            "DELETE FROM images WHERE entry = (SELECT id FROM entries WHERE key = ?)", (key,)),
                         "no image")

    def test_names_an_image_under_the_wrong_key(self):
        self.check_named(lambda database, key: database.execute(
            "UPDATE images SET image = (SELECT image FROM images JOIN entries ON id = entry "
            "WHERE key <> ?1) WHERE entry = (SELECT id FROM entries WHERE key = ?1)", (key,)),
                         "entry_sha256")

    def test_names_a_forged_target(self):
        self.check_named(lambda database, key: database.execute(
            "UPDATE entries SET target = 'sm_80' WHERE key = ?", (key,)),
                         'target is "sm_80"; the key fields say "sm_90a"')

    def test_names_a_changed_fact(self):
        self.check_named(lambda database, key: database.execute(
            "UPDATE entries SET registers = registers + 1 WHERE key = ?", (key,)), "entry_sha256")

    def test_prints_what_it_finds_as_valid_text(self):
        self.damage(lambda database, key: database.execute(
            "UPDATE entries SET spec = CAST(x'61ff1b5b316d' AS TEXT) WHERE key = ?", (key,)))
        output = self.kiln("verify", code=1).stdout
        self.assertTrue(all(line.isprintable() for line in output.splitlines()), output)
        self.assertEqual(self.json("verify", code=1)["damage"][0]["spec"], "a\ufffd\x1b[1m")

    def test_names_rows_of_other_tables(self):
        self.damage(lambda database, key: database.executescript(
            "INSERT INTO images VALUES (77, x'00'); INSERT INTO usage VALUES (x'ab', 1, 1, 0)"))
        seen = self.json("verify", code=1)
        self.assertEqual([(row["table"], row["row"], row["key"]) for row in seen["damage"]],
                         [("images", 77, None), ("usage", 0, "ab")])
        done = self.kiln("verify", "--repair", code=1)
        self.assertIn("2 entries checked: 0 damaged, 2 other rows damaged; 2 dropped", done.stdout)
        self.kiln("verify")
        self.assertEqual(len(self.entries()), 2)

    def check_database(self, damage):
        """`damage` changes the bytes of the database of a filled cache."""
        self.fill()
        [path] = self.cache.glob("store-v*.db")
        path.write_bytes(damage(path.read_bytes()))
        before = self.files()
        seen = self.json("verify", code=1)
        self.assertFalse(seen["sound"] or seen["quarantined"])
        self.assertGreater(len(seen["database_errors"]), 0)
        done = self.kiln("verify", code=1)
        self.assertRegex(done.stdout, r"(?m)\Adatabase: ")
        self.assertRegex(done.stdout, r"; the database is damaged; --repair removes .*\n\Z")
        self.assertEqual(self.files(), before)
        done = self.kiln("verify", "--repair", code=1)
        self.assertRegex(done.stdout, r"(?m)\Adatabase: ")
        self.assertIn("quarantined", done.stdout)
        self.assertEqual(len(list(self.cache.glob("store-v*.quarantine.db"))), 1)
        self.assertEqual(self.kiln("verify").stdout, "0 entries checked: no damage\n")

    def test_names_a_database_that_was_replaced_by_text(self):
        self.check_database(lambda _: b"text")

    def test_names_a_database_with_a_zeroed_page(self):
        def zero(data):
            root = self.root_page("entries")
            return data[:(root - 1) * PAGE_BYTES] + bytes(PAGE_BYTES) + data[root * PAGE_BYTES:]
        self.check_database(zero)

    def root_page(self, table):
        with self.database() as database:
            [[page]] = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?",
                                        (table,))
        return page

    def test_another_application_s_database_is_left_alone(self):
        self.fill()
        with self.database() as database:
            database.execute("PRAGMA application_id = 1")
        before = self.files()
        for arguments in ([], ["--repair"]):
            self.assertRegex(self.refused(1, "verify", *arguments), re.compile("application id"))
        self.assertEqual(self.files(), before)


if __name__ == "__main__":
    main()
