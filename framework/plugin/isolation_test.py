"""Backends need the plugin headers alone, and the host needs no backend.

The files here are the own sources of the plugins ``cpu`` and ``sim``, all of them and nothing else
(``plugin_sources``).
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path.cwd()
PLUGIN_HEADERS = {
    "framework/plugin/host_device.hpp",
    "framework/plugin/kernel_extensions.h",
    "framework/plugin/option_schema.hpp",
    "framework/plugin/plugin.h",
    "framework/plugin/plugin.hpp",
    "framework/plugin/plugin_bind.hpp",
    "framework/plugin/plugin_device.hpp",
    "framework/plugin/plugin_entry.hpp",
    "framework/plugin/plugin_execution.hpp",
    "framework/plugin/plugin_ops.hpp",
    "framework/plugin/plugin_resource.hpp",
    "framework/plugin/plugin_status.hpp",
    "framework/plugin/plugin_tensor.hpp",
}
BACKEND_FOLDERS = ("device_plugins/", "kernels/")
PLUGIN = ROOT / "device_plugins/cpu/libmillstream_cpu.so"
# A statically linked program that holds the whole host side of the plugin ABI.
HOST = ROOT / "framework/plugin/loader_test"


def plugin_sources() -> list[str]:
    """Paths from the root, sorted."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for folder in ("core", "device_plugins", "framework", "kernels")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".c", ".cc", ".h", ".hpp"}
    )


def tool(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of the sources: links would lead an include back into the whole repository."""
    folder = tmp_path_factory.mktemp("tree")
    for name in plugin_sources():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def test_the_plugin_is_made_of_kernels_and_the_plugin_headers() -> None:
    sources = plugin_sources()
    assert any(name.startswith("kernels/") for name in sources)
    others = {name for name in sources if not name.startswith(BACKEND_FOLDERS)}
    assert others == PLUGIN_HEADERS


def test_kernels_and_the_plugin_include_the_plugin_headers_alone(tree: pathlib.Path) -> None:
    names = [name for name in plugin_sources() if name.endswith((".c", ".cc"))]
    assert "device_plugins/cpu/cpu_plugin.cc" in names

    # The build compiles them. What it might find elsewhere, the preprocessor misses here.
    def preprocess(name: str) -> str:
        command = ["g++", "-std=c++17", "-M", "-MF", os.devnull, f"-I{tree}", str(tree / name)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = dict(zip(names, pool.map(preprocess, names), strict=True))
    assert {name: error for name, error in errors.items() if error} == {}


def test_the_plugin_exports_its_entry_point_alone() -> None:
    exported = tool("nm", "--dynamic", "--defined-only", "--format=posix", PLUGIN)
    assert [line.split()[0] for line in exported.splitlines()] == ["ms_plugin_entry"]


def test_the_plugin_leaves_no_symbol_to_the_host() -> None:
    undefined = tool("nm", "--dynamic", "--undefined-only", "--demangle", PLUGIN)
    of_host = re.compile(r"\bms_|\bms::|millstream")
    assert [line for line in undefined.splitlines() if of_host.search(line)] == []


def test_the_plugin_carries_its_note_when_stripped(tmp_path: pathlib.Path) -> None:
    stripped = tmp_path / "stripped.so"
    tool("strip", "-o", stripped, PLUGIN)
    notes = tool("readelf", "--notes", "--wide", stripped)
    assert re.search(r"^ +Millstream +0x00000060", notes, re.MULTILINE), notes


def test_the_host_holds_no_kernel_and_no_library_of_kernels() -> None:
    dynamic = tool("readelf", "--dynamic", "--wide", HOST)
    libraries = re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic)
    assert any("libstdc++" in library for library in libraries)
    assert [library for library in libraries if re.search("dnnl|gomp|blas", library)] == []
    symbols = tool("nm", "--demangle", HOST)
    assert "millstream::PluginLoader::Load" in symbols
    of_kernels = re.compile(r"millstream::kernels|dnnl|Eigen::")
    assert [line for line in symbols.splitlines() if of_kernels.search(line)] == []
