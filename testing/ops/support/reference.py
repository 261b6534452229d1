"""What references are made of: what an op gives for a case, computed with NumPy.

A reference takes a case and returns its outputs, then the variables of the case in the order of its
inputs. It raises `RefusedError` for a case that is not legal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.source import Source


class RefusedError(Exception):
    """The case is not legal: its argument or attribute of that name is at fault."""


@dataclass(frozen=True)
class Near:
    """A result that is rounded: |got - value| <= bound, and beyond the largest number infinite.

    Attributes
    ----------
    value
        The exact result as far as it is known, of the output's type or a longer one.
    bound
        The largest error, of one element or of each.
    any_where
        Where the result may be anything, or None.
    """

    value: Array
    bound: Any
    any_where: Array | None = None


@dataclass(frozen=True)
class Drawn:
    """A random result: its shape and a check of its values, which says what is wrong or ""."""

    shape: tuple[int, ...]
    check: Callable[[Array], str]


Outcome = list[Any]
# Makes a random case of an op, whose OpDef message it is given: one function serves a family.
MakeCase = Callable[[Source, Any], Case]
Reference = Callable[[Case], Outcome]


def types_among(choices: Sequence[str], op: Any, attr: str) -> list[str]:
    """Those of the choices that a type attribute may be; all, when it may be none of them."""
    spec = next(spec for spec in op.attr if spec.name == attr)
    allowed = {number_types.NAMES[number][0] for number in spec.allowed_values.list.type}
    return [name for name in choices if not allowed or name in allowed] or list(choices)


def pick_type(source: Source, op: Any, attr: str) -> str:
    """One of the types that a type attribute may be and tensors can be fed of."""
    spec = next(spec for spec in op.attr if spec.name == attr)
    allowed = [number_types.NAMES[number][0] for number in spec.allowed_values.list.type]
    values = [name for name in allowed or number_types.VALUES if name in number_types.VALUES]
    common = [name for name in ("float32", "int32", "float64") if name in values]
    return source.pick(common if common and source.chance(0.4) else values)


def type_attr(dtype: str) -> str:
    """Text of a type attribute."""
    return attr_text(("type", dtype))


def refuse_unless(condition: Any, argument: str) -> None:
    """Raise `RefusedError` when the condition does not hold."""
    if not condition:
        raise RefusedError(argument)


def numbers(case: Case, i: int) -> Array:
    """Input i as what is computed with."""
    return number_types.as_numbers(case.array(i), case.inputs[i].dtype)


def ulps(value: Array, dtype: str, count: float) -> Near:
    """A result that is wrong by at most `count` units in the last place of the type."""
    magnitude = np.abs(np.where(np.isfinite(value), value, 1))
    magnitude = np.maximum(magnitude, number_types.smallest_normal(dtype))
    return Near(value, magnitude * (number_types.epsilon(dtype) * count))


def longer(array: Array) -> Array:
    """The numbers in a type in which rounding does not show in theirs."""
    kinds = {"e": np.float64, "f": np.float64, "d": np.longdouble}
    kinds |= {"F": np.complex128, "D": np.clongdouble}
    return array.astype(kinds.get(array.dtype.char, array.dtype))


def checked_size(sizes: Sequence[int], argument: str) -> tuple[int, ...]:
    """The sizes as a shape; refuses negative ones, and products that no int64 holds.

    As the runtime counts: from the front, so that a zero excuses only what stands after it.
    """
    product = 1
    for size in sizes:
        product *= int(size)
        refuse_unless(0 <= int(size) < 2**63 and product < 2**63, argument)
    return tuple(int(size) for size in sizes)


def summed(sums: Array, scale: Array, count: int, dtype: str) -> Near:
    """A sum in whatever order: each addition rounds once, and may overflow on its way.

    scale: the sum of the absolute values.
    """
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(scale), scale, 0)
        bound = (finite + number_types.smallest_normal(dtype)) * number_types.epsilon(dtype)
        odd = scale >= number_types.largest(dtype) / 2
        odd &= np.isfinite(scale) | ~np.isnan(sums)
        if np.iscomplexobj(sums):
            odd |= ~np.isfinite(sums) | ~np.isfinite(scale)
    return Near(sums, bound * max(count, 1), odd)


def is_extreme(x: Array, dtype: str) -> Array:
    """Where a complex number is not finite, or its square overflows or underflows."""
    largest = np.maximum(np.abs(x.real), np.abs(x.imag))
    smallest = np.minimum(np.abs(x.real), np.abs(x.imag))
    limit = np.sqrt(number_types.largest(dtype)) / 4
    tiny = np.sqrt(number_types.smallest_normal(dtype)) * 4
    odd = (largest > 40) | ((smallest < tiny) & (smallest > 0))
    return np.asarray(~np.isfinite(x) | (largest > limit) | (largest < tiny) | odd)
