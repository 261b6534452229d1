"""Plugins and hosts of different minors: each side goes on with what both know.

The newer headers are made up: ``plugin.h`` of today with additions as minor 1 may have them, and
one of another major. The plugin is the template's in C, with additions that use them.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path.cwd()
HEADER = ROOT / "framework/plugin/plugin.h"
TINY = ROOT / "device_plugins/template/c/tiny_plugin.c"

# What each text of the header becomes in minor 1: a field, a slot, a flag and a dtype are added.
LATER_HEADER = {
    "#define MS_ABI_MINOR 0": "#define MS_ABI_MINOR 1",
    "} MS_KernelDef;": "#if MS_SINCE(1)\n  uint64_t later;\n#endif\n} MS_KernelDef;",
    "} MS_RegistryApi;": "#if MS_SINCE(1)\n"
    "  MS_Status* (*later_register)(MS_Registrar* registrar);\n#endif\n} MS_RegistryApi;",
    "#define MS_KERNEL_DETERMINISTIC 32u": "#define MS_KERNEL_DETERMINISTIC 32u\n"
    "#define MS_KERNEL_LATER 0x10000u\n"
    "#define MS_LATER MS_DTYPE(0xE9u, 8)",
}
# The plugin registers three kernels more, each of which needs something of minor 1, and asks for
# the slot before it uses it.
LATER_PLUGIN = {
    "static MS_Status* RegisterKernel(": "static uint32_t later_flags;\n"
    "static MS_DType later_dtype = MS_FLOAT32;\n"
    "static MS_Status* RegisterKernel(",
    "static const MS_DType dtypes[] = {MS_FLOAT32};": "const MS_DType dtypes[] = {later_dtype};",
    "  kernel.op = Text(op);": "  kernel.op = Text(op);\n  kernel.flags = later_flags;\n"
    "  kernel.later = 77;",
    '  if (status == NULL) status = RegisterKernel(registrar, "Neg", "T", &functions[0]);': "  if "
    '(status == NULL) status = RegisterKernel(registrar, "Neg", "T", &functions[0]);\n'
    "  later_flags = MS_KERNEL_LATER;\n"
    '  if (status == NULL) status = RegisterKernel(registrar, "Abs", "T", &functions[0]);\n'
    "  later_flags = 0;\n"
    "  later_dtype = MS_LATER;\n"
    '  if (status == NULL) status = RegisterKernel(registrar, "Exp", "T", &functions[0]);\n'
    "  later_dtype = MS_FLOAT32;\n"
    '  if (status == NULL) status = RegisterKernel(registrar, "OfLater", "T", &functions[0]);\n'
    "  if (status == NULL && MS_HAS(registry, later_register))\n"
    "    status = registry->later_register(registrar);",
}

PROGRAM = """
import json
import sys
import numpy as np
import millstream as tf
path = sys.argv[1]
try:
    tf.plugins.load_plugin(path)
except tf.errors.OpError as error:
    print(type(error).__name__, error.message)
    sys.exit()
(plugin,) = [one for one in tf.plugins.list_plugins() if one.path == path]
x = tf.placeholder(tf.float32, [3])
y = tf.square(-x)
values = np.array([1, -2, 3], dtype=np.float32)
with tf.Session() as session:
    np.testing.assert_array_equal(session.run(y, {x: values}), values**2)
    placement = session.explain_placement([y], [x])
assert placement.count("/device:TINY:0") >= 2, placement
print(json.dumps([plugin.state, plugin.kernels, plugin.kernels_skipped, *plugin.skipped]))
"""


@dataclasses.dataclass
class Source:
    """The texts of a header and of a plugin."""

    header: str
    plugin: str


def changed(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert text.count(old) == 1, f"{text.count(old)} times in the text: {old}"
        text = text.replace(old, new)
    return text


@pytest.fixture
def today() -> Source:
    return Source(HEADER.read_text(), TINY.read_text())


@pytest.fixture
def later(today: Source) -> Source:
    return Source(changed(today.header, LATER_HEADER), changed(today.plugin, LATER_PLUGIN))


def run(folder: pathlib.Path, source: Source, *defines: str) -> str:
    """Compile the plugin, load it with the host of today, run a step; what that prints."""
    headers = folder / "include/millstream"
    headers.mkdir(parents=True)
    (headers / "plugin.h").write_text(source.header)
    (folder / "tiny.c").write_text(source.plugin)
    plugin = folder / "libtiny.so"
    compiler = ("gcc", "-std=c99", "-O1", "-fPIC", "-fvisibility=hidden", "-shared")
    compiled = [*compiler, *defines, f"-I{folder / 'include'}", str(folder / "tiny.c")]
    printed = ""
    for command in (
        [*compiled, "-o", str(plugin)],
        [sys.executable, "-c", PROGRAM, str(plugin)],
    ):
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        printed = done.stdout
    return printed.strip()


def test_a_plugin_of_today_has_all_its_kernels(today: Source, tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, today) == '["READY", 3, 0]'


def test_a_newer_plugin_loses_what_the_host_does_not_know_and_no_more(
    later: Source, tmp_path: pathlib.Path
) -> None:
    printed = run(tmp_path, later, "-DMS_TARGET_MINOR=0", "-DMS_BUILT_MINOR=1")
    assert printed.startswith('["READY", 3, 3, '), printed
    for reason in (
        "kernel for op Abs on TINY: flags 10000 (bits) are unknown",
        'kernel for op Exp on TINY: attribute \\"T\\": dtype ',
        "kernel for op OfLater on TINY: ",
    ):
        assert reason in printed


def test_one_that_needs_a_newer_host_is_refused(later: Source, tmp_path: pathlib.Path) -> None:
    printed = run(tmp_path, later, "-DMS_TARGET_MINOR=1")
    assert printed.startswith("FailedPreconditionError"), printed
    assert "needs ABI 1.1, host has 1.0" in printed


def test_one_of_another_major_is_refused(today: Source, tmp_path: pathlib.Path) -> None:
    header = changed(today.header, {"#define MS_ABI_MAJOR 1": "#define MS_ABI_MAJOR 2"})
    printed = run(tmp_path, Source(header, today.plugin))
    assert printed.startswith("FailedPreconditionError"), printed
    assert "needs ABI 2.0, host has 1.0" in printed
