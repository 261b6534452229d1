"""Libraries find each other by their new names."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

from wheels import elf, library_names

INNER = "int answer(void) { return 42; }\n"
OUTER = "int answer(void);\nint twice(void) { return 2 * answer(); }\n"
NAMES = {"libinner.so.1": "libinner-0123abcd.so.1", "libother.so": "libother-4567.so"}


@pytest.fixture
def outer(tmp_path: pathlib.Path) -> pathlib.Path:
    """A library that needs a version of another one's symbol, both with new names."""
    (tmp_path / "inner.c").write_text(INNER)
    (tmp_path / "outer.c").write_text(OUTER)
    (tmp_path / "inner.map").write_text("INNER_1.0 { global: answer; local: *; };\n")
    inner = tmp_path / "libinner.so.1"
    outer = tmp_path / "libouter.so"
    compile_library(tmp_path / "inner.c", inner, f"-Wl,--version-script={tmp_path}/inner.map")
    compile_library(tmp_path / "outer.c", outer, str(inner))
    for path in (inner, outer):
        new_soname = NAMES.get(path.name)
        elf.patch(path, renamed=NAMES, run_path="$ORIGIN", new_soname=new_soname)
    inner.rename(tmp_path / NAMES["libinner.so.1"])
    return outer


def compile_library(source: pathlib.Path, library: pathlib.Path, *options: str) -> None:
    command = ["gcc", "-shared", "-fPIC", str(source), *options, f"-Wl,-soname,{library.name}"]
    subprocess.run([*command, "-o", str(library)], check=True)


def test_names_are_changed_wherever_they_stand(outer: pathlib.Path) -> None:
    inner = outer.parent / NAMES["libinner.so.1"]
    assert elf.soname(inner) == inner.name
    assert elf.soname(outer) == "libouter.so"
    assert elf.needed(outer) == [inner.name, "libc.so.6"] or elf.needed(outer) == [inner.name]
    assert elf.run_path(outer) == ["$ORIGIN"]
    versions = subprocess.run(
        ["readelf", "--version-info", "--wide", str(outer)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert inner.name in re.findall(r"File: (\S+)", versions)


def test_the_library_is_loaded_with_the_other(outer: pathlib.Path) -> None:
    program = f"import ctypes; print(ctypes.CDLL({str(outer)!r}).twice())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("84\n", "")


def test_a_name_that_is_not_there_is_an_error(outer: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="is not among the strings"):
        library_names.point_at(outer, "no such run path", {}, None)
    with pytest.raises(ValueError, match=re.escape("'libnew.so' is not in the run path")):
        library_names.point_at(outer, "$ORIGIN", {}, "libnew.so")
