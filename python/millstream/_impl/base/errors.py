"""Typed errors of running and building graphs."""

from __future__ import annotations

from typing import Any, Protocol

from millstream._impl.base import error_text
from millstream._impl.base.public import public

OK = public("errors.OK")(0)
CANCELLED = public("errors.CANCELLED")(1)
UNKNOWN = public("errors.UNKNOWN")(2)
INVALID_ARGUMENT = public("errors.INVALID_ARGUMENT")(3)
DEADLINE_EXCEEDED = public("errors.DEADLINE_EXCEEDED")(4)
NOT_FOUND = public("errors.NOT_FOUND")(5)
ALREADY_EXISTS = public("errors.ALREADY_EXISTS")(6)
PERMISSION_DENIED = public("errors.PERMISSION_DENIED")(7)
RESOURCE_EXHAUSTED = public("errors.RESOURCE_EXHAUSTED")(8)
FAILED_PRECONDITION = public("errors.FAILED_PRECONDITION")(9)
ABORTED = public("errors.ABORTED")(10)
OUT_OF_RANGE = public("errors.OUT_OF_RANGE")(11)
UNIMPLEMENTED = public("errors.UNIMPLEMENTED")(12)
INTERNAL = public("errors.INTERNAL")(13)
UNAVAILABLE = public("errors.UNAVAILABLE")(14)
DATA_LOSS = public("errors.DATA_LOSS")(15)
UNAUTHENTICATED = public("errors.UNAUTHENTICATED")(16)


@public("errors.OpError", "OpError")
class OpError(Exception):
    """An error of a step, with the operation that it is about.

    Parameters
    ----------
    node_def
        ``NodeDef`` of the operation, or None.
    op
        The operation, or None.
    message
        What was expected, what came, and where.
    error_code
        Number of the error's kind, one of the constants of this module.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, name="x")
    >>> try:
    ...     (x + 1.0).eval()
    ... except tf.errors.OpError as error:
    ...     print(type(error).__name__, error.op.name)
    InvalidArgumentError x
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        """What was expected, what came, and where."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def error_code(self) -> int:
        """Number of the error's kind."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """``NodeDef`` of the operation that failed, or None."""
        if self._node_def is None and self._op is not None:
            return self._op.node_def
        return self._node_def

    def __str__(self) -> str:
        return self._message


class _CodedError(OpError):
    _code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(node_def, op, message, self._code if error_code is None else error_code)

    def __reduce__(self) -> Any:
        return type(self), (None, None, self.message, self.error_code)


@public("errors.CancelledError")
class CancelledError(_CodedError):
    """The step was cancelled."""

    _code = CANCELLED


@public("errors.UnknownError")
class UnknownError(_CodedError):
    """An error of no known kind."""

    _code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN) -> None:
        super().__init__(node_def, op, message, error_code)


@public("errors.InvalidArgumentError")
class InvalidArgumentError(_CodedError):
    """An argument is not what the operation takes."""

    _code = INVALID_ARGUMENT


@public("errors.DeadlineExceededError")
class DeadlineExceededError(_CodedError):
    """The time that the step was given is over."""

    _code = DEADLINE_EXCEEDED


@public("errors.NotFoundError")
class NotFoundError(_CodedError):
    """What was named does not exist."""

    _code = NOT_FOUND


@public("errors.AlreadyExistsError")
class AlreadyExistsError(_CodedError):
    """What was to be made exists."""

    _code = ALREADY_EXISTS


@public("errors.PermissionDeniedError")
class PermissionDeniedError(_CodedError):
    """The caller may not do this."""

    _code = PERMISSION_DENIED


@public("errors.ResourceExhaustedError")
class ResourceExhaustedError(_CodedError):
    """Memory or another resource ran out."""

    _code = RESOURCE_EXHAUSTED


@public("errors.FailedPreconditionError")
class FailedPreconditionError(_CodedError):
    """The system is not in the state that the operation needs, such as a variable without value."""

    _code = FAILED_PRECONDITION


@public("errors.AbortedError")
class AbortedError(_CodedError):
    """The operation was given up, for example because of a conflict."""

    _code = ABORTED


@public("errors.OutOfRangeError")
class OutOfRangeError(_CodedError):
    """A position is beyond the end, as of a queue that is closed and empty."""

    _code = OUT_OF_RANGE


@public("errors.UnimplementedError")
class UnimplementedError(_CodedError):
    """The operation is not implemented for this case."""

    _code = UNIMPLEMENTED


@public("errors.InternalError")
class InternalError(_CodedError):
    """The runtime broke one of its own rules."""

    _code = INTERNAL


@public("errors.UnavailableError")
class UnavailableError(_CodedError):
    """A service cannot be reached at present."""

    _code = UNAVAILABLE


@public("errors.DataLossError")
class DataLossError(_CodedError):
    """Data is damaged or lost."""

    _code = DATA_LOSS


@public("errors.UnauthenticatedError")
class UnauthenticatedError(_CodedError):
    """The caller gave no valid credentials."""

    _code = UNAUTHENTICATED


CLASSES: dict[int, type[_CodedError]] = {
    found._code: found for found in _CodedError.__subclasses__()
}


class _Status:
    """What a call of the old C interface reports."""

    def __init__(self) -> None:
        self.code = OK
        self.message = ""

    def set(self, code: int, message: str) -> None:
        """Report an error of one of the codes of this module."""
        self.code = code
        self.message = message


@public("errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:  # noqa: N801  (the public name)
    """A block with a status, whose error is raised at the end of the block.

    Functions of old programs report their errors in a status. Functions of this package raise them.

    Examples
    --------
    >>> try:
    ...     with tf.errors.raise_exception_on_not_ok_status() as status:
    ...         status.set(tf.errors.NOT_FOUND, "no such file")
    ... except tf.errors.NotFoundError as error:
    ...     print(error.message)
    no such file
    """

    def __init__(self) -> None:
        self._status = _Status()

    def __enter__(self) -> Any:
        return self._status

    def __exit__(self, *error: object) -> None:
        status = self._status
        if error[0] is None and status.code != OK:
            raise CLASSES.get(status.code, UnknownError)(None, None, status.message, status.code)


# What to do about causes that the runtime words like this.
_HINTS = {
    "You must feed a value for placeholder": "run(fetches, {placeholder: value}) feeds it",
    "Attempting to use uninitialized value": (
        "run tf.global_variables_initializer() first, in the same session"
    ),
}


def _with_hint(message: str) -> str:
    for cause, hint in _HINTS.items():
        if cause in message:
            return error_text.with_hint(message, hint)
    return message


class _Graph(Protocol):
    def find_operation(self, name: str) -> Any:
        """The operation of that name, or None."""


def make(graph: _Graph | None, code: int, message: str, node: str) -> OpError:
    """The error of a status.

    Parameters
    ----------
    graph
        Where to look the node up; None when there is no graph.
    code, message, node
        What the status says; `node` is "" when it is about none.

    Examples
    --------
    >>> make(None, NOT_FOUND, "no such file", "").message
    'no such file'
    """
    op = graph.find_operation(node) if graph is not None and node else None
    return CLASSES.get(code, UnknownError)(None, op, _with_hint(error_text.with_source(message)))
