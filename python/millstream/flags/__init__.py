"""Options of the command line, declared by modules and read as attributes of `FLAGS`."""

import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.program.flags import (
    FLAGS,
    DEFINE_bool,
    DEFINE_boolean,
    DEFINE_float,
    DEFINE_integer,
    DEFINE_string,
)

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_string",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
