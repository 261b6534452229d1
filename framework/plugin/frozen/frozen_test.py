"""What was released once goes on working: headers, and plugins that were compiled against them.

Each folder ``vX.Y`` holds ``plugin.h`` and ``layout.golden.txt`` as they were, a plugin's source in
plain C, and that plugin, compiled against this header and stripped.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path.cwd()
FROZEN = ROOT / "framework/plugin/frozen"
RELEASES = sorted(path.name for path in FROZEN.iterdir() if path.is_dir())
CHECK = ROOT / "framework/plugin/check/millstream_plugin_check"
REFERENCE = ROOT / "device_plugins/cpu/libmillstream_cpu.so"
MOST_BYTES = 100 * 1024

PROGRAM = """
import sys
import numpy as np
import millstream as tf
tiny = tf.plugins.load_plugin(sys.argv[1])
values = np.linspace(-3, 3, 7, dtype=np.float32)
x = tf.placeholder(tf.float32, [7])
softsign = tiny.tiny_softsign(x)
assert softsign.shape.as_list() == [7]
y = tf.square(-softsign)
with tf.Session() as session:
    np.testing.assert_array_equal(session.run(y, {x: values}), (values / (1 + abs(values))) ** 2)
    placement = session.explain_placement([y], [x])
for op in ("TinySoftsign", "Neg", "Square"):
    (line,) = [line for line in placement.splitlines() if f"({op})" in line]
    assert "/device:TINY:0" in line, line
"""


def run(*command: str | pathlib.Path) -> str:
    """Standard output of a command that succeeds."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


Layout = tuple[set[str], dict[str, list[str]]]


def read_layout(path: pathlib.Path) -> Layout:
    """Constants and typedefs; and the fields of each struct, after its own line."""
    others: set[str] = set()
    structs: dict[str, list[str]] = {}
    fields: list[str] = []
    for line in path.read_text().splitlines()[1:]:
        if line.startswith("struct "):
            fields = structs.setdefault(line.split()[1], [])
            fields.append(line)
        elif line.startswith(" "):
            fields.append(line)
        else:
            others.add(line)
    return others, structs


def is_growable(fields: list[str]) -> bool:
    return len(fields) > 1 and (" MS_Head head" in fields[1] or " MS_Table head" in fields[1])


def test_there_is_a_release() -> None:
    assert "v1.0" in RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_its_files_never_change(release: str) -> None:
    lines = (FROZEN / release / "SHA256SUMS").read_text().splitlines()
    names = [line.split()[1] for line in lines]
    assert names == ["layout.golden.txt", "libtiny.so", "plugin.h", "tiny_plugin.c"]
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((FROZEN / release / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("release", RELEASES)
def test_the_layout_of_today_only_adds_to_it(release: str) -> None:
    frozen_others, frozen_structs = read_layout(FROZEN / release / "layout.golden.txt")
    others, structs = read_layout(ROOT / "framework/plugin/layout.golden.txt")
    assert frozen_others <= others
    assert len(frozen_structs) > 30
    for name, frozen in frozen_structs.items():
        today = structs[name]
        if is_growable(frozen):
            assert today[1 : len(frozen)] == frozen[1:], name
        else:
            assert today == frozen, name


@pytest.mark.parametrize("release", RELEASES)
def test_its_plugin_is_small_stripped_and_alone(release: str) -> None:
    plugin = FROZEN / release / "libtiny.so"
    assert plugin.stat().st_size <= MOST_BYTES
    assert " .symtab " not in run("readelf", "--sections", "--wide", plugin)
    defined = run("nm", "--dynamic", "--defined-only", "--format=posix", plugin)
    assert [line.split()[0] for line in defined.splitlines()] == ["ms_plugin_entry"]


@pytest.mark.parametrize("release", RELEASES)
def test_its_plugin_still_runs(release: str) -> None:
    run(sys.executable, "-c", PROGRAM, FROZEN / release / "libtiny.so")


@pytest.mark.parametrize("release", RELEASES)
def test_its_plugin_still_passes_the_kit(release: str) -> None:
    plugin = FROZEN / release / "libtiny.so"
    done = subprocess.run(
        [CHECK, "--json", "--rounds", "100", "--reference", REFERENCE, plugin],
        stdout=subprocess.PIPE,
        check=False,
    )
    rules = {rule["id"]: rule for rule in json.loads(done.stdout)["rules"]}
    failures = {name: rule["detail"] for name, rule in rules.items() if rule["result"] == "FAIL"}
    assert (done.returncode, failures) == (0, {})
    assert rules["KERNEL-REFERENCE"]["result"] == "PASS"


@pytest.mark.parametrize("release", RELEASES)
def test_its_source_compiled_today_against_its_header_runs(
    release: str, tmp_path: pathlib.Path
) -> None:
    headers = tmp_path / "include/millstream"
    headers.mkdir(parents=True)
    (headers / "plugin.h").write_bytes((FROZEN / release / "plugin.h").read_bytes())
    plugin = tmp_path / "libtiny.so"
    run(
        *("gcc", "-std=c99", "-pedantic", "-O2", "-fPIC", "-fvisibility=hidden", "-shared"),
        *(f"-I{tmp_path / 'include'}", FROZEN / release / "tiny_plugin.c", "-o", plugin),
    )
    run(sys.executable, "-c", PROGRAM, plugin)
