"""The plugin headers stand alone, in every language they are written for."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path.cwd()
C_FLAGS = ["-pedantic", "-Wall", "-Wextra", "-Wpadded", "-Wundef", "-Werror", "-fsyntax-only"]
CPP_FLAGS = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
# Uses what the headers give as macros, which compile only where they are used.
USER = """
#include "framework/plugin/kernel_extensions.h"
#include "framework/plugin/plugin.h"
MS_PLUGIN_NOTE("user", "", 0, MS_CPU_AVX2, MS_PLUGIN_KERNELS_ONLY);
int Knows(const MS_KernelDef* kernel);
int Knows(const MS_KernelDef* kernel) { return MS_HAS(kernel, specialize) ? 1 : 0; }
int CanDefer(const MS_CtxApi* ctx);
int CanDefer(const MS_CtxApi* ctx) { return MS_HAS(ctx, defer_release) ? 1 : 0; }
void Bound(MS_KernelDef* kernel);
void Bound(MS_KernelDef* kernel) {
  static const MS_Ext bounded = {{sizeof(MS_Ext), 0, NULL}, MS_EXT_BOUNDED_UPDATE};
  kernel->head.ext = &bounded;
}
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


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ([], "MS_BUILT_MINOR == MS_ABI_MINOR && MS_TARGET_MINOR == MS_ABI_MINOR"),
        ([], "MS_SINCE(MS_ABI_MINOR) && !MS_SINCE(MS_ABI_MINOR + 1)"),
        (["-DMS_TARGET_MINOR=0"], "MS_BUILT_MINOR == 0 && MS_SINCE(0) && !MS_SINCE(1)"),
        (["-DMS_TARGET_MINOR=0", "-DMS_BUILT_MINOR=MS_ABI_MINOR"], "MS_SINCE(MS_ABI_MINOR)"),
    ],
)
def test_a_plugin_sees_what_its_target_or_it_itself_says(
    options: list[str], condition: str, tmp_path: pathlib.Path
) -> None:
    text = f"""
#include "framework/plugin/plugin.h"
MS_PLUGIN_NOTE("user", "", 0, 0, MS_PLUGIN_KERNELS_ONLY);
int main(void) {{
  return ms_plugin_note.description.built_minor == MS_BUILT_MINOR &&
         ms_plugin_note.description.min_host_minor == MS_TARGET_MINOR && ({condition}) ? 0 : 1;
}}
"""
    source = tmp_path / "sees.c"
    source.write_text(text, encoding="utf-8")
    program = tmp_path / "sees"
    subprocess.run(
        ["gcc", "-std=c99", *options, f"-I{ROOT}", str(source), "-o", str(program)], check=True
    )
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ["-DMS_TARGET_MINOR=MS_ABI_MINOR+1"],
        ["-DMS_BUILT_MINOR=MS_ABI_MINOR+1"],
        ["-DMS_TARGET_MINOR=1", "-DMS_BUILT_MINOR=0"],
    ],
)
def test_minors_that_cannot_be_are_refused(options: list[str], tmp_path: pathlib.Path) -> None:
    source = tmp_path / "user.c"
    source.write_text('#include "framework/plugin/plugin.h"\n', encoding="utf-8")
    command = ["gcc", "-fsyntax-only", *options, f"-I{ROOT}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "MS_TARGET_MINOR <= MS_BUILT_MINOR <= MS_ABI_MINOR must hold" in result.stderr


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
#include "framework/plugin/option_schema.hpp"
#include "framework/plugin/plugin_device.hpp"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/plugin_execution.hpp"
#include "framework/plugin/plugin_ops.hpp"
#include "framework/plugin/plugin_resource.hpp"
#include "framework/plugin/plugin_tensor.hpp"
MS_PLUGIN_NOTE("user", "", 0, 0, MS_PLUGIN_KERNELS_ONLY);
struct User : ms::PluginDefaults {};
MS_PLUGIN_DEFINE(User);
"""
    compile_text(text, [compiler, f"-std={standard}", *CPP_FLAGS], tmp_path, ".cc")


def test_the_c_header_includes_two_standard_headers_alone() -> None:
    text = (ROOT / "framework/plugin/plugin.h").read_text(encoding="utf-8")
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    assert includes == ["#include <stddef.h>", "#include <stdint.h>"]
