"""The version of Millstream."""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._runtime import version as _version

# Programs print these. The build says neither the commit nor the compiler.
GIT_VERSION = public("GIT_VERSION", "version.GIT_VERSION")("unknown")
COMPILER_VERSION = public("COMPILER_VERSION", "version.COMPILER_VERSION")("unknown")
VERSION = public("VERSION", "__version__", "version.VERSION")(_version())
