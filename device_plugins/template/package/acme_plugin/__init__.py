"""The ACME plugin of Millstream."""

from __future__ import annotations

import os


def path() -> str:
    """Return the path of the plugin, for the entry point in pyproject.toml."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libacme.so")
