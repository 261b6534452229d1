"""Python functions as operations.

The runtime knows a function by a token. The graph that an operation was added to keeps the function
as long as it lives; the table here does not.
"""

from __future__ import annotations

import atexit
import itertools
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream import _runtime
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.values import dtypes
from millstream._impl.values.values import fed_array, wire_value

# The first class that an exception is of decides the code of the step's error.
_CODES: tuple[tuple[tuple[type[BaseException], ...], int], ...] = (
    ((ValueError, TypeError), errors.INVALID_ARGUMENT),
    ((StopIteration,), errors.OUT_OF_RANGE),
    ((MemoryError,), errors.RESOURCE_EXHAUSTED),
    ((NotImplementedError,), errors.UNIMPLEMENTED),
)


class _Function:
    """A function under its token."""

    __slots__ = ("__weakref__", "function", "token")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.token = f"pyfunc_{next(_numbers)}"
        _functions[self.token] = self


_numbers = itertools.count()
_functions: weakref.WeakValueDictionary[str, _Function] = weakref.WeakValueDictionary()


@public("py_func")
@takes(inp=LIST)
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803  (the public name)
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """An operation that calls a Python function on arrays.

    The function runs on a thread of its own while other operations of the step go on. It may run
    steps itself. When the step is interrupted, cancelled or out of time, the step ends at once and
    the function's results are dropped, but the function itself goes on.

    Parameters
    ----------
    func
        The function. It gets an array for each tensor (a NumPy scalar, or bytes, for a tensor
        without dimensions), which it may write to, and returns an array for each dtype of `Tout`,
        exactly of this dtype. One result may stand without a list, none is None. The graph keeps
        the function.
    inp
        Tensors.
    Tout
        The dtypes of the results: a list, or the dtype of the only one.
    stateful
        Whether calls with the same arguments may differ, or have effects.
    name
        Name of the operation.

    Returns
    -------
    Tensor, list or Operation
        The results, of unknown shapes: a list if `Tout` is one, and the operation if it is empty.
        Running it raises InvalidArgumentError if the function raises ValueError or TypeError or
        returns something else than `Tout`, OutOfRangeError for StopIteration,
        ResourceExhaustedError for MemoryError, UnimplementedError for NotImplementedError, and
        UnknownError for any other exception, with the traceback.

    Raises
    ------
    ValueError
        The function cannot be called.

    Examples
    --------
    >>> import numpy as np
    >>> doubled = tf.py_func(lambda x: x * np.float32(2.0), [[1.0, 2.0]], tf.float32)
    >>> doubled.eval()
    array([2., 4.], dtype=float32)
    """
    if not callable(func):
        raise ValueError(f"func: Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))
    try:
        types = [dtypes.as_dtype(dtype) for dtype in (Tout if is_list else [Tout])]
    except TypeError as error:
        raise TypeError(f"Tout: {error}") from None
    function = _Function(func)
    get_default_graph().kept.append(function)
    call = gen_ops.py_func if stateful else gen_ops.py_func_stateless
    results = call([convert_to_tensor(item) for item in inp], function.token, types, name=name)
    if not types:
        return results
    listed = list(results) if isinstance(results, (list, tuple)) else [results]
    return listed if is_list else listed[0]


@public("numpy_function")
@takes(inp=LIST)
def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803  (the public name)
    name: str | None = None,
) -> Any:
    """An operation that calls a Python function on arrays: `py_func` with effects.

    Parameters
    ----------
    func
        The function.
    inp
        Tensors.
    Tout
        The dtypes of the results.
    name
        Name of the operation.

    Examples
    --------
    >>> import numpy as np
    >>> float(tf.numpy_function(np.sum, [[1.0, 2.0]], tf.float32).eval())
    3.0
    """
    return py_func(func, inp, Tout, True, name)


def _call(token: str, arguments: tuple[Any, ...]) -> tuple[int, str, list[Any]]:
    """Call a function for the runtime: a code and a message if it fails, else its results."""
    try:
        entry = _functions.get(token)
        if entry is None:
            raise ValueError(
                f"callback {token} is not found: attribute 'token' must name a function; it lives "
                "as long as the graph in which py_func was called"
            )
        return 0, "", [_wire(result) for result in _listed(entry.function(*arguments))]
    except BaseException as error:
        return _code_of(error), _described(error), []


def _listed(result: Any) -> Sequence[Any]:
    """The results that a function returned."""
    if result is None:
        return []
    return result if isinstance(result, (list, tuple)) else [result]


def _wire(result: Any) -> tuple[int, Sequence[int], Any]:
    """A result as the extension takes it."""
    array = np.asarray(result, order="C")
    if array.dtype.kind in "SUO":
        return wire_value(fed_array(result, dtypes.string), dtypes.string)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return wire_value(native, dtypes.as_dtype(native.dtype))


def _code_of(error: BaseException) -> int:
    for types, code in _CODES:
        if isinstance(error, types):
            return code
    return errors.UNKNOWN


def _described(error: BaseException) -> str:
    """What an exception is, and where it came from: below the lines of this file."""
    what = "".join(traceback.format_exception_only(type(error), error)).strip()
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    if trace is not None:
        lines = "".join(traceback.format_tb(trace)).rstrip()
        what = f"{what}\nTraceback (most recent call last):\n{lines}"
    return what.encode("utf-8", "replace").decode().replace("\0", "\\0")


_runtime.set_function_caller(_call)
atexit.register(_runtime.end_functions)
