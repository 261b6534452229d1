"""The version of Millstream."""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._runtime import version as _version

VERSION = public("VERSION", "__version__", "version.VERSION")(_version())
