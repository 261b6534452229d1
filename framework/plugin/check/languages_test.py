"""Plugins of other compilers, standard libraries and languages pass the kit in a host of GCC's.

Numbers 1 to 4 of the ABI's checklist (docs/plugin_check.md), with the header of today.
"""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
from collections.abc import Callable

import pytest

CHECK = "framework/plugin/check/millstream_plugin_check"
REFERENCE = "device_plugins/cpu/libmillstream_cpu.so"
TESTING = pathlib.Path("framework/plugin/check/testing")
CPP = [
    str(TESTING / f"broken_{part}.cc")
    for part in ("dlpack", "execution", "kernels", "ops", "plugin", "profiler")
]
PLAIN_C = [str(TESTING / "plain_c_plugin.c")]
COMPILING = ["-I.", "-O1", "-fPIC", "-fvisibility=hidden", "-c"]
LINKING = [
    "-shared",
    "-Wl,--version-script=tools/plugin_exports.lds",
    "-Wl,-z,defs",
    "-Wl,--exclude-libs,ALL",
]
LLVM = pathlib.Path("/usr/lib/llvm-14/lib")

# By name: the compiler with its options, the sources, what the linker is told besides, and a
# library that the result must (if any) and must not need.
PLUGINS = {
    "clang with libc++": (
        ["clang++-14", "-std=c++17", "-stdlib=libc++"],
        CPP,
        ["-lpthread"],
        ("libc++.so.1", "libstdc++"),
    ),
    "clang with libc++ inside": (
        ["clang++-14", "-std=c++17", "-stdlib=libc++"],
        CPP,
        ["-nostdlib++", str(LLVM / "libc++.a"), str(LLVM / "libc++abi.a"), "-lpthread"],
        ("libc.so.6", "++"),
    ),
    "clang with libstdc++": (
        ["clang++-14", "-std=c++17"],
        CPP,
        ["-lpthread"],
        ("libstdc++.so.6", "libc++"),
    ),
    "gcc with libstdc++ inside": (
        ["g++", "-std=c++17", "-fno-gnu-unique"],
        CPP,
        ["-static-libstdc++", "-static-libgcc", "-lpthread"],
        ("libc.so.6", "++"),
    ),
    "gcc, C++20": (
        ["g++", "-std=c++20", "-fno-gnu-unique"],
        CPP,
        ["-lpthread"],
        ("libstdc++.so.6", "libc++"),
    ),
    "gcc, C99": (
        ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-missing-field-initializers",
         "-Werror"],
        PLAIN_C,
        [],
        ("", "++"),
    ),
    "clang, C99 with short enums": (
        ["clang-14", "-std=c99", "-pedantic", "-fshort-enums"],
        PLAIN_C,
        [],
        ("", "++"),
    ),
}  # fmt: skip


def succeed(command: list[str]) -> None:
    """Run a compiler or linker, which has nothing to say."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def objects_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Compiles sources, once for plugins that differ in how they are linked alone."""

    @functools.cache
    def compiled(compiler: tuple[str, ...], sources: tuple[str, ...]) -> list[str]:
        folder = tmp_path_factory.mktemp("objects")
        objects = []
        for source in sources:
            objects.append(str(folder / pathlib.Path(source).with_suffix(".o").name))
            succeed([*compiler, *COMPILING, source, "-o", objects[-1]])
        return objects

    return compiled


def test_symbols_that_are_not_hidden_are_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / "open.cc").write_text("int Open() { return 1; }\n")
    plain_c, plugin = str(tmp_path / "plain_c.o"), str(tmp_path / "open.so")
    succeed(["gcc", "-std=c99", "-I.", "-fPIC", "-c", *PLAIN_C, "-o", plain_c])
    succeed(["g++", "-fPIC", "-shared", plain_c, str(tmp_path / "open.cc"), "-o", plugin])
    checked = subprocess.run(
        [CHECK, "--json", "--suite", "load", plugin], stdout=subprocess.PIPE, check=False
    )
    rules = {rule["id"]: rule for rule in json.loads(checked.stdout)["rules"]}
    assert rules["LOAD-SYMBOLS"]["result"] == "FAIL"
    assert "it exports _Z4Openv" in rules["LOAD-SYMBOLS"]["detail"]


@pytest.mark.parametrize("name", PLUGINS)
def test_the_plugin_passes_the_kit(
    name: str, tmp_path: pathlib.Path, objects_of: Callable[..., list[str]]
) -> None:
    compiler, sources, linked, (needed, not_needed) = PLUGINS[name]
    plugin = tmp_path / "plugin.so"
    objects = objects_of(tuple(compiler), tuple(sources))
    succeed([*compiler, *LINKING, *objects, "-o", str(plugin), *linked])
    dynamic = subprocess.run(
        ["readelf", "--dynamic", str(plugin)], capture_output=True, text=True, check=True
    ).stdout
    libraries_needed = [line for line in dynamic.splitlines() if "(NEEDED)" in line]
    assert not needed or any(needed in line for line in libraries_needed), dynamic
    assert not any(not_needed in line for line in libraries_needed), dynamic

    checked = subprocess.run(
        [CHECK, "--json", "--rounds", "40", "--reference", REFERENCE, str(plugin)],
        capture_output=True,
        text=True,
        check=False,
    )
    rules = {rule["id"]: rule for rule in json.loads(checked.stdout)["rules"]}
    failures = {key: rule["detail"] for key, rule in rules.items() if rule["result"] == "FAIL"}
    assert (checked.returncode, failures) == (0, {})
    for rule in ("LOAD-REGISTER", "REG-KERNELS", "KERNEL-REFERENCE", "KERNEL-IN-PLACE"):
        assert rules[rule]["result"] == "PASS"
