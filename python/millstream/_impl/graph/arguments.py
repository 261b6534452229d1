"""Arguments of public functions: what each may be, and those with an old and a new name."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from millstream._impl.graph.tensor_like import TensorLike, is_converted
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import Dimension, TensorShape

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class Kind(NamedTuple):
    """What an argument may be: in words, and as a test that no value makes fail."""

    what: str
    accepts: Callable[[Any], bool]


def _of_types(what: str, *types: type) -> Kind:
    return Kind(what, lambda value: isinstance(value, types))


_INTEGERS = (int, np.integer, Dimension)
_NUMBERS = (int, float, np.integer, np.floating, TensorLike)
_LISTS = (list, tuple, np.ndarray, TensorLike)
_VALUES = (
    *(TensorLike, list, tuple, np.ndarray, np.generic, bool, int, float, complex, str, bytes),
    *(bytearray, TensorShape, Dimension),
)


def _is_value(value: Any) -> bool:
    return isinstance(value, _VALUES) or hasattr(value, "__array__") or is_converted(value)


def _is_dtype(value: Any) -> bool:
    try:
        dtypes.as_dtype(value)
    except TypeError:
        return False
    return True


def _is_shape(value: Any) -> bool:
    known = (TensorShape, *_LISTS, *_INTEGERS)
    return value is None or isinstance(value, known) or hasattr(value, "unknown_rank")


TENSOR = Kind("a tensor or a value", _is_value)
TENSOR_ITSELF = _of_types("a tensor", TensorLike)
TENSORS = _of_types("a list of tensors", *_LISTS)
DTYPE = Kind("a data type", _is_dtype)
SHAPE = Kind("a shape", _is_shape)
INTEGER = _of_types("an integer", *_INTEGERS)
FLAG = _of_types("a truth value", bool, np.bool_, int, np.integer)
INTEGERS = Kind(
    "an integer or a list of integers",
    lambda value: (
        isinstance(value, (*_INTEGERS, *_LISTS))
        or (isinstance(value, Iterable) and not isinstance(value, (str, bytes)))
    ),
)
NUMBER = _of_types("a number or a scalar tensor", *_NUMBERS)
RATE = Kind(
    "a number, a scalar tensor or a function that gives one",
    lambda value: isinstance(value, _NUMBERS) or callable(value),
)
NORM = Kind(
    "a number or 'euclidean'", lambda value: isinstance(value, (int, float, str, np.number))
)
PADDING = _of_types("'SAME', 'VALID' or a list of pairs", str, list, tuple, np.ndarray)
INITIALIZER = Kind("an initializer or a value", lambda value: callable(value) or _is_value(value))
TEXT = _of_types("a text", str)
PATH = Kind("a path", lambda value: isinstance(value, (str, bytes, os.PathLike)))
LIST = _of_types("a list", list, tuple)
ITEMS = Kind(
    "a list or what can be iterated over",
    lambda value: (
        isinstance(value, Iterable) and not isinstance(value, (TensorLike, str, bytes, np.ndarray))
    ),
)
NAMES = _of_types("a name or a list of names", str, list, tuple, set, frozenset)
MAPPING = _of_types("a dictionary", dict)
FUNCTION = Kind("a function", callable)
NAME = Kind("a name", lambda value: value is None or isinstance(value, str))


GRAPH = Kind("a tf.Graph", lambda value: hasattr(value, "as_graph_def"))
SESSION = Kind("a tf.Session", lambda value: hasattr(value, "make_callable"))
CLASS = _of_types("a class", type)
FLAG = _of_types("True or False", bool)


def or_none(kind: Kind) -> Kind:
    """The kind of a required argument that may be None."""
    return Kind(f"{kind.what} or None", lambda value: value is None or kind.accepts(value))


def takes(
    **kinds: Kind,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a function refuse arguments of a wrong kind, before anything is done.

    An argument that is given its default is fine, whatever its kind. A parameter ``name`` is
    checked without being listed.

    Parameters
    ----------
    kinds
        The kind of each parameter that is to be checked.

    Raises
    ------
    TypeError
        Says what the argument of that name should be, and what it is.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        checks = _checks(function, kinds)

        @functools.wraps(function)
        def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            count = len(args)
            for position, parameter, default, kind in checks:
                if position < count:
                    value: Any = args[position]
                elif parameter in kwargs:
                    value = kwargs[parameter]
                else:
                    continue
                if value is not default and not kind.accepts(value):
                    raise TypeError(f"{parameter}: expected {kind.what}, got {value!r}")
            return function(*args, **kwargs)

        return checked

    return decorate


_REQUIRED = object()


def _checks(function: Any, kinds: dict[str, Kind]) -> list[tuple[int, str, Any, Kind]]:
    """Position, name, default and kind of each parameter to check; of a keyword no position."""
    inner = inspect.unwrap(function)
    code = inner.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional, keywords = names[: code.co_argcount], names[code.co_argcount :]
    positions = {name: at for at, name in enumerate(positional)}
    positions.update(dict.fromkeys(keywords, sys.maxsize))
    given = inner.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(given) :], given, strict=True))
    defaults.update(inner.__kwdefaults__ or {})
    wanted = {"name": NAME, **kinds} if "name" in positions else kinds
    return [
        (positions[name], name, defaults.get(name, _REQUIRED), kind)
        for name, kind in wanted.items()
    ]


def one_of(value: Any, old_value: Any, name: str, old_name: str) -> Any:
    """The argument that is given, of two that are one.

    Raises
    ------
    ValueError
        Both are.
    """
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"{name} and {old_name} are one argument: give {name} only")
    return old_value


def by_keyword_only(sentinel: Any, function: str) -> None:
    """Raise ValueError when a function that takes keywords only got a positional argument."""
    if sentinel is not None:
        raise ValueError(f"{function}() takes its arguments by keyword only: labels=, logits=")
