# SPDX-License-Identifier: Apache-2.0
"""kiln warm where all goes well."""

import os
import pty
import subprocess

from kiln_cli import LAYERNORM, PROGRAM, CliTest, main


class Counts(CliTest):
    def test_the_second_warm_up_finds_everything(self):
        first = self.json("warm", "--model", "flux2-dev", "--target", "sm_90a")
        self.assertGreater(first["requested"], 0)
        self.assertEqual(first["compiled"], first["requested"])
        self.assertEqual(first["stored"], first["requested"])
        self.assertEqual((first["cached"], first["failed"], first["failures"]), (0, 0, []))
        self.assertFalse(first["interrupted"])

        second = self.json("warm", "--model", "flux2-dev", "--target", "sm_90a")
        self.assertEqual(second["cached"], first["requested"])
        self.assertEqual((second["compiled"], second["stored"], second["failed"]), (0, 0, 0))
        self.assertEqual(len(self.entries()), first["requested"])
        stats = self.json("stats")
        self.assertEqual((stats["compiles"], stats["misses"], stats["disk_hits"]),
                         (first["requested"], first["requested"], first["requested"]))

    def test_json_has_the_documented_members(self):
        self.use_axpy()
        self.assertEqual(list(self.warm("axpy")),
                         ["schema", "requested", "compiled", "cached", "stored", "pinned", "failed",
                          "wall_ms", "interrupted", "pack", "statistics", "failures"])

    def test_statistics_are_of_this_run(self):
        self.use_axpy()
        kinds = ("misses", "compiles", "disk_hits")
        first = self.warm("axpy", "axpy:block=64")["statistics"]
        self.assertEqual([first[kind] for kind in kinds], [2, 2, 0])
        second = self.warm("axpy", "axpy:block=128")["statistics"]
        self.assertEqual([second[kind] for kind in kinds], [1, 1, 1])
        self.assertLess(set(second) - {"store_failures", "waits"}, set(self.json("stats")))

    def test_what_means_the_same_is_one_request(self):
        self.use_axpy()
        answer = self.json("warm", "axpy", "axpy:block=256", "axpy:block=0256",
                           "--target", "sm_90a,9.0,90", "--target", "sm_90a")
        self.assertEqual((answer["requested"], answer["compiled"]), (1, 1))

    def test_the_order_of_parameters_does_not_matter(self):
        self.warm(LAYERNORM + ",out=bf16+e4m3,vector=4")
        again = self.warm("layernorm_modulate:vector=4,out=e4m3+bf16,hidden=6144,recipe=aten")
        self.assertEqual((again["requested"], again["compiled"], again["cached"]), (1, 0, 1))

    def test_each_target_has_its_own_entry(self):
        self.use_axpy()
        answer = self.json("warm", "axpy", "--target", "sm_90,sm_90a,sm_100a,sm_100f")
        self.assertEqual(answer["compiled"], 4)
        self.assertEqual({entry["target"] for entry in self.entries()},
                         {"sm_90", "sm_90a", "sm_100a", "sm_100f"})

    def test_shards_are_disjoint_and_complete(self):
        self.use_axpy()
        specs = [f"axpy:block={32 * i}" for i in range(1, 5)]
        keys = []
        for index in (1, 2, 3):
            cache = self.directory / f"shard{index}"
            # Each machine may have the list in its own order.
            listed = specs[index:] + specs[:index]
            answer = self.json("warm", *listed, "--target", "sm_90a,sm_100a", "--shard",
                               f"{index}/3", "--cache-dir", cache)
            found = [entry["key"] for entry in self.entries("--cache-dir", cache)]
            self.assertEqual(len(found), answer["requested"])
            self.assertIn(answer["requested"], (2, 3))
            keys += found
        self.assertEqual((len(keys), len(set(keys))), (8, 8))

    def test_a_shard_may_be_empty(self):
        self.use_axpy()
        answer = self.warm("axpy", "--shard", "2/2")
        self.assertEqual((answer["requested"], answer["failed"]), (0, 0))

    def test_one_job_at_a_time_does_the_same(self):
        self.use_axpy()
        answer = self.warm("axpy", "axpy:block=64", "--jobs", "1")
        self.assertEqual((answer["compiled"], answer["stored"]), (2, 2))


class Output(CliTest):
    def test_is_a_table_and_a_sum_on_standard_output(self):
        self.use_axpy()
        lines = self.kiln("warm", "axpy", "--target", "sm_90a").stdout.splitlines()
        self.assertEqual(lines[0].split()[:3], ["SPEC", "TARGET", "RESULT"])
        self.assertEqual(lines[1].split()[:3], ["axpy:block=256", "sm_90a", "compiled"])
        self.assertRegex(lines[-1],
                         r"\A1 requested: 1 compiled \(1 stored\), 0 cached, 0 failed in ")

    def test_has_one_plain_line_a_variant_on_a_standard_error_that_is_no_terminal(self):
        self.use_axpy()
        lines = self.kiln("warm", "axpy", "axpy:block=64", "--target", "sm_90a").stderr.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["[1/2]", "[2/2]"])
        self.assertTrue(all(line.isprintable() for line in lines))

    def test_draws_a_bar_on_a_terminal_and_removes_it(self):
        self.use_axpy()
        parent, child = pty.openpty()
        done = subprocess.run([PROGRAM, "warm", "axpy", "--target", "sm_90a"],
                              stdout=subprocess.PIPE, stderr=child, env=self.environment,
                              check=False)
        os.close(child)
        shown = os.read(parent, 65536).decode()
        os.close(parent)
        self.assertEqual(done.returncode, 0, shown)
        self.assertIn("] 0/1", shown)
        self.assertIn("] 1/1", shown)
        self.assertIn("remaining", shown)
        self.assertNotIn("compiled", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))
        self.assertNotIn(b"\x1b", done.stdout)


if __name__ == "__main__":
    main()
