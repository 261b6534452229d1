"""``millstream plugin-template FOLDER``: a plugin to begin with, see docs/plugins.md."""

from __future__ import annotations

import os
import shutil
import sys

from millstream._impl.base import package

_TEMPLATE = os.path.join(package.FOLDER, "templates", "plugin")


def copy_to(folder: str) -> int:
    """Copy the template into a new folder.

    Parameters
    ----------
    folder
        Its path; there must be nothing yet.

    Returns
    -------
    int
        0, or 1 when it cannot be made; then standard error says why.
    """
    try:
        # Installers compile what is Python.
        shutil.copytree(_TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        print(f"millstream: {folder} cannot be made: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{os.path.join(folder, 'README.md')} says what is in it and how to build it.")
    return 0
