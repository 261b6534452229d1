"""Files that are replaced as a whole."""

from __future__ import annotations

import contextlib
import itertools
import os

_NUMBERS = itertools.count()


def write_whole(path: str | bytes | os.PathLike[str], data: bytes) -> None:
    """Write a file: readers, and who comes after a crash, see the old contents or the new ones.

    The contents are written beside the file and synced before the new file takes the name.

    Parameters
    ----------
    path
        The file, which is replaced if it exists.
    data
        Its new contents.

    Raises
    ------
    OSError
        The old file is as it was, and nothing new is beside it.
    """
    name = os.fsdecode(path)
    temporary = f"{name}.{os.getpid()}-{next(_NUMBERS)}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise
    _sync_folder(os.path.dirname(name) or ".")


def _sync_folder(folder: str) -> None:
    """Wait until the names in a folder survive a crash of the machine, where that is possible."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some file systems do not sync folders.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
