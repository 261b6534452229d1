"""File objects, and typed errors of the system's calls."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import PATH, TEXT, takes

_CODES = {
    errno.ENOENT: errors.NOT_FOUND,
    errno.EEXIST: errors.ALREADY_EXISTS,
    errno.EACCES: errors.PERMISSION_DENIED,
    errno.EPERM: errors.PERMISSION_DENIED,
    errno.EISDIR: errors.FAILED_PRECONDITION,
    errno.ENOTDIR: errors.FAILED_PRECONDITION,
    errno.ENOTEMPTY: errors.FAILED_PRECONDITION,
    errno.EINVAL: errors.INVALID_ARGUMENT,
    errno.ENOSPC: errors.RESOURCE_EXHAUSTED,
}
_MODES = ("r", "w", "a", "r+", "w+", "a+")


@contextmanager
def typed_errors(path: Any) -> Iterator[None]:
    """Turn the system's errors into those of `millstream.errors`."""
    try:
        yield
    except OSError as error:
        code = _CODES.get(error.errno or 0, errors.UNKNOWN)
        raise errors.make(
            None, code, f"{path_text(path)}; {error.strerror or error}", ""
        ) from error


def path_text(path: Any) -> str:
    """The path as a text, without ``file://``."""
    return os.fsdecode(path).removeprefix("file://")


@public("gfile.GFile", "gfile.Open", "io.gfile.GFile")
class GFile:
    r"""A file that is opened when it is first read or written.

    Parameters
    ----------
    name
        Its path.
    mode
        ``"r"``, ``"w"`` or ``"a"``, with ``"+"`` for both ways, and ``"b"`` for bytes.

    Raises
    ------
    InvalidArgumentError
        There is no such mode.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "notes.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("one\ntwo\n")
    >>> tf.gfile.GFile(path).readlines()
    ['one\n', 'two\n']
    """

    @takes(name=PATH, mode=TEXT)
    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            message = f"mode: expected r, w, a, r+, w+ or a+, with or without b, got {mode!r}"
            raise errors.InvalidArgumentError(None, None, message)
        self._name = name
        self._mode = mode
        self._file: Any = None

    @property
    def name(self) -> Any:
        """Its path."""
        return self._name

    @property
    def mode(self) -> str:
        """How it is opened."""
        return self._mode

    def _opened(self) -> Any:
        if self._file is None:
            with typed_errors(self._name):
                if os.path.isdir(path_text(self._name)):
                    raise IsADirectoryError(errno.EISDIR, "is a directory", self._name)
                self._file = open(path_text(self._name), self._mode.replace("b", "") + "b")  # noqa: SIM115
        return self._file

    def _readable(self) -> Any:
        if not set(self._mode) & {"r", "+"}:
            message = f"{path_text(self._name)}: File isn't open for reading"
            raise errors.PermissionDeniedError(None, None, message)
        return self._opened()

    def _shown(self, data: bytes) -> Any:
        return data if "b" in self._mode else data.decode("utf-8")

    def size(self) -> int:
        """Bytes of the file."""
        with typed_errors(self._name):
            return os.path.getsize(path_text(self._name))

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, by default all that are left, as the mode says."""
        file = self._readable()
        with typed_errors(self._name):
            return self._shown(file.read(n))

    def readline(self) -> Any:
        """The next line with its end; empty at the end of the file."""
        file = self._readable()
        with typed_errors(self._name):
            return self._shown(file.readline())

    def readlines(self) -> list[Any]:
        """The lines that are left, with their ends."""
        return list(self)

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: str | bytes) -> None:
        """Write a text or bytes."""
        if not set(self._mode) & {"w", "a", "+"}:
            message = f"{path_text(self._name)}: File isn't open for writing"
            raise errors.PermissionDeniedError(None, None, message)
        data = file_content.encode() if isinstance(file_content, str) else file_content
        file = self._opened()
        with typed_errors(self._name):
            file.write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a byte.

        Parameters
        ----------
        offset
            How far from the place that `whence` says.
        whence
            0: from the start, 1: from here, 2: from the end.
        position
            The old name of `offset`.
        """
        target = position if offset is None else offset
        if target is None:
            raise TypeError("seek: expected offset")
        if whence not in (0, 1, 2):
            message = f"whence: expected 0, 1 or 2, got {whence!r}"
            raise errors.InvalidArgumentError(None, None, message)
        file = self._readable()
        with typed_errors(self._name):
            file.seek(target, whence)

    def tell(self) -> int:
        """The byte that is read or written next."""
        return int(self._opened().tell())

    def seekable(self) -> bool:
        """Whether `seek` works: always."""
        return True

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self._file is not None:
            with typed_errors(self._name):
                self._file.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        file, self._file = self._file, None
        if file is None and self._mode[0] == "w":
            file = self._opened()
            self._file = None
        if file is not None:
            with typed_errors(self._name):
                file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@public("gfile.FastGFile")
class FastGFile(GFile):
    """A file; an old name of `GFile`.

    Parameters
    ----------
    name, mode
        As for `GFile`.

    Examples
    --------
    >>> tf.gfile.FastGFile("notes.txt").mode
    'r'
    """
