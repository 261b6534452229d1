"""The ACME plugin of Millstream."""

from __future__ import annotations

import os


def path() -> str:
    """Where the plugin is: what the entry point in pyproject.toml asks. Imports nothing heavy."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libacme.so")
