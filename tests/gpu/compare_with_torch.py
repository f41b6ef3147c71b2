#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Kiln's kernels with PyTorch, every element, bit by bit, on a GPU.

Kiln is called through its C API; the oracles are PyTorch's eager operations and, for div_full, a
Triton kernel (tests/support/torch_oracles.py). The shapes are those of image models at full size,
or with --quick small and odd ones. Exit: 0 all equal, 1 not, or a case could not run, 2 usage.
Needs PyTorch 2.11 or newer with CUDA, Triton, and a GPU with FP8 conversions (sm_89).
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import torch  # noqa: E402

import cat_cases  # noqa: E402
import norm_cases  # noqa: E402
import qkv_cases  # noqa: E402
from comparison import Inputs  # noqa: E402
from kiln_library import Catalog, KilnError, Library  # noqa: E402

MODULES = (norm_cases, cat_cases, qkv_cases)
MOST_CACHED_BYTES = 20 << 30
NOTES = """\
not compared with an oracle: recipe=fp32_through and recipe=fp32_rope (PyTorch has none: compared
with the recipe's definition, operation by operation), out=nvfp4 (likewise)"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "lib" / "libkiln.so")
    parser.add_argument("--kiln", type=pathlib.Path,
                        help="the kiln program; default: ../bin/kiln, from the library")
    parser.add_argument("--quick", action="store_true", help="small and odd shapes")
    parser.add_argument("--filter", default="", metavar="TEXT",
                        help="only cases whose name contains TEXT")
    parser.add_argument("--list", action="store_true", help="print the cases' names and stop")
    options = parser.parse_args()
    if options.kiln is None:
        options.kiln = options.library.parent.parent / "bin" / "kiln"
    return options


def selected(options):
    found = [entry for module in MODULES for entry in module.cases(options.quick)]
    # Two ways to the same case: one run is enough.
    by_name = {entry.name: entry for entry in found if options.filter in entry.name}
    return list(by_name.values())


class Tally:
    def __init__(self):
        self.cases = self.elements = self.mismatches = self.failures = 0

    def fail(self, name, reason):
        self.cases += 1
        self.failures += 1
        print(f"{name}: COULD NOT RUN: {reason}", flush=True)

    def add(self, name, comparisons):
        elements = sum(comparison.elements for comparison in comparisons)
        mismatches = sum(comparison.mismatches for comparison in comparisons)
        self.cases += 1
        self.elements += elements
        self.mismatches += mismatches
        print(f"{name}: {elements} elements, {mismatches} mismatches", flush=True)
        for comparison in comparisons:
            if comparison.mismatches:
                print(f"    {comparison.output}: {comparison.mismatches} of "
                      f"{comparison.elements}; {comparison.text}", flush=True)


def build_cases(entries, catalog, tally):
    cases = []
    for entry in entries:
        try:
            case = entry.case(catalog)
            cases.append((case, case.spec))
        except KilnError as error:
            tally.fail(entry.name, error)
    return cases


def acquire_all(library, specs):
    """Kernels or errors by spec, compiled on all cores."""

    def acquire(spec):
        try:
            return library.acquire(spec)
        except KilnError as error:
            return error

    unique = list(dict.fromkeys(specs))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(zip(unique, pool.map(acquire, unique)))


def compare_once(prepared, launch, suffix=""):
    expected = prepared.expected()
    if set(expected) != set(prepared.outputs):
        raise ValueError(f"outputs are {sorted(prepared.outputs)}, oracles {sorted(expected)}")
    for output in prepared.outputs.values():
        output.remember()
    launch()
    torch.cuda.synchronize()
    return [output.compare(name + suffix, expected[name])
            for name, output in prepared.outputs.items()]


def run(case, kernel, library):
    inputs = Inputs(zlib.crc32(case.name.encode()))
    prepared = case.prepare(inputs)
    array = case.template.array(prepared.arguments)

    def launch():
        library.launch(kernel, array, torch.cuda.current_stream().cuda_stream)

    comparisons = compare_once(prepared, launch)
    if case.replay:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch()
        # Also the input scale: a graph must read it anew.
        inputs.refill()
        comparisons += compare_once(prepared, graph.replay, " (replay)")
    return comparisons


def main():
    options = parse_arguments()
    entries = selected(options)
    if not entries:
        print(f"no case's name contains \"{options.filter}\"", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(entry.name for entry in entries))
        return 0
    torch.set_grad_enabled(False)
    torch.cuda.init()
    library = Library(options.library)
    print(f"{library.build_info()}; torch {torch.__version__}, {torch.cuda.get_device_name()}")
    tally = Tally()
    begin = time.monotonic()
    cases = build_cases(entries, Catalog(options.kiln), tally)
    kernels = acquire_all(library, [spec for _, spec in cases])
    print(f"{len(kernels)} variants in {time.monotonic() - begin:.1f} s", flush=True)
    for case, spec in cases:
        kernel = kernels[spec]
        if isinstance(kernel, KilnError):
            tally.fail(case.name, kernel)
            continue
        try:
            tally.add(case.name, run(case, kernel, library))
        except (KilnError, RuntimeError, ValueError) as error:
            tally.fail(case.name, error)
        if torch.cuda.memory_reserved() > MOST_CACHED_BYTES:
            torch.cuda.empty_cache()
    print(NOTES)
    print(f"{time.monotonic() - begin:.1f} s, at most "
          f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB of device memory")
    failed = f", {tally.failures} could not run" if tally.failures else ""
    print(f"compare_with_torch: {tally.cases} cases, {tally.elements} elements, "
          f"{tally.mismatches} mismatches{failed}")
    library.close()
    return 1 if tally.mismatches or tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
