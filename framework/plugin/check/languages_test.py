"""Plugins of other compilers, standard libraries and languages pass the kit in a host of GCC's.

Numbers 1 to 4 of the ABI's checklist (docs/plugin_check.md), with the header of today.
"""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

CHECK = "framework/plugin/check/millstream_plugin_check"
REFERENCE = "device_plugins/cpu/libmillstream_cpu.so"
TESTING = pathlib.Path("framework/plugin/check/testing")
CPP = [
    str(TESTING / f"broken_{part}.cc")
    for part in ("dlpack", "execution", "kernels", "ops", "plugin", "profiler")
]
PLAIN_C = [str(TESTING / "plain_c_plugin.c")]
COMMON = [
    "-I.",
    "-O1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wl,--version-script=tools/plugin_exports.lds",
    "-Wl,-z,defs",
    "-Wl,--exclude-libs,ALL",
]
LLVM = pathlib.Path("/usr/lib/llvm-14/lib")

# By name: the compiler with its options, the sources, libraries behind them, and a library that the
# result must (if any) and must not need.
PLUGINS = {
    "clang with libc++": (
        ["clang++-14", "-std=c++17", "-stdlib=libc++"],
        CPP,
        ["-lpthread"],
        ("libc++.so.1", "libstdc++"),
    ),
    "clang with libc++ inside": (
        ["clang++-14", "-std=c++17", "-stdlib=libc++", "-nostdlib++"],
        CPP,
        [str(LLVM / "libc++.a"), str(LLVM / "libc++abi.a"), "-lpthread"],
        ("libc.so.6", "++"),
    ),
    "clang with libstdc++": (
        ["clang++-14", "-std=c++17"],
        CPP,
        ["-lpthread"],
        ("libstdc++.so.6", "libc++"),
    ),
    "gcc with libstdc++ inside": (
        ["g++", "-std=c++17", "-static-libstdc++", "-static-libgcc", "-fno-gnu-unique"],
        CPP,
        ["-lpthread"],
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


def test_symbols_that_are_not_hidden_are_found(tmp_path: pathlib.Path) -> None:
    plugin = tmp_path / "open.so"
    subprocess.run(
        ["g++", "-std=c++17", "-I.", "-fPIC", "-shared", *CPP, "-o", str(plugin)], check=True
    )
    checked = subprocess.run(
        [CHECK, "--json", "--suite", "load", str(plugin)], stdout=subprocess.PIPE, check=False
    )
    rules = {rule["id"]: rule for rule in json.loads(checked.stdout)["rules"]}
    assert rules["LOAD-SYMBOLS"]["result"] == "FAIL"
    assert "it exports _Z" in rules["LOAD-SYMBOLS"]["detail"]


@pytest.mark.parametrize("name", PLUGINS)
def test_the_plugin_passes_the_kit(name: str, tmp_path: pathlib.Path) -> None:
    compiler, sources, libraries, (needed, not_needed) = PLUGINS[name]
    plugin = tmp_path / "plugin.so"
    built = subprocess.run(
        [*compiler, *COMMON, *sources, "-o", str(plugin), *libraries],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
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
