"""Public names, said where what they name is defined.

``@public("add", "math.add")`` before a function or class makes it ``tf.add`` and ``tf.math.add``;
``PI = public("PI")(3.14)`` does it for a value, and ``floor = public("floor")(gen_ops.floor)`` for
a function of a generated op. The build reads these lines, without running them, and writes the
public modules (``python/generate/generate_names.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

_Value = TypeVar("_Value")

_PACKAGE = "millstream"


def public(*names: str) -> Callable[[_Value], _Value]:
    """Give a function, class or other value its public names.

    A function or class shows the public module of the first name that is its own, in tracebacks
    and in ``help``, and is found there by pickle.

    Parameters
    ----------
    names
        Names below ``millstream``, as ``"math.add"``. They must be literals.
    """

    def publish(value: _Value) -> _Value:
        if isinstance(value, (FunctionType, type)) and value.__module__.startswith(_PACKAGE):
            for name in names:
                module, _, last = name.rpartition(".")
                if last == value.__qualname__:
                    value.__module__ = f"{_PACKAGE}.{module}" if module else _PACKAGE
                    break
        return value

    return publish
