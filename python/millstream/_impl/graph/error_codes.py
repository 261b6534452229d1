"""Numbers of errors and their classes."""

from __future__ import annotations

from millstream._impl.base.errors import CLASSES, OpError
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import CLASS, INTEGER, takes


@public("errors.exception_type_from_error_code")
@takes(error_code=INTEGER)
def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of an error's kind; KeyError for a number that is none.

    Parameters
    ----------
    error_code
        The number.

    Examples
    --------
    >>> tf.errors.exception_type_from_error_code(tf.errors.NOT_FOUND).__name__
    'NotFoundError'
    """
    return CLASSES[error_code]


@public("errors.error_code_from_exception_type")
@takes(cls=CLASS)
def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The number of an error class; KeyError for a class that has none.

    Parameters
    ----------
    cls
        The class.

    Examples
    --------
    >>> tf.errors.error_code_from_exception_type(tf.errors.NotFoundError)
    5
    """
    return {found: code for code, found in CLASSES.items()}[cls]  # type: ignore[index]
