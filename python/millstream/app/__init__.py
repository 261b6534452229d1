"""Running a program with options."""

import typing as _typing

from millstream import flags
from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.program.app import run

__all__ = [
    "flags",
    "run",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
