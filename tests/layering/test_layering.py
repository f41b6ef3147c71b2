#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the source tree that no compiler checks: who may include whom, and who may not print,
read the environment or include a header."""

import pathlib
import re
import sys
import unittest

LAYERS = ["support", "templates", "jit", "cache", "runtime", "runtime/capi", "tools"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ROOT = pathlib.Path(__file__).resolve().parents[2]


def layer_of(path):
    """The deepest layer that a path (relative, with '/') lies in, or None."""
    inside = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(inside, key=len) if inside else None


def forbidden_includes(path, text):
    """Includes of `text`, a file at `path`, that go against the order."""
    own = layer_of(path)
    found = []
    for _, name in INCLUDE.findall(text):
        other = layer_of(name)
        if other is not None and LAYERS.index(other) > LAYERS.index(own):
            found.append(name)
        if name.startswith("kiln/") and name != "kiln/version.h" and own not in (
                "runtime/capi", "tools"):
            found.append(name)
    return found


def sources(root):
    for layer in LAYERS[:5] + LAYERS[6:]:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(root).as_posix(), path.read_text()


def code_of(text):
    return COMMENT.sub("", text)


class Layering(unittest.TestCase):
    def test_the_rule_sees_an_include_against_the_order(self):
        self.assertEqual(forbidden_includes("jit/key.cpp", '#include "cache/store.h"\n'),
                         ["cache/store.h"])
        self.assertEqual(forbidden_includes("runtime/launch.cpp",
                                            '#include "runtime/capi/handles.h"\n'),
                         ["runtime/capi/handles.h"])
        self.assertEqual(forbidden_includes("cache/store.cpp", '#include "kiln/kernel.h"\n'),
                         ["kiln/kernel.h"])
        self.assertEqual(forbidden_includes("cache/store.cpp", '#include "jit/key.h"\n'), [])

    def test_includes_go_to_the_left_only(self):
        count = 0
        for path, text in sources(ROOT):
            count += 1
            self.assertEqual(forbidden_includes(path, text), [], path)
        self.assertGreater(count, 50)

    def test_only_one_file_reads_the_environment(self):
        readers = [path for path, text in sources(ROOT) if re.search(r"\bgetenv\b", code_of(text))]
        self.assertEqual(readers, ["support/environment.cpp"])

    def test_the_library_prints_nothing(self):
        printing = re.compile(r"\b(std::c(out|err|log)|f?printf|fmt::print|puts|perror)\b")
        for path, text in sources(ROOT):
            if not path.startswith("tools/"):
                self.assertIsNone(printing.search(code_of(text)), path)

    def test_one_file_hashes_and_one_signs(self):
        users = [path for path, text in sources(ROOT) if "<openssl/" in code_of(text)]
        self.assertEqual(users, ["support/digest.h", "support/signature.cpp", "support/signature.h"])

    def test_the_library_throws_nothing_and_spawns_nothing(self):
        banned = re.compile(r"\bthrow\b|\b(system|popen|fork|execv[pe]*|posix_spawnp?|umask|"
                            r"setlocale|sigaction)\s*\(")
        for path, text in sources(ROOT):
            if not path.startswith("tools/"):
                match = banned.search(code_of(text))
                self.assertIsNone(match, f"{path}: {match and match.group()}")

    def test_kernels_include_only_the_prelude(self):
        # And references what they share: nothing that they are there to check.
        kernels = ROOT / "templates/kernels"
        shared = {"kiln/ptx.cuh", "kiln/types.cuh", "kiln/qkv_types.cuh", "reference/scalar.cuh"}
        for path in sorted(kernels.rglob("*.cuh")):
            is_reference = path.is_relative_to(kernels / "reference")
            for quote, name in INCLUDE.findall(path.read_text()):
                self.assertEqual(quote, '"', path)
                allowed = name in shared if is_reference else name.startswith("kiln/")
                self.assertTrue(allowed, f"{path}: {name}")

    def test_files_stay_short(self):
        for path, text in sources(ROOT):
            self.assertLessEqual(text.count("\n"), 300, path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
