"""Libraries of ops, which are plugins here."""

from __future__ import annotations

import os
from types import ModuleType

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
