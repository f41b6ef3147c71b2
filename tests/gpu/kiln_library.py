# SPDX-License-Identifier: Apache-2.0
"""Kiln's C API by ctypes, with arguments by name: the order and the types come from what
`kiln templates NAME --json` prints."""

import ctypes
import functools
import json
import subprocess

MEMORY_ONLY = 1  # KILN_CONTEXT_MEMORY_ONLY
OK = 0
KINDS = {"pointer": 0, "int32": 1, "int64": 2, "float32": 3}  # KILN_ARGUMENT_…


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("cache_dir", ctypes.c_char_p),
                ("flags", ctypes.c_uint32), ("most_compiles", ctypes.c_int32)]


class KernelSpec(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("text", ctypes.c_char_p),
                ("target", ctypes.c_char_p), ("device", ctypes.c_int32), ("limit", ctypes.c_int32)]


class Value(ctypes.Union):
    _fields_ = [("pointer", ctypes.c_void_p), ("int32", ctypes.c_int32),
                ("int64", ctypes.c_int64), ("float32", ctypes.c_float)]


class Argument(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("reserved", ctypes.c_int32), ("value", Value)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("grid", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("shared_bytes", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("stream", ctypes.c_void_p)]


class KilnError(Exception):
    pass


class Library:
    """One context. Threads may acquire and launch at the same time."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        declared = {
            "kiln_status_name": (ctypes.c_char_p, [ctypes.c_int32]),
            "kiln_last_error_message": (ctypes.c_char_p, []),
            "kiln_last_error_detail": (ctypes.c_char_p, []),
            "kiln_build_info": (ctypes.c_char_p, []),
            "kiln_context_open": (ctypes.c_int32, [ctypes.POINTER(ContextOptions),
                                                   ctypes.POINTER(ctypes.c_void_p)]),
            "kiln_context_close": (None, [ctypes.c_void_p]),
            "kiln_kernel_acquire": (ctypes.c_int32, [ctypes.c_void_p, ctypes.POINTER(KernelSpec),
                                                     ctypes.POINTER(ctypes.c_void_p)]),
            "kiln_kernel_launch": (ctypes.c_int32, [ctypes.c_void_p, ctypes.POINTER(LaunchConfig),
                                                    ctypes.POINTER(Argument), ctypes.c_size_t]),
        }
        for name, (result, arguments) in declared.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), flags=MEMORY_ONLY)
        self.context = ctypes.c_void_p()
        self.check(self.library.kiln_context_open(options, self.context), "open")

    def close(self):
        self.library.kiln_context_close(self.context)

    def build_info(self):
        return self.library.kiln_build_info().decode()

    def check(self, status, what):
        if status == OK:
            return
        name = self.library.kiln_status_name(status).decode()
        message = self.library.kiln_last_error_message().decode()
        detail = self.library.kiln_last_error_detail().decode()
        raise KilnError(f"{what}: {name}: {message}" + (f"\n{detail}" if detail else ""))

    def acquire(self, text, device=0, target=None):
        """A handle that lives as long as the process."""
        spec = KernelSpec(struct_size=ctypes.sizeof(KernelSpec), text=text.encode(),
                          target=target and target.encode(), device=device)
        kernel = ctypes.c_void_p()
        self.check(self.library.kiln_kernel_acquire(self.context, spec, kernel), text)
        return kernel

    def launch(self, kernel, arguments, stream):
        config = LaunchConfig(struct_size=ctypes.sizeof(LaunchConfig), stream=stream)
        array = (Argument * len(arguments))(*arguments)
        self.check(self.library.kiln_kernel_launch(kernel, config, array, len(arguments)), "launch")


def make_argument(kind, value):
    argument = Argument(type=KINDS[kind])
    setattr(argument.value, kind, value)
    return argument


class Template:
    """A template's manifest, as far as a caller needs it."""

    def __init__(self, description):
        self.name = description["name"]
        self.parameters = {entry["name"]: entry for entry in description["parameters"]}
        self.arguments = description["arguments"]

    def values(self, parameter):
        """The values that a choice, a set or a list of integers allows."""
        return self.parameters[parameter]["values"]

    def spec(self, parameters):
        """Text for acquire(). A set is a tuple; a value of None is left to the default."""
        given = {name: value for name, value in parameters.items() if value is not None}
        self.refuse_unknown(given, self.parameters, "parameter")
        return f"{self.name}:" + ",".join(f"{n}={text_of(v)}" for n, v in given.items())

    def array(self, values):
        """All arguments in order, pointers as tensors. Only pointers may be left out: they are
        null, which Kiln refuses where the variant uses them."""
        self.refuse_unknown(values, {entry["name"] for entry in self.arguments}, "argument")
        array = []
        for entry in self.arguments:
            name, kind = entry["name"], entry["kind"]
            value = values.get(name)
            if value is None and kind != "pointer":
                raise KilnError(f"{self.name}: argument \"{name}\" ({kind}) is not given")
            if kind == "pointer" and value is not None:
                value = value.data_ptr()
            array.append(make_argument(kind, value))
        return array

    def refuse_unknown(self, given, known, what):
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise KilnError(f"{self.name} has no {what} {', '.join(unknown)}; "
                            f"known: {', '.join(sorted(known))}")

    def widest_vector(self, *elements):
        """The widest access for which all of these offsets and strides, in elements, are
        multiples."""
        widths = [int(width) for width in self.values("vector")]
        return max(width for width in widths if all(n % width == 0 for n in elements))


def text_of(value):
    if isinstance(value, tuple):
        return "+".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Catalog:
    """Templates by name, from the kiln program."""

    def __init__(self, program):
        self.program = program

    @functools.cache
    def __getitem__(self, name):
        run = subprocess.run([str(self.program), "templates", name, "--json"],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise KilnError(f"kiln templates {name}: {run.stderr.strip()}")
        [description] = json.loads(run.stdout)["templates"]
        return Template(description)
