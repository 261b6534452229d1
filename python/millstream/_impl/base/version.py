"""The version of Millstream."""

from __future__ import annotations

from millstream._runtime import version as _version

VERSION = _version()
