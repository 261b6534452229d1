"""Files of the machine, by the functions whose names graph programs have always used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import PATH, takes
from millstream._impl.program import gfile
from millstream._impl.program.gfile import PATHS, FileStatistics


@public("gfile.Exists")
@takes(filename=PATH)
def Exists(filename: Any) -> bool:  # noqa: N802
    """Whether a file or folder is there.

    Parameters
    ----------
    filename
        A path.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.gfile.Exists(folder)
    True
    """
    return gfile.exists(filename)


@public("gfile.IsDirectory")
@takes(dirname=PATH)
def IsDirectory(dirname: Any) -> bool:  # noqa: N802
    """Whether a path is that of a folder.

    Parameters
    ----------
    dirname
        A path.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.gfile.IsDirectory(folder)
    True
    """
    return gfile.isdir(dirname)


@public("gfile.Glob")
@takes(filename=PATHS)
def Glob(filename: Any) -> list[str]:  # noqa: N802
    """The paths that match a pattern, sorted.

    Parameters
    ----------
    filename
        A pattern with ``*``, ``?`` and ``[...]``, or a list of patterns.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> [os.path.basename(found) for found in tf.gfile.Glob(os.path.join(folder, "*.txt"))]
    ['a.txt']
    """
    return gfile.glob(filename)


@public("gfile.ListDirectory")
@takes(dirname=PATH)
def ListDirectory(dirname: Any) -> list[str]:  # noqa: N802
    """The names in a folder, in no order.

    Parameters
    ----------
    dirname
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
    >>> tf.gfile.ListDirectory(folder)
    ['a.txt']
    """
    return gfile.listdir(dirname)


@public("gfile.MkDir")
@takes(dirname=PATH)
def MkDir(dirname: Any) -> None:  # noqa: N802
    """Make a folder in a folder that is there. What is there already is left as it is.

    Parameters
    ----------
    dirname
        The folder.

    Raises
    ------
    NotFoundError
        The folder around it is not there.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.gfile.MkDir(os.path.join(folder, "inner"))
    >>> os.listdir(folder)
    ['inner']
    """
    gfile.mkdir(dirname)


@public("gfile.MakeDirs")
@takes(dirname=PATH)
def MakeDirs(dirname: Any) -> None:  # noqa: N802
    """Make a folder and those around it. One that is there is fine.

    Parameters
    ----------
    dirname
        The folder.

    Raises
    ------
    FailedPreconditionError
        A file has the name of a folder.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.gfile.MakeDirs(os.path.join(folder, "a", "b"))
    >>> os.listdir(folder)
    ['a']
    """
    gfile.makedirs(dirname)


@public("gfile.Remove")
@takes(filename=PATH)
def Remove(filename: Any) -> None:  # noqa: N802
    """Remove a file.

    Parameters
    ----------
    filename
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
    >>> tf.gfile.Remove(path)
    >>> os.listdir(folder)
    []
    """
    gfile.remove(filename)


@public("gfile.DeleteRecursively")
@takes(dirname=PATH)
def DeleteRecursively(dirname: Any) -> None:  # noqa: N802
    """Remove a folder with all that is in it.

    Parameters
    ----------
    dirname
        The folder.

    Raises
    ------
    NotFoundError
        There is no such folder.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> tf.gfile.DeleteRecursively(folder)
    >>> os.path.exists(folder)
    False
    """
    gfile.rmtree(dirname)


@public("gfile.Stat")
@takes(filename=PATH)
def Stat(filename: Any) -> FileStatistics:  # noqa: N802
    """The length, time and kind of a file.

    Parameters
    ----------
    filename
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
    >>> tf.gfile.Stat(path).length
    4
    """
    return gfile.stat(filename)


@public("gfile.Copy")
@takes(oldpath=PATH, newpath=PATH)
def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:  # noqa: N802
    """Copy a file.

    Parameters
    ----------
    oldpath
        The file.
    newpath
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
    >>> tf.gfile.Copy(path, os.path.join(folder, "b.txt"))
    >>> sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    gfile.copy(oldpath, newpath, overwrite)


@public("gfile.Rename")
@takes(oldname=PATH, newname=PATH)
def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:  # noqa: N802
    """Give a file or folder another path.

    Parameters
    ----------
    oldname
        The file.
    newname
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
    >>> tf.gfile.Rename(path, os.path.join(folder, "b.txt"))
    >>> sorted(os.listdir(folder))
    ['b.txt']
    """
    gfile.rename(oldname, newname, overwrite)


@public("gfile.Walk")
@takes(top=PATH)
def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802
    """Go through a folder and all in it.

    Parameters
    ----------
    top
        Where to begin.
    in_order
        Yield a folder before those in it, not after.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("text")
    >>> [(inner, files) for _, inner, files in tf.gfile.Walk(folder)]
    [([], ['a.txt'])]
    """
    return gfile.walk(top, in_order)
