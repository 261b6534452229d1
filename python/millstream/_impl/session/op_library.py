"""Libraries of ops, which are plugins here."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.session import plugins


@public("load_op_library")
def load_op_library(library_filename: str | os.PathLike[str]) -> ModuleType:
    """Load a plugin that brings ops of its own, with their kernels and gradients.

    It is `millstream.plugins.load_plugin` by its usual name. Load it before a graph with its ops is
    built or imported.

    Parameters
    ----------
    library_filename
        The shared object.

    Returns
    -------
    module
        A function for each op: ``AcmeCube`` is ``acme_cube``.

    Raises
    ------
    TypeError
        The argument is no path.
    millstream.errors.OpError
        The file is no plugin, or cannot be loaded; the message has the path and the reason, and
        nothing of it is registered.

    Examples
    --------
    >>> try:
    ...     acme = tf.load_op_library("libacme.so")
    ...     y = acme.acme_cube([1.0, 2.0])
    ... except tf.errors.NotFoundError:
    ...     print("it has to be built first")
    it has to be built first
    """
    if not isinstance(library_filename, (str, os.PathLike)):
        raise TypeError(f"library_filename: expected a path, got {library_filename!r}")
    return plugins.load_plugin(library_filename)


@public("load_library")
def load_library(library_location: str | os.PathLike[str]) -> None:
    """Load a plugin, or all plugins of a folder.

    Parameters
    ----------
    library_location
        A shared object, or a folder, of which all files that end in ``.so`` are loaded.

    Raises
    ------
    TypeError
        The argument is no path.
    NotFoundError
        There is no such file or folder.
    millstream.errors.OpError
        A file is no plugin, or cannot be loaded.

    Examples
    --------
    >>> try:
    ...     tf.load_library("/no/such/folder")
    ... except tf.errors.NotFoundError as error:
    ...     print(error.message)
    The file or folder to load kernel libraries from does not exist: /no/such/folder
    """
    if not isinstance(library_location, (str, os.PathLike)):
        raise TypeError(f"library_location: expected a path, got {library_location!r}")
    path = Path(library_location)
    if not path.exists():
        message = f"The file or folder to load kernel libraries from does not exist: {path}"
        raise errors.NotFoundError(None, None, message)
    for file in sorted(path.glob("*.so")) if path.is_dir() else [path]:
        plugins.load_plugin(file)
