"""Ragged tensors among the arguments of functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def ragged_among(arguments: Iterable[Any], in_lists: bool = False) -> Any:
    """The first ragged tensor among arguments, None if there is none.

    Parameters
    ----------
    arguments
        What is looked at.
    in_lists
        Look at the items of lists, too.
    """
    for argument in arguments:
        if hasattr(argument, "with_flat_values"):
            return argument
        if in_lists and isinstance(argument, (list, tuple)):
            found = ragged_among(argument)
            if found is not None:
                return found
    return None


def for_ragged(
    key: str, in_lists: bool = False
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Let a function of tensors take ragged ones.

    Parameters
    ----------
    key
        Where ``ops/ragged_functions.py``, which calls without ragged tensors do not load, says
        what the function does then.
    in_lists
        Whether lists that are arguments may hold them.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def choosing(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            ragged = ragged_among(args, in_lists)
            if ragged is None and kwargs:
                ragged = ragged_among(kwargs.values(), in_lists)
            if ragged is None:
                return function(*args, **kwargs)
            result: _Result = ragged._of_function(key, function, args, kwargs)
            return result

        return choosing

    return decorate
