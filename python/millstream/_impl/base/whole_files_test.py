"""Files that are replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millstream._impl.base import whole_files


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    for contents in (b"old", b"new and longer", b""):
        whole_files.write_whole(tmp_path / "file", contents)
        assert (tmp_path / "file").read_bytes() == contents
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    whole_files.write_whole(tmp_path / "file", b"old")

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(f"os.{call}", fail)
    with pytest.raises(OSError, match="the disk is full"):
        whole_files.write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none/file"):
        whole_files.write_whole(tmp_path / "none" / "file", b"")
