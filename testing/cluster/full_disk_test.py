"""A training whose checkpoints fill the disk: an error names it, and no checkpoint is lost."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import millstream as tf
from testing.cluster import chaos_round

_SIZE = 1 << 20  # bytes of the disk
_LEFT = 1024  # bytes that a full disk has


def _mount(folder: Path) -> str | None:
    """Put a small disk in memory at the folder. Returns why it cannot be, or None."""
    library = ctypes.CDLL(None, use_errno=True)
    where = os.fsencode(folder)
    if library.mount(b"none", where, b"tmpfs", 0, b"size=%d" % _SIZE) == 0:
        return None
    return os.strerror(ctypes.get_errno())


@pytest.fixture(name="disk")
def _disk(tmp_path: Path) -> Iterator[Path]:
    reason = _mount(tmp_path)
    if reason is not None:
        pytest.skip(f"no file system can be mounted here: {reason}")
    yield tmp_path
    ctypes.CDLL(None).umount2(os.fsencode(tmp_path), 2)  # MNT_DETACH


class _Training:
    """A cluster that trains with its checkpoints in a folder, and the lines that it wrote."""

    def __init__(self, folder: Path, fills_disk: bool) -> None:
        self.lines: list[str] = []
        self._folder = folder
        self._fills_disk = fills_disk
        command = [sys.executable, "-m", chaos_round.MODULE]
        command += [f"--folder={folder}", f"--steps={chaos_round.STEPS}"]
        cluster = tf.cluster.LocalCluster(command, ps=1, workers=1, write=self._take)
        self.status = cluster.run()

    def _take(self, _: str, line: str) -> None:
        self.lines.append(line)
        if line.startswith("saved") and self._fills_disk:
            self._fills_disk = False
            free = os.statvfs(self._folder).f_bavail * os.statvfs(self._folder).f_frsize
            (self._folder / "other").write_bytes(bytes(free - _LEFT))

    def numbers(self, word: str) -> list[int]:
        """The step of each line that begins with the word."""
        return [int(line.split()[1]) for line in self.lines if line.startswith(f"{word} ")]


def test_a_full_disk_is_named_and_no_complete_checkpoint_is_lost(disk: Path) -> None:
    failed = _Training(disk, fills_disk=True)
    assert failed.status != 0
    assert any("No space left on device" in line for line in failed.lines)
    saved = max(failed.numbers("saved"))
    assert saved < chaos_round.STEPS

    (disk / "other").unlink()
    resumed = _Training(disk, fills_disk=False)
    assert resumed.status == 0
    assert resumed.numbers("begins") == [saved]
    assert max(resumed.numbers("saved")) >= chaos_round.STEPS
