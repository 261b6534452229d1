"""Files that lie beside a program, or in the package."""

from __future__ import annotations

import os
import sys
from typing import Any

from millstream._impl.base.package import FOLDER
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import PATH, TEXT, takes
from millstream._impl.program.files import typed_errors

_INSIDE = os.path.join(str(FOLDER), "_impl") + os.sep


def _folder_of_caller() -> str:
    """The folder of the innermost file outside of the package."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None:
        name = os.path.abspath(frame.f_code.co_filename)
        if not name.startswith(_INSIDE) or name.endswith("_test.py"):
            break
        frame = frame.f_back
    return os.path.dirname(os.path.abspath(frame.f_code.co_filename))


@public("resource_loader.load_resource")
@takes(path=PATH)
def load_resource(path: str | os.PathLike[str]) -> bytes:
    """What a file of the package holds.

    Parameters
    ----------
    path
        Its path below the folder of the package.

    Raises
    ------
    NotFoundError
        There is no such file.

    Examples
    --------
    >>> tf.resource_loader.load_resource("py.typed")
    b''
    """
    full = os.path.join(str(FOLDER), os.fspath(path))
    with typed_errors(full), open(full, "rb") as file:
        return file.read()


@public("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """The folder of the file that calls it.

    Examples
    --------
    >>> import os
    >>> os.path.isabs(tf.resource_loader.get_data_files_path())
    True
    """
    return _folder_of_caller()


@public("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """The folder of the package.

    Examples
    --------
    >>> import os
    >>> os.path.isdir(tf.resource_loader.get_root_dir_with_all_resources())
    True
    """
    return str(FOLDER)


@public("resource_loader.get_path_to_datafile")
@takes(path=PATH)
def get_path_to_datafile(path: str | os.PathLike[str]) -> str:
    """The path of a file that lies beside the file that calls it.

    Parameters
    ----------
    path
        Its path below that folder.

    Examples
    --------
    >>> import os
    >>> os.path.basename(tf.resource_loader.get_path_to_datafile("words.txt"))
    'words.txt'
    """
    return os.path.join(_folder_of_caller(), os.fspath(path))


@public("resource_loader.readahead_file_path")
@takes(path=PATH, readahead=TEXT)
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path as it is: files are read by the system, which reads ahead by itself.

    Parameters
    ----------
    path
        A path.
    readahead
        Not used.

    Examples
    --------
    >>> tf.resource_loader.readahead_file_path("words.txt")
    'words.txt'
    """
    return path
