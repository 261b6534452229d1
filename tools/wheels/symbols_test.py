"""Renamed symbols are found under their new names, by the loader and by each other."""

from __future__ import annotations

import ctypes
import pathlib
import subprocess

import pytest

from wheels import elf, symbols

COUNT = 200


def build(folder: pathlib.Path) -> pathlib.Path:
    """A library of many functions, each of which calls the one before through the loader."""
    source = folder / "library.c"
    lines = ["int other_start(void) { return 0; }", "int old_0(void) { return other_start(); }"]
    lines += [f"int old_{i}(void) {{ return old_{i - 1}() + 1; }}" for i in range(1, COUNT)]
    lines += ["int (*const old_table[])(void) = {old_1, old_7};"]
    source.write_text("\n".join(lines))
    library = folder / "liblibrary.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O0", "-o", str(library), str(source)], check=True)
    return library


def test_renamed_functions_find_each_other(tmp_path: pathlib.Path) -> None:
    library = build(tmp_path)
    symbols.rename(library, {b"old_": b"new_"})
    names = elf.exported(library)
    assert sum(name.startswith("new_") for name in names) == COUNT + 1
    assert [name for name in names if name.startswith("old_")] == []

    loaded = ctypes.CDLL(str(library))
    for i in (0, 1, COUNT // 2, COUNT - 1):
        assert loaded[f"new_{i}"]() == i
    table = (ctypes.CFUNCTYPE(ctypes.c_int) * 2).in_dll(loaded, "new_table")
    assert [function() for function in table] == [1, 7]
    assert loaded.other_start() == 0
    assert not hasattr(loaded, "old_1")


def test_other_lengths_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="differ in length"):
        symbols.rename(build(tmp_path), {b"old": b"newer"})


def test_what_is_no_library_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "text.so"
    path.write_text("no ELF file at all")
    with pytest.raises(ValueError, match="expected a little-endian ELF file"):
        symbols.rename(path, {})
