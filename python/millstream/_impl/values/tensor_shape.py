"""Static shapes: what is known of a tensor's dimensions while the graph is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public


@public("Dimension")
class Dimension:
    """The size of one dimension, or unknown.

    Parameters
    ----------
    value
        The size, or None for unknown.

    Examples
    --------
    >>> tf.Dimension(3) * 2 + 1
    Dimension(7)
    >>> print(tf.Dimension(None))
    ?
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value: int | None = _size_of(value, "value")

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both can be the size of one dimension."""
        other = Dimension(other)
        return None in (self._value, other._value) or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both can be the size of one dimension."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """What is known from both; ValueError when they contradict."""
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def _combine(self, other: Any, function: Any) -> Any:
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(function(self._value, other._value))

    def __add__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b // a)

    def __mod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a % b)

    def __div__(self, other: Any) -> Any:
        return self // other

    def _compare(self, other: Any, function: Any) -> Any:
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return function(self._value, other._value)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, lambda a, b: a != b)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("an unknown dimension is no number")
        return self._value

    def __index__(self) -> int:
        return int(self)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


def _size_of(value: Any, name: str) -> int | None:
    """The size that the argument `name`, or an item of it, gives."""
    if value is None or isinstance(value, Dimension):
        return None if value is None else value.value
    if not hasattr(value, "__index__") and not (isinstance(value, float) and value.is_integer()):
        raise TypeError(f"{name}: a dimension is a number or None, got {value!r}")
    size = int(value)
    if size < 0:
        raise ValueError(f"{name}: a dimension is not negative, got {size}")
    return size


@public("TensorShape")
class TensorShape:
    """A static shape: unknown, or a list of dimensions each of which may be unknown.

    Parameters
    ----------
    dims
        None (nothing is known), a list of sizes (None or -1 is not allowed as size -1), one size,
        another shape, or a ``TensorShapeProto``.

    Examples
    --------
    >>> shape = tf.TensorShape([None, 3])
    >>> shape.merge_with([2, None]).as_list()
    [2, 3]
    >>> shape.is_compatible_with([2, 4])
    False
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any) -> None:
        self._dims = _dims_of(dims, "dims")

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None when the rank is unknown."""
        return None if self._dims is None else list(self._dims)

    @property
    def ndims(self) -> int | None:
        """The rank, or None when it is unknown."""
        return None if self._dims is None else len(self._dims)

    @property
    def rank(self) -> int | None:
        """The rank, or None when it is unknown."""
        return self.ndims

    def as_list(self) -> list[int | None]:
        """The sizes, None where one is unknown; ValueError when the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape")
        return [dimension.value for dimension in self._dims]

    def as_proto(self) -> Any:
        """The shape as a ``TensorShapeProto``."""
        proto = protos.message_class("TensorShapeProto")()
        if self._dims is None:
            proto.unknown_rank = True
        else:
            for dimension in self._dims:
                proto.dim.add(size=-1 if dimension.value is None else dimension.value)
        return proto

    def num_elements(self) -> int | None:
        """The number of elements, or None when it is not known."""
        if not self.is_fully_defined():
            return None
        total = 1
        for size in self.as_list():
            total *= size or 0
        return total

    def is_fully_defined(self) -> bool:
        """Whether every dimension is known."""
        return self._dims is not None and all(d.value is not None for d in self._dims)

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every dimension is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one tensor can have both shapes."""
        other = as_shape(other, "other")
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a.is_compatible_with(b) for a, b in zip(self._dims, other._dims, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless one tensor can have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """What is known from both; ValueError when they contradict."""
        other = as_shape(other, "other")
        self.assert_is_compatible_with(other)
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        pairs = zip(self._dims, other._dims, strict=True)
        return TensorShape([a.merge_with(b) for a, b in pairs])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """What both have in common."""
        other = as_shape(other, "other")
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        pairs = zip(self._dims, other._dims, strict=True)
        return TensorShape([a.value if a.value == b.value else None for a, b in pairs])

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of both, one after the other."""
        other = as_shape(other, "other")
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """The shape, known to have the rank; ValueError when it has another."""
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The shape; ValueError when its rank is known to be less."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The shape; ValueError when its rank is known to be more."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError when the rank is known to be another."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError when the ranks are known to differ."""
        other = as_shape(other, "other")
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return _unknown_dims(key) if isinstance(key, slice) else Dimension(None)
        found = self._dims[key]
        return TensorShape(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of a shape of unknown rank")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape of unknown rank")
        return iter(self._dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes() == as_shape(other)._sizes()
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._sizes())

    def _sizes(self) -> tuple[int | None, ...] | None:
        return None if self._dims is None else tuple(d.value for d in self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return f"({self._dims[0]},)"
        return "(" + ", ".join(str(d) for d in self._dims) + ")"

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"


def _unknown_dims(key: slice) -> TensorShape:
    """A slice of a shape of unknown rank: its rank is known where it counts from the front."""
    start, step = key.start or 0, key.step or 1
    if key.stop is None or min(start, key.stop, step) < 0:
        return TensorShape(None)
    return TensorShape([None] * len(range(start, key.stop, step)))


def _dims_of(shape: Any, name: str) -> tuple[Dimension, ...] | None:
    """The dimensions that the argument `name` gives."""
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape._dims
    if hasattr(shape, "unknown_rank"):
        return _dims_of_proto(shape)
    if isinstance(shape, (str, bytes)):
        raise TypeError(f"{name}: a shape is a list of sizes, got {shape!r}")
    try:
        items = list(shape)
    except TypeError:
        items = [shape]
        if not hasattr(shape, "__index__") and not isinstance(shape, float):
            raise TypeError(f"{name}: a shape is a list of sizes, got {shape!r}") from None
    return tuple(Dimension(_size_of(item, name)) for item in items)


def _dims_of_proto(proto: Any) -> tuple[Dimension, ...] | None:
    if proto.unknown_rank:
        return None
    return tuple(Dimension(None if d.size < 0 else d.size) for d in proto.dim)


def as_shape(shape: Any, name: str = "shape") -> TensorShape:
    """The `TensorShape` that `shape` describes; errors call it `name`."""
    if isinstance(shape, TensorShape):
        return shape
    described = TensorShape(None)
    described._dims = _dims_of(shape, name)
    return described


def of_wire(dims: tuple[int, ...] | None) -> TensorShape:
    """The shape of dimensions as the runtime gives them: -1 is unknown."""
    if dims is None:
        return TensorShape(None)
    return TensorShape([None if size < 0 else size for size in dims])


def to_wire(shape: Any) -> tuple[int, ...] | None:
    """Dimensions as the runtime takes them: -1 is unknown, None an unknown rank."""
    sizes = as_shape(shape)._sizes()
    return None if sizes is None else tuple(-1 if size is None else size for size in sizes)
