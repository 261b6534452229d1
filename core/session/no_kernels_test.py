"""The runtime holds no numeric kernel and links no library of kernels: backends are plugins."""

import pathlib
import re
import subprocess

# A statically linked program that holds the whole runtime.
RUNTIME = pathlib.Path("core/session/session_test")


def tool(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_runtime_links_no_library_of_kernels() -> None:
    dynamic = tool("readelf", "--dynamic", "--wide", RUNTIME)
    libraries = re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic)
    assert any("libstdc++" in library for library in libraries)
    assert [name for name in libraries if re.search("dnnl|gomp|blas|millstream_cpu", name)] == []


def test_the_runtime_defines_and_needs_no_kernel() -> None:
    symbols = tool("nm", "--demangle", RUNTIME)
    assert "millstream::Session::Create" in symbols
    assert "millstream::ExecutePlan" in symbols
    kernel = re.compile(r"millstream::kernels|dnnl|Eigen::")
    assert [line for line in symbols.splitlines() if kernel.search(line)] == []
