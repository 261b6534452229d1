"""Files of the machine, by the functions with names in lower case."""

from __future__ import annotations

import contextlib
import errno
import glob as _glob
import os
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, PATH, Kind, or_none, takes
from millstream._impl.program.files import path_text, typed_errors

PATHS = Kind(
    "a path or a list of paths",
    lambda value: isinstance(value, (str, bytes, os.PathLike, list, tuple)),
)


class FileStatistics(NamedTuple):
    """What `Stat` says of a file: bytes, time of its last change in nanoseconds, kind."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path_text(path)):
        message = f"{path_text(path)}: file already exists, and overwrite is not set"
        raise errors.AlreadyExistsError(None, None, message)


def _walk(top: str, topdown: bool, onerror: Any) -> Iterator[tuple[str, list[str], list[str]]]:
    for folder, inner, files in os.walk(top, topdown, onerror):
        inner.sort()
        yield folder, list(inner), sorted(files)


@public("io.gfile.exists")
@takes(path=PATH)
def exists(path: Any) -> bool:
    """Whether a file or folder is there.

    Parameters
    ----------
    path
        A path.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.exists(folder)
    True
    """
    return os.path.exists(path_text(path))


@public("io.gfile.isdir")
@takes(path=PATH)
def isdir(path: Any) -> bool:
    """Whether a path is that of a folder.

    Parameters
    ----------
    path
        A path.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.isdir(folder)
    True
    """
    return os.path.isdir(path_text(path))


@public("io.gfile.glob")
@takes(pattern=PATHS)
def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, sorted.

    Parameters
    ----------
    pattern
        A pattern with ``*``, ``?`` and ``[...]``, or a list of patterns.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> [os.path.basename(found) for found in tf.io.gfile.glob(os.path.join(folder, "*.txt"))]
    ['a.txt']
    """
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [found for one in patterns for found in sorted(_glob.glob(path_text(one)))]


@public("io.gfile.listdir")
@takes(path=PATH)
def listdir(path: Any) -> list[str]:
    """The names in a folder, in no order.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    NotFoundError
        There is no such folder.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> tf.io.gfile.listdir(folder)
    ['a.txt']
    """
    if not os.path.isdir(path_text(path)):
        raise errors.NotFoundError(None, None, f"{path_text(path)}: Could not find directory")
    with typed_errors(path):
        return os.listdir(path_text(path))


@public("io.gfile.mkdir")
@takes(path=PATH)
def mkdir(path: Any) -> None:
    """Make a folder in a folder that is there. What is there already is left as it is.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    NotFoundError
        The folder around it is not there.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.mkdir(os.path.join(folder, "inner"))
    >>> os.listdir(folder)
    ['inner']
    """
    with typed_errors(path), contextlib.suppress(FileExistsError):
        os.mkdir(path_text(path))


@public("io.gfile.makedirs")
@takes(path=PATH)
def makedirs(path: Any) -> None:
    """Make a folder and those around it. One that is there is fine.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    FailedPreconditionError
        A file has the name of a folder.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    >>> os.listdir(folder)
    ['a']
    """
    with typed_errors(path):
        if os.path.isfile(path_text(path)):
            raise NotADirectoryError(errno.ENOTDIR, "is no folder", path)
        os.makedirs(path_text(path), exist_ok=True)


@public("io.gfile.remove")
@takes(path=PATH)
def remove(path: Any) -> None:
    """Remove a file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    NotFoundError
        There is no such file.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> tf.io.gfile.remove(path)
    >>> os.listdir(folder)
    []
    """
    with typed_errors(path):
        os.remove(path_text(path))


@public("io.gfile.rmtree")
@takes(path=PATH)
def rmtree(path: Any) -> None:
    """Remove a folder with all that is in it.

    Parameters
    ----------
    path
        The folder.

    Raises
    ------
    NotFoundError
        There is no such folder.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.rmtree(folder)
    >>> os.path.exists(folder)
    False
    """
    with typed_errors(path):
        if os.path.isfile(path_text(path)):
            os.remove(path_text(path))
        else:
            shutil.rmtree(path_text(path))


@public("io.gfile.stat")
@takes(path=PATH)
def stat(path: Any) -> FileStatistics:
    """The length, time and kind of a file.

    Parameters
    ----------
    path
        A path.

    Raises
    ------
    NotFoundError
        There is no such file.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> tf.io.gfile.stat(path).length
    4
    """
    with typed_errors(path):
        found = os.stat(path_text(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path_text(path)))


@public("io.gfile.copy")
@takes(src=PATH, dst=PATH)
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Parameters
    ----------
    src
        The file.
    dst
        Its copy.
    overwrite
        Replace a file that is there.

    Raises
    ------
    NotFoundError
        There is no such file.
    AlreadyExistsError
        The new path is taken, and `overwrite` is False.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> tf.io.gfile.copy(path, os.path.join(folder, "b.txt"))
    >>> sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    _check_free(dst, overwrite)
    with typed_errors(src):
        shutil.copyfile(path_text(src), path_text(dst))


@public("io.gfile.rename")
@takes(src=PATH, dst=PATH)
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another path.

    Parameters
    ----------
    src
        The file.
    dst
        Its new path.
    overwrite
        Replace a file that is there.

    Raises
    ------
    NotFoundError
        There is no such file.
    AlreadyExistsError
        The new path is taken, and `overwrite` is False.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> tf.io.gfile.rename(path, os.path.join(folder, "b.txt"))
    >>> sorted(os.listdir(folder))
    ['b.txt']
    """
    _check_free(dst, overwrite)
    with typed_errors(src):
        os.replace(path_text(src), path_text(dst))


@public("io.gfile.walk")
@takes(top=PATH, onerror=or_none(FUNCTION))
def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Go through a folder and all in it.

    Parameters
    ----------
    top
        Where to begin.
    topdown
        Yield a folder before those in it, not after.
    onerror
        Is called with the error when a folder cannot be read.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> [(inner, files) for _, inner, files in tf.io.gfile.walk(folder)]
    [([], ['a.txt'])]
    """
    return _walk(path_text(top), topdown, onerror)
