"""Names that programs use to run under several versions of Python and of the API.

``millstream.compat.v1`` is the package itself.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TEXT, takes
from millstream._impl.ops.static_shapes import dimension_at_index as dimension_at_index
from millstream._impl.ops.static_shapes import dimension_value as dimension_value

# Types that count as texts, and as numbers of each kind.
bytes_or_text_types = public("compat.bytes_or_text_types")((bytes, str))
integral_types = public("compat.integral_types")((numbers.Integral, np.integer))
real_types = public("compat.real_types")((numbers.Real, np.integer, np.floating))
complex_types = public("compat.complex_types")((numbers.Complex, np.number))


@public("compat.as_bytes")
@takes(encoding=TEXT)
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """The bytes of a text or of bytes; TypeError for anything else.

    Parameters
    ----------
    bytes_or_text
        The text or bytes.
    encoding
        How a text is encoded.

    Examples
    --------
    >>> tf.compat.as_bytes("abc")
    b'abc'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"bytes_or_text: expected text or bytes, got {bytes_or_text!r}")


@public("compat.as_text")
@takes(encoding=TEXT)
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """The text of bytes or of a text; TypeError for anything else.

    Parameters
    ----------
    bytes_or_text
        The text or bytes.
    encoding
        How bytes are decoded.

    Examples
    --------
    >>> tf.compat.as_text(b"abc")
    'abc'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"bytes_or_text: expected text or bytes, got {bytes_or_text!r}")


as_str = public("compat.as_str")(as_text)


@public("compat.as_str_any")
def as_str_any(value: Any) -> str:
    """The text of anything.

    Parameters
    ----------
    value
        Any value; bytes are decoded.

    Examples
    --------
    >>> tf.compat.as_str_any(b"abc") + tf.compat.as_str_any(3)
    'abc3'
    """
    return as_text(value) if isinstance(value, (bytes, bytearray)) else str(value)


@public("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """The text of a path object; anything else as it is.

    Parameters
    ----------
    path
        A path object, or any value.

    Examples
    --------
    >>> import pathlib
    >>> tf.compat.path_to_str(pathlib.PurePosixPath("logs/run"))
    'logs/run'
    """
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


@public("compat.forward_compatible")
@takes(year=INTEGER, month=INTEGER, day=INTEGER)
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether programs may write what readers understand since a day: always.

    Parameters
    ----------
    year, month, day
        The day.

    Examples
    --------
    >>> tf.compat.forward_compatible(2019, 10, 1)
    True
    """
    datetime.date(year, month, day)
    return True


@public("compat.forward_compatibility_horizon")
@takes(year=INTEGER, month=INTEGER, day=INTEGER)
@contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Do nothing: there is one form of each graph.

    Parameters
    ----------
    year, month, day
        A day.

    Examples
    --------
    >>> with tf.compat.forward_compatibility_horizon(2019, 10, 1):
    ...     tf.constant(1).dtype.name
    'int32'
    """
    datetime.date(year, month, day)
    yield
