# SPDX-License-Identifier: Apache-2.0
"""Many kiln processes on one cache: one compile for each request, however many ask, and no wait
that a killed or a stopped builder could make endless."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys

from kiln_cli import PROGRAM, TIMEOUT_S, CliTest, main

AXPY_BLOCKS = [f"axpy:block={32 * (i + 1)}" for i in range(8)]
# Takes every lock of a file, says so, and keeps it.
HOLDER = """
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("held", flush=True)
time.sleep(600)
"""


class Processes(CliTest):
    def setUp(self):
        super().setUp()
        self.use_axpy()

    def start(self, *specs):
        return subprocess.Popen(
            [PROGRAM, "warm", "--target", "sm_90a", "--json", *specs], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment)

    def reports(self, processes):
        reports = []
        for process in processes:
            out, err = process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(process.returncode, 0, err)
            reports.append(json.loads(out))
        return reports

    def hold_all(self, lock):
        """A process that holds all locks of a file."""
        self.cache.mkdir(mode=0o700, exist_ok=True)
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(self.cache / lock)],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "held\n")
        return holder

    def total(self, reports, member):
        return sum(report[member] for report in reports)

    def test_16_processes_start_cold_on_one_key(self):
        reports = self.reports([self.start(AXPY_BLOCKS[0]) for _ in range(16)])
        self.assertEqual(self.total(reports, "compiled"), 1)
        self.assertEqual(self.total(reports, "cached"), 15)
        stats = self.json("stats")
        self.assertEqual((stats["compiles"], stats["misses"], stats["lock_timeouts"]), (1, 1, 0))
        self.assertLessEqual(stats["process_waits"], 15)
        self.assertEqual(stats["process_waits"] > 0, stats["process_wait_us"] > 0)

    def test_processes_with_a_list_share_it(self):
        reports = self.reports([self.start(*AXPY_BLOCKS) for _ in range(6)])
        self.assertEqual(self.total(reports, "compiled"), len(AXPY_BLOCKS))
        self.assertEqual(self.total(reports, "cached"), 5 * len(AXPY_BLOCKS))
        self.assertEqual(self.json("stats")["compiles"], len(AXPY_BLOCKS))

    def warm_behind(self, lock):
        """Statistics of a warm-up that began while all locks were held, and went on when their
        holder was killed."""
        holder = self.hold_all(lock)
        waiting = self.start(AXPY_BLOCKS[0])
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(timeout=0.5)
        holder.send_signal(signal.SIGKILL)
        [report] = self.reports([waiting])
        self.assertEqual(report["compiled"], 1)
        stats = self.json("stats")
        self.assertEqual((stats["process_waits"], stats["lock_timeouts"]), (1, 0))
        return stats

    def test_a_killed_builder_is_followed(self):
        self.assertGreater(self.warm_behind("builds.lock")["process_wait_us"], 100_000)

    def test_a_stopped_builder_is_waited_for_and_then_passed(self):
        holder = self.hold_all("builds.lock")
        holder.send_signal(signal.SIGSTOP)
        self.environment["KILN_LOCK_TIMEOUT_MS"] = "200"
        done = self.kiln("warm", "--target", "sm_90a", AXPY_BLOCKS[0])
        self.assertEqual(len(self.warnings(done)), 1, done.stderr)
        self.assertIn("200 ms", done.stderr)
        stats = self.json("stats")
        self.assertEqual((stats["compiles"], stats["process_waits"], stats["lock_timeouts"]),
                         (1, 1, 1))
        # What is stored needs nobody's turn.
        self.assertEqual(self.warm(AXPY_BLOCKS[0])["cached"], 1)

    def test_a_process_waits_for_a_seat(self):
        self.assertGreater(self.warm_behind("seats.lock")["process_wait_us"], 100_000)

    def test_what_others_build_is_found_without_a_seat(self):
        self.hold_all("seats.lock")
        waiting = self.start(*AXPY_BLOCKS[:2])
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(timeout=0.5)
        self.environment["KILN_LOCK_TIMEOUT_MS"] = "0"
        self.warm(*AXPY_BLOCKS[:2])
        [report] = self.reports([waiting])
        self.assertEqual((report["compiled"], report["cached"]), (0, 2))

    def test_no_seat_for_too_long_is_passed(self):
        self.hold_all("seats.lock")
        self.environment["KILN_LOCK_TIMEOUT_MS"] = "200"
        done = self.kiln("warm", "--target", "sm_90a", AXPY_BLOCKS[0])
        [warning] = self.warnings(done)
        self.assertIn("every CPU", warning)
        self.assertEqual(self.json("stats")["lock_timeouts"], 1)

    def test_a_timeout_of_0_does_not_wait(self):
        self.hold_all("builds.lock")
        self.environment["KILN_LOCK_TIMEOUT_MS"] = "0"
        self.assertEqual(self.warm(*AXPY_BLOCKS[:3])["compiled"], 3)
        self.assertEqual(self.json("stats")["lock_timeouts"], 3)

    def test_seats_that_do_not_work_cost_nothing(self):
        (self.cache / "seats.lock").mkdir(parents=True)
        self.cache.chmod(0o700)
        done = self.kiln("warm", "--target", "sm_90a", "--json", *AXPY_BLOCKS[:3])
        self.assertEqual(json.loads(done.stdout)["stored"], 3)
        self.assertEqual(self.warnings(done), [])

    def test_locks_that_do_not_work_cost_a_warning(self):
        (self.cache / "builds.lock").mkdir(parents=True)
        self.cache.chmod(0o700)
        done = self.kiln("warm", "--target", "sm_90a", "--json", *AXPY_BLOCKS[:3])
        report = json.loads(done.stdout)
        self.assertEqual((report["compiled"], report["stored"]), (3, 3))
        [warning] = self.warnings(done)
        self.assertIn("builds.lock", warning)

    def test_a_lock_is_private_and_nothing_is_written_to_it(self):
        self.warm(AXPY_BLOCKS[0])
        status = (self.cache / "builds.lock").stat()
        self.assertEqual((status.st_mode & 0o777, status.st_size), (0o600, 0))
        with open(self.cache / "builds.lock", "r+b") as file:
            whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, whole)


if __name__ == "__main__":
    main()
