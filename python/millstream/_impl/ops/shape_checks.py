"""A check of the shapes of several tensors at once, whose sizes may have names."""

from __future__ import annotations

from collections.abc import Mapping
"""Checks of the shapes of several tensors, whose sizes have names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import array_ops
from millstream._impl.ops.check_ops import Assert
from millstream._impl.ops.control_ops import group, no_op

_ANY_SIZE = (None, ".")

_SHAPES = Kind(
    "a dictionary, or a list of pairs, of tensors and shapes",
    lambda value: isinstance(value, (Mapping, list, tuple)),
)


class _Constraint(NamedTuple):
    """One tensor and the sizes that it must have."""

    tensor: Tensor
    sizes: tuple[Any, ...]
    open_start: bool  # whether there may be more dimensions before these
    open_end: bool

    @property
    def is_open(self) -> bool:
        return self.open_start or self.open_end


class _Known(NamedTuple):
    """A size that a name stands for, and where it was seen first."""

    size: Any  # an integer or a tensor
    tensor: Tensor
    position: int


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
    """An operation that fails unless tensors have shapes that fit together.

    Parameters
    ----------
    shapes
        A dictionary from tensors to shapes, or a list of pairs. A shape is a list of numbers, of
        names, which stand for one size everywhere, and of None or "." for any size. None in place
        of a shape is any shape.
    data
        Tensors that the error shows, by default the sizes that differ.
        A dictionary, or a list of pairs, of tensors and their shapes. A shape is a list of sizes:
        integers, None or "." for any size, and names, each of which stands for one size in all
        shapes. ``...`` or "*" as the first or last entry stands for any number of dimensions. A
        shape that is a single entry is that of a vector.
    data
        Tensors that the error shows, by default the shapes of the tensors.
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
        Running it raises InvalidArgumentError when a shape is another one.

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
        A shape is known to be another one, or no shape.

    Examples
    --------
    >>> x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
    >>> check = tf.debugging.assert_shapes({x: ["N", "D"], y: ["N"]})
    >>> check.run({x: [[1.0, 2.0, 3.0]], y: [1.0]})
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    start = f"{message}  " if message else ""
    given = [convert_to_tensor(tensor) for tensor, _ in pairs]
    with scopes.name_scope(name, "assert_shapes", given):
        shown: list[Any] | None = None if data is None else list(data)
        checks = _Checks(start, shown, summarize)
        for tensor, (_, shape) in zip(given, pairs, strict=True):
            checks.add(_constraint(tensor, shape, start))
        return group(*checks.made) if checks.made else no_op("static_checks_determined_all_ok")


def _constraint(tensor: Tensor, shape: Any, start: str) -> _Constraint:
    if isinstance(shape, (str, int, type(None), type(...))):
        shape = [shape]
    if not isinstance(shape, Sequence) and not hasattr(shape, "as_list"):
        raise ValueError(f"{start}shapes: Tensor {tensor.name} has no shape but {shape!r}")
    sizes = list(shape.as_list() if hasattr(shape, "as_list") else shape)
    open_start = bool(sizes) and _is_any_sizes(sizes[0])
    sizes = sizes[1:] if open_start else sizes
    open_end = bool(sizes) and _is_any_sizes(sizes[-1])
    sizes = sizes[:-1] if open_end else sizes
    if any(_is_any_sizes(size) for size in sizes) or (open_start and open_end):
        raise ValueError(
            f"{start}shapes: Tensor {tensor.name} specified shape {shape!r}: dimensions without "
            "number may stand at the start or at the end"
        )
    return _Constraint(tensor, tuple(sizes), open_start, open_end)


def _is_any_sizes(size: Any) -> bool:
    return size is ... or (isinstance(size, str) and size == "*")


class _Checks:
    """The checks of all tensors, in order."""

    def __init__(self, start: str, data: list[Any] | None, summarize: int | None) -> None:
        self.made: list[Operation] = []
        self._start = start
        self._data = data
        self._summarize = summarize
        self._known: dict[Any, _Known] = {}

    def add(self, constraint: _Constraint) -> None:
        """Check one tensor."""
        self._add_rank(constraint)
        count = len(constraint.sizes)
        for i, wanted in enumerate(constraint.sizes):
            if wanted not in _ANY_SIZE:
                self._add_size(constraint.tensor, i - count if constraint.open_start else i, wanted)

    def _add_rank(self, constraint: _Constraint) -> None:
        tensor, count = constraint.tensor, len(constraint.sizes)
        rank = tensor.shape.ndims
        which = "at least " if constraint.is_open else ""
        said = f"{self._start}Tensor {tensor.name} must have rank {which}{count}."
        if rank is None:
            found = gen_ops.rank(tensor)
            compare = gen_ops.greater_equal if constraint.is_open else gen_ops.equal
            self._assert(compare(found, count), [said, "Received rank", found], tensor)
        elif rank < count or (rank > count and not constraint.is_open):
            raise ValueError(f"{said}  Received rank {rank}, shape {tensor.shape}")

    def _add_size(self, tensor: Tensor, position: int, wanted: Any) -> None:
        size = _size(tensor, position)
        known = None
        if isinstance(wanted, str) and not wanted.isdigit():
            known = self._known.get(wanted)
            if known is None:
                self._known[wanted] = _Known(size, tensor, position)
                return
        required = int(wanted) if known is None else known.size
        said = f"{self._start}Tensor {tensor.name} dimension {position} must have size"
        source = ""
        if known is not None:
            source = f"  Specified by tensor {known.tensor.name} dimension {known.position}"
        if isinstance(size, int) and isinstance(required, int):
            if size != required:
                raise ValueError(
                    f"{said} {required}.  Received size {size}, shape {tensor.shape}.{source}"
                )
            return
        shown = [said, required, ".  Received size", size, source]
        self._assert(gen_ops.equal(size, required), shown, tensor)

    def _assert(self, condition: Tensor, shown: list[Any], tensor: Tensor) -> None:
        data = [*shown, "shape", array_ops.shape(tensor)] if self._data is None else self._data
        self.made.append(Assert(condition, data, self._summarize))


def _size(tensor: Tensor, position: int) -> Any:
    """The size of a dimension: an integer where it is known, else a tensor."""
    dims = tensor.shape.dims
    known = None if dims is None else dims[position].value
    if known is not None:
        return int(known)
    size = array_ops.shape(tensor)[position]
    value = constant_value(size)
    return size if value is None else int(value)
