"""What the command lines of examples have in common."""

from __future__ import annotations

import os
import pathlib


def user_path(text: str) -> pathlib.Path:
    """Return a path as the user means it: `bazel run` starts programs in another folder."""
    return pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", ".")) / text
