"""A check of the shapes of several tensors at once, whose sizes may have names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, TEXT, Kind, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import check_ops, control_ops
from millstream._impl.values.tensor_shape import Dimension

_SHAPES = Kind(
    "a dictionary from tensors to shapes or a list of pairs",
    lambda value: isinstance(value, (Mapping, list, tuple)),
)
_ANY_SIZE = (None, ".")


class _Size(NamedTuple):
    """A size of a tensor."""

    tensor: Tensor
    axis: int

    @property
    def known(self) -> int | None:
        size: int | None = self.tensor.shape[self.axis].value
        return size

    def value(self) -> Any:
        """The number if it is known, else a vector with it, empty if there is no such axis."""
        if self.known is not None:
            return self.known
        return gen_ops.shape(self.tensor)[self.axis : self.axis + 1]


@public("debugging.assert_shapes")
@takes(shapes=_SHAPES, data=LIST, summarize=INTEGER, message=TEXT)
def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless tensors have shapes whose sizes may have names.

    Parameters
    ----------
    shapes
        A dictionary from tensors to shapes, or a list of pairs. A shape is a list of numbers, of
        names, which stand for one size everywhere, and of None or "." for any size. None in place
        of a shape is any shape.
    data
        Tensors that the error shows, by default the sizes that differ.
    summarize
        How many elements of each it shows, by default 3.
    message
        What the error starts with.
    name
        Name of the scope.

    Returns
    -------
    Operation
        Running it raises InvalidArgumentError when a tensor has another shape.

    Raises
    ------
    ValueError
        A tensor is known to have another shape.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [None, 3])
    >>> y = tf.placeholder(tf.float32, [None])
    >>> check = tf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N",))])
    >>> check.run({x: [[1.0, 2.0, 3.0]], y: [4.0]})
    """
    pairs = list(shapes.items()) if isinstance(shapes, Mapping) else list(shapes)
    with scopes.name_scope(name, "assert_shapes"):
        wanted = [
            (convert_to_tensor(value), _sizes_of(shape))
            for value, shape in pairs
            if shape is not None
        ]
        start = f"{message}  " if message else ""
        checks = [
            check_ops.assert_rank(tensor, len(sizes), data, summarize, message)
            for tensor, sizes in wanted
        ]
        found: dict[str, _Size] = {}
        for tensor, sizes in wanted:
            for axis, size in enumerate(sizes):
                if size in _ANY_SIZE:
                    continue
                check = _check(_Size(tensor, axis), size, found, start, (data, summarize))
                checks += [] if check is None else [check]
        return control_ops.group(*checks)


def _sizes_of(shape: Any) -> list[Any]:
    return [size.value if isinstance(size, Dimension) else size for size in shape]


def _check(
    given: _Size, wanted: Any, found: dict[str, _Size], start: str, shown: tuple[Any, Any]
) -> Operation | None:
    """The check that one size is a number, or that of its name; None where it is known to be."""
    source = ""
    expected: Any = wanted
    if isinstance(wanted, str):
        first = found.setdefault(wanted, given)
        if first is given:
            return None
        if first.known is None and given.known is not None:
            found[wanted] = given
        source = f"  {wanted!r} is specified by tensor {first.tensor.name} dimension {first.axis}."
        expected = first.value()
    text = (
        f"{start}Tensor {given.tensor.name} dimension {given.axis} must have size {wanted}.{source}"
    )
    if given.known is not None and isinstance(expected, int):
        if given.known == expected:
            return None
        raise ValueError(f"{text}  Expected {expected}, received size {given.known}.")
    data, summarize = shown
    return check_ops.assert_equal(given.value(), expected, data, summarize, text)
