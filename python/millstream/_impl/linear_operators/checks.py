"""Checks of the elements that make an operator, and of the hints about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.arguments import FLAG, or_none
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches
from millstream._impl.ops import check_ops, control_ops, math_ops
from millstream._impl.values import dtypes

# What operators compute with.
NUMBERS = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)

# The kinds of the hints, for `takes`.
HINTS = {
    hint: or_none(FLAG)
    for hint in ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
}


def numbers(tensor: Tensor, argument: str, rank: int) -> Tensor:
    """`tensor`, which has to hold numbers of operators, and to have at least that rank.

    Raises
    ------
    TypeError, ValueError
        It does not.
    """
    if tensor.dtype.base_dtype not in NUMBERS:
        names = ", ".join(dtype.name for dtype in NUMBERS)
        raise TypeError(
            f"Argument {argument} must have dtype in [{names}]. Found: {tensor.dtype.name}"
        )
    known = tensor.shape.ndims
    if known is not None and known < rank:
        raise ValueError(
            f"Argument {argument} must have at least {rank} dimension{'s' if rank > 1 else ''}.  "
            f"Found: {tensor!r}"
        )
    return tensor


def in_words(hint: str) -> str:
    """What a hint says: "positive-definite"."""
    return hint.removeprefix("is_").replace("_", "-")


def must_hold(hint: str, value: bool | None, sentence: str) -> bool:
    """True, for a hint that is always true of a kind.

    Raises
    ------
    ValueError
        The caller said that it is false.
    """
    if value is False:
        raise ValueError(f"{hint}: {sentence}")
    return True


def must_not_hold(hint: str, value: bool | None, sentence: str) -> bool:
    """False, for a hint that is never true of a kind; ValueError when the caller said it is."""
    if value:
        raise ValueError(f"{hint}: {sentence}")
    return False


def same_hints(operator: Any, hints: dict[str, Any], what: str) -> dict[str, Any]:
    """Hints that are true of an operator and of its adjoint or inverse, or of neither.

    Parameters
    ----------
    operator
        The operator.
    hints
        What the caller said of the adjoint or inverse.
    what
        Which one it is, for errors.

    Raises
    ------
    ValueError
        The caller said something else than the operator.
    """
    found = {}
    for hint, value in hints.items():
        own = getattr(operator, hint)
        if None not in (own, value) and own != value:
            raise ValueError(
                f"{hint}: An operator is {in_words(hint)} if and only if its {what} is."
            )
        found[hint] = value if own is None else own
    return found


def common_hints(operators: Sequence[Any], hints: dict[str, Any], what: str) -> dict[str, Any]:
    """Hints of what is made of operators, each of which is true if it is true of all of them.

    Parameters
    ----------
    operators
        The operators.
    hints
        What the caller said.
    what
        What is made of them, for errors.

    Raises
    ------
    ValueError
        The caller said that such a hint is false.
    """
    found = dict(hints)
    for hint, value in hints.items():
        if all(getattr(operator, hint) for operator in operators):
            words = in_words(hint)
            sentence = f"The {what} of {words} operators is always {words}."
            found[hint] = must_hold(hint, value, sentence)
    return found


def no_zeros(tensor: Tensor, message: str) -> Operation:
    """An operation that fails where an element is zero."""
    return check_ops.assert_positive(math_ops.abs(tensor), message=message)


def positive_real_parts(tensor: Tensor, message: str) -> Operation:
    """An operation that fails where the real part of an element is not positive."""
    return check_ops.assert_positive(batches.real_part(tensor), message=message)


def no_imaginary_parts(tensor: Tensor, message: str) -> Operation:
    """An operation that fails where an element is not real."""
    if not tensor.dtype.is_complex:
        return control_ops.no_op()
    parts = gen_ops.imag(tensor, tensor.dtype.real_dtype)
    return check_ops.assert_equal(parts, gen_ops.zeros_like(parts), message=message)


def all_of(operations: Sequence[Operation]) -> Operation:
    """An operation that fails where one of them does."""
    return control_ops.group(*operations)
