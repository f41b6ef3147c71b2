# SPDX-License-Identifier: Apache-2.0
"""What the tests of the kiln program share: running it in an environment of its own, a small user
template, and a temporary directory that stays where a test failed."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["KILN_PROGRAM"]
COMMANDS = ("warm", "check", "bench", "ls", "show", "prune", "export", "import", "pin", "unpin", "templates", "models",
            "verify", "stats", "doctor")
# Where libraries are found, and how sanitizers behave, is not for a test to change.
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "KILN_NVRTC", "ASAN_OPTIONS", "LSAN_OPTIONS",
                  "UBSAN_OPTIONS", "TSAN_OPTIONS")
LAYERNORM = "layernorm_modulate:hidden=6144"
TIMEOUT_S = 120

AXPY_MANIFEST = {
    "schema": 1,
    "name": "axpy",
    "description": "y += a * x",
    "source": "axpy.cuh",
    "entry": "axpy",
    "instantiation": ["block"],
    "parameters": [{
        "name": "block", "type": "integer", "min": 32, "max": 1024, "multiple_of": 32,
        "default": 256, "description": "threads of a block"
    }],
    "arguments": [
        {"name": "x", "type": "pointer", "dtype": "f32", "description": "[count]"},
        {"name": "y", "type": "pointer", "dtype": "f32", "output": True,
         "description": "[count]"},
        {"name": "a", "type": "float32", "description": "factor"},
        {"name": "count", "type": "int32", "min": 1, "description": "elements"},
    ],
    "launch": {"block": "block", "grid": [{"over": "count", "per_block": "block"}]},
}
AXPY_SOURCE = """
template <int block>
__global__ void __launch_bounds__(block) axpy(const float* x, float* y, float a, int count) {
  const int i = blockIdx.x * block + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}
"""


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def kept_environment():
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


def write_template(directory, name="axpy", text=AXPY_SOURCE, **changes):
    """A user template in `directory`: axpy with another name, source text or manifest members."""
    directory.mkdir(exist_ok=True)
    manifest = {**AXPY_MANIFEST, "name": name, "source": f"{name}.cuh", **changes}
    (directory / f"{name}.json").write_text(json.dumps(manifest))
    (directory / f"{name}.cuh").write_text(text)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="kiln-cli-"))
        self.addCleanup(self._remove_unless_failed)
        self.cache = self.directory / "cache"
        self.templates = self.directory / "templates"
        self.environment = {
            **kept_environment(),
            "HOME": str(self.directory / "home"),
            "KILN_CACHE_DIR": str(self.cache),
        }

    def _remove_unless_failed(self):
        if not self._outcome.success:
            print(f"kept: {self.directory}", file=sys.stderr)
            return
        shutil.rmtree(self.directory, ignore_errors=True)

    def use_axpy(self):
        write_template(self.templates)
        self.environment["KILN_TEMPLATE_PATH"] = str(self.templates)

    def kiln(self, *arguments, code=0, environment=None, **options):
        """Runs the program, checks its exit code, and returns the finished process."""
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8", timeout=TIMEOUT_S,
            env=self.environment if environment is None else environment, check=False, **options)
        self.assertEqual(done.returncode, code,
                         f"{arguments}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def json(self, *arguments, **options):
        """The object that the program prints with --json."""
        answer = json.loads(self.kiln(*arguments, "--json", **options).stdout)
        self.assertEqual(answer["schema"], 1)
        return answer

    def refused(self, code, *arguments, **options):
        """The message of a failure, which leaves standard output empty."""
        done = self.kiln(*arguments, code=code, **options)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("kiln: "), done.stderr)
        return done.stderr

    def warm(self, *arguments, **options):
        return self.json("warm", "--target", "sm_90a", *arguments, **options)

    def entries(self, *arguments):
        return self.json("ls", *arguments)["entries"]

    def warnings(self, done):
        return [line for line in done.stderr.splitlines() if line.startswith("kiln: warning: ")]

    @contextlib.contextmanager
    def database(self):
        """The cache's database, for looking and for damaging."""
        [path] = self.cache.glob("store-v*.db")
        connection = sqlite3.connect(path)
        try:
            yield connection
            connection.commit()
        finally:
            connection.close()


def main():
    unittest.main(verbosity=1)
