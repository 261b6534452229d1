"""The user's line that makes a node: the innermost frame outside the package."""

from __future__ import annotations

import os
import sys

from millstream._impl.base import package

_PACKAGE = str(package.FOLDER) + os.sep
_INSIDE: dict[str, bool] = {}


def _is_inside(filename: str) -> bool:
    """Whether a source file is a module of the package; its tests count as the user's code."""
    found = _INSIDE.get(filename)
    if found is None:
        path = os.path.abspath(filename)
        found = path.startswith(_PACKAGE) and not path.endswith("_test.py")
        _INSIDE[filename] = found
    return found


def current() -> str:
    """The line as ``"train.py:12 in build"``; "" when all frames are inside."""
    frame = sys._getframe(1)
    inside = _INSIDE
    while True:
        code = frame.f_code
        filename = code.co_filename
        known = inside.get(filename)
        if known is None:
            known = _is_inside(filename)
        if not known:
            return f"{filename}:{frame.f_lineno} in {code.co_name}"
        if frame.f_back is None:
            return ""
        frame = frame.f_back
