"""A step's trace as a timeline that Chrome's ``chrome://tracing`` and Perfetto show."""

import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.tools.timeline import (
    Timeline,
)

__all__ = [
    "Timeline",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
