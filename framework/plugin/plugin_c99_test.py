"""The plugin headers stand alone, in every language they are written for."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path.cwd()
C_FLAGS = ["-pedantic", "-Wall", "-Wextra", "-Wpadded", "-Wundef", "-Werror", "-fsyntax-only"]
CPP_FLAGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
# Uses what plugin.h gives as macros, which compile only where they are used.
USER = """
#include "framework/plugin/plugin.h"
MS_PLUGIN_NOTE("user", "", 0, MS_CPU_AVX2, MS_PLUGIN_KERNELS_ONLY);
int Knows(const MS_KernelDef* kernel);
int Knows(const MS_KernelDef* kernel) { return MS_HAS(kernel, specialize) ? 1 : 0; }
"""


def compile_text(text: str, command: list[str], folder: pathlib.Path, suffix: str) -> None:
    source = folder / f"user{suffix}"
    source.write_text(text, encoding="utf-8")
    result = subprocess.run(
        [*command, f"-I{ROOT}", str(source)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("options", [["-std=c99"], ["-std=c11"], ["-std=c99", "-fshort-enums"]])
def test_the_c_header_is_plain_c(compiler: str, options: list[str], tmp_path: pathlib.Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    compile_text(USER, [compiler, *options, *C_FLAGS], tmp_path, ".c")


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_the_c_header_is_cpp_too(standard: str, tmp_path: pathlib.Path) -> None:
    compile_text(USER, ["g++", f"-std={standard}", *C_FLAGS], tmp_path, ".cc")


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_cpp_headers_are_pedantic_cpp(
    compiler: str, standard: str, tmp_path: pathlib.Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    text = """
#include "framework/plugin/host_device.hpp"
#include "framework/plugin/plugin_entry.hpp"
MS_PLUGIN_NOTE("user", "", 0, 0, MS_PLUGIN_KERNELS_ONLY);
struct User : ms::PluginDefaults {};
MS_PLUGIN_DEFINE(User);
"""
    compile_text(text, [compiler, f"-std={standard}", *CPP_FLAGS], tmp_path, ".cc")


def test_the_c_header_includes_two_standard_headers_alone() -> None:
    text = (ROOT / "framework/plugin/plugin.h").read_text(encoding="utf-8")
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    assert includes == ["#include <stddef.h>", "#include <stdint.h>"]
