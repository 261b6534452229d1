"""A tensor of which only some rows are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import SHAPE, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values.dtypes import as_dtype
from millstream._impl.values.tensor_shape import TensorShape

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Operation, Tensor
    from millstream._impl.values.dtypes import DType


def _tensor(value: Any, name: str) -> Tensor:
    """A tensor as it is, or a constant of a value."""
    is_tensor = bool(isinstance(value, TensorLike))
    made: Tensor = value if is_tensor else convert_to_tensor(value, name=name)
    return made


@public("IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """The value of `IndexedSlices` in a step.

    Parameters
    ----------
    values, indices, dense_shape
        The values of its parts; `dense_shape` may be None.

    Examples
    --------
    >>> rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]))
    >>> tf.get_default_session().run(rows).indices
    array([3], dtype=int32)
    """

    values: Any
    indices: Any
    dense_shape: Any


@public("IndexedSlices")
class IndexedSlices(TensorLike):
    """Rows of a tensor; the gradient of a gather is one.

    Parameters
    ----------
    values
        The rows, shape [n, ...].
    indices
        Which rows they are, shape [n]; a row that occurs twice counts as the sum of both. Both may
        be lists, which become constants.
    dense_shape
        Shape of the whole tensor: a tensor, or a list or tuple, which is kept as it is; or None.

    Examples
    --------
    >>> rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    >>> tf.convert_to_tensor(rows).eval().tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """

    @takes(values=TENSOR, indices=TENSOR, dense_shape=SHAPE)
    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = _tensor(values, "values")
        self._indices = _tensor(indices, "indices")
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """Which rows they are."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """Shape of the whole tensor, or None."""
        return self._dense_shape

    @property
    def name(self) -> str:
        """Name of the rows."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device that the rows' operation asks for."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation that computes the rows."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self._values.graph

    @property
    def shape(self) -> Any:
        """Static shape of the whole tensor, as far as known."""
        known = None if self._dense_shape is None else constant_value(self._dense_shape)
        return TensorShape(None if known is None else known.tolist())

    def get_shape(self) -> Any:
        """Static shape of the whole tensor: the property `shape`."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that take the rows."""
        return self._values.consumers()

    def as_tensor(self) -> Tensor:
        """The whole tensor, zero where no row is given.

        Raises
        ------
        ValueError
            The whole shape is not known.
        """
        if self._dense_shape is None:
            raise ValueError(f"{self!r} has no dense_shape, so it cannot become a tensor")
        size = self._dense_shape[0]
        found: Tensor = gen_ops.unsorted_segment_sum(self._values, self._indices, size)
        return found

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        dense = "" if self._dense_shape is None else f" dense_shape={self._dense_shape!r}"
        return f"<tf.IndexedSlices values={self._values!r} indices={self._indices!r}{dense}>"


@public("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """The slices that `value` is, or the tensor that it is or becomes.

    Parameters
    ----------
    value
        Slices, a tensor, or what becomes one.
    dtype
        Dtype that they must have, or None.
    name
        Name of the operation, if one is made.

    Raises
    ------
    TypeError
        A Python value cannot have the dtype.
    ValueError
        A tensor or slices have another dtype.

    Examples
    --------
    >>> rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]))
    >>> tf.convert_to_tensor_or_indexed_slices(rows) is rows
    True
    """
    if not isinstance(value, IndexedSlices):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype.base_dtype != as_dtype(dtype).base_dtype:
        raise ValueError(f"value: expected {as_dtype(dtype).name}, got {value!r}")
    return value
