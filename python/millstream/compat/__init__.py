"""Names that programs use to run under several versions of Python and of the API."""

import sys as _sys
import typing as _typing

from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.program.compat import (
    as_bytes,
    as_str,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    dimension_at_index,
    dimension_value,
    forward_compatibility_horizon,
    forward_compatible,
    integral_types,
    path_to_str,
    real_types,
)

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]

v1 = _sys.modules["millstream"]
_sys.modules["millstream.compat.v1"] = v1

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__)
