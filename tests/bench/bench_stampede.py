#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_stampede.py KILN [PROCESSES] [RUNS]   Starts processes together on one cold cache, each of
which warms the same 50 variants, and compares their time with that of a single process."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SPECS = [f"layernorm_modulate:hidden={1024 + 128 * i},out=e4m3" for i in range(1, 51)]


def warm_together(program, count):
    """Wall and CPU seconds of `count` processes, and what they report."""
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, KILN_CACHE_DIR=os.path.join(directory, "cache"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        processes = [
            subprocess.Popen([program, "warm", "--target", "sm_90a", "--json", *SPECS],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
            for _ in range(count)]
        reports = [json.loads(process.communicate()[0]) for process in processes]
        wall_s = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s, cpu_s, reports


def main():
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ratios = []
    for _ in range(runs):
        alone_s, alone_cpu_s, _ = warm_together(program, 1)
        wall_s, cpu_s, reports = warm_together(program, count)
        ratios.append(wall_s / alone_s)
        print(f"1 process {alone_s:.2f} s (CPU {alone_cpu_s:.2f} s), {count} processes {wall_s:.2f} s "
              f"(CPU {cpu_s:.2f} s): {ratios[-1]:.2f} times; "
              f"{sum(report['compiled'] for report in reports)} compiles by "
              f"{sum(report['compiled'] > 0 for report in reports)} processes, "
              f"{sum(report['failed'] for report in reports)} failed", flush=True)
    print(f"median {statistics.median(ratios):.2f} times")


if __name__ == "__main__":
    main()
