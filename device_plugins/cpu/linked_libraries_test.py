"""The plugin is linked with what its usual kernels call, and with no other library.

What reads files of images, and what matches regular expressions, is opened by the first kernel that
needs it.
"""

from __future__ import annotations

import re
import subprocess

PLUGIN = "device_plugins/cpu/libmillstream_cpu.so"
# oneDNN, its team of threads, and those of the compiler and the C library.
LINKED = r"lib(dnnl|gomp|stdc\+\+|m|gcc_s|c|dl|pthread)\.so\.\d+|ld-linux-x86-64\.so\.2"


def test_other_libraries_are_not_linked() -> None:
    dynamic = subprocess.run(
        ["readelf", "--dynamic", "--wide", PLUGIN], capture_output=True, text=True, check=True
    ).stdout
    libraries = re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic)
    assert "libdnnl.so.2" in libraries
    assert [library for library in libraries if not re.fullmatch(LINKED, library)] == []
