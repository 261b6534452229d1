"""A tensor of which only some elements are given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, ParamSpec, TypeVar, cast

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.stacks import session_or_default
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.values.dtypes import DType

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@public("SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """The value of a `SparseTensor` in a step.

    Parameters
    ----------
    indices, values, dense_shape
        The values of its parts.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 2]], [7.0], [1, 3])
    >>> tf.get_default_session().run(x).indices.tolist()
    [[0, 2]]
    """

    indices: Any
    values: Any
    dense_shape: Any


@public("SparseTensor", "sparse.SparseTensor")
class SparseTensor(TensorLike):
    """A tensor that is zero but for the elements that are given.

    It is fetched as a `SparseTensorValue`, and fed with one or a tuple of the three parts.

    Parameters
    ----------
    indices
        Where the elements are, int64, shape [n, rank]. Most functions want them in row-major order.
    values
        The elements, shape [n].
    dense_shape
        The shape of the whole tensor, int64, shape [rank].

    Raises
    ------
    ValueError
        The shapes of the parts do not fit, as far as known.

    Examples
    --------
    >>> x = tf.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[2, 3])
    >>> x.shape.as_list(), x.values.eval().tolist()
    ([2, 3], [1.0, 2.0])
    """

    @takes(indices=TENSOR, values=TENSOR, dense_shape=TENSOR)
    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with scopes.name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, "indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, "shape")
        places = self._indices.shape.with_rank(2)
        places[0].assert_is_compatible_with(self._values.shape.with_rank(1)[0])
        places[1].assert_is_compatible_with(self._dense_shape.shape.with_rank(1)[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """The tensor of a `SparseTensorValue`, or the sparse tensor that it is.

        Raises
        ------
        TypeError
            It is neither.
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(
                "sparse_tensor_value: expected a SparseTensor or SparseTensorValue, got "
                f"{sparse_tensor_value!r}"
            )
        return cls(*sparse_tensor_value)

    @property
    def indices(self) -> Tensor:
        """Where the elements are."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole tensor, as a tensor."""
        return self._dense_shape

    @property
    def op(self) -> Operation:
        """The operation that computes the elements."""
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
    def shape(self) -> TensorShape:
        """Static shape of the whole tensor, as far as known."""
        known = constant_value(self._dense_shape)
        if known is not None:
            return TensorShape(known.tolist())
        rank = self._indices.shape.with_rank(2)[1].value
        if rank is None:
            rank = self._dense_shape.shape.with_rank(1)[0].value
        return TensorShape(None if rank is None else [None] * rank)

    def get_shape(self) -> TensorShape:
        """Static shape of the whole tensor: the property `shape`."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that take the elements."""
        return self._values.consumers()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in one step, a `SparseTensorValue`.

        Parameters
        ----------
        feed_dict
            Values of placeholders, as for `Session.run`.
        session
            The session, by default the default one.
        """
        runner = session_or_default(session, self.graph, "SparseTensor.eval()")
        return runner.run(self, feed_dict)

    def __mul__(self, other: Any) -> SparseTensor:
        return self._with_dense(gen_ops.sparse_dense_cwise_mul, other, "mul")

    def __truediv__(self, other: Any) -> SparseTensor:
        if not (self.dtype.is_floating or self.dtype.is_complex):
            floats = SparseTensor(
                self._indices, gen_ops.cast(self._values, dtypes.float64), self._dense_shape
            )
            divisor = gen_ops.cast(convert_to_tensor(other, self.dtype), dtypes.float64)
            return floats / divisor
        return self._with_dense(gen_ops.sparse_dense_cwise_div, other, "truediv")

    def _with_dense(self, function: Any, other: Any, name: str) -> SparseTensor:
        """The function of the elements and those of a dense tensor at their places."""
        with scopes.name_scope(None, name, [self._values]) as scope:
            dense = convert_to_tensor(other, self.dtype, "y")
            values = function(self._indices, self._values, self._dense_shape, dense, scope)
        return SparseTensor(self._indices, values, self._dense_shape)

    def as_tensor(self) -> NoReturn:
        """Raise TypeError: functions that take sparse tensors say so."""
        raise TypeError(f"{self!r} is sparse; a dense tensor is expected here")

    def __repr__(self) -> str:
        return (
            f"<tf.SparseTensor indices={self._indices!r} values={self._values!r} "
            f"dense_shape={self._dense_shape!r}>"
        )


def or_sparse(
    function: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Let a function of one tensor take a sparse one: then it maps the elements that are given.

    The elements that are not given stay 0, even if the function gives another value for 0.

    Parameters
    ----------
    function
        Works element by element.
    """

    def values_of(value: Any) -> Any:
        return value.values if isinstance(value, SparseTensor) else value

    @functools.wraps(function)
    def mapped(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        given = [one for one in (*args, *kwargs.values()) if isinstance(one, SparseTensor)]
        if not given:
            return function(*args, **kwargs)
        untyped = cast("Callable[..., Any]", function)
        values = untyped(
            *map(values_of, args), **{name: values_of(value) for name, value in kwargs.items()}
        )
        return cast("_Result", SparseTensor(given[0].indices, values, given[0].dense_shape))

    return mapped


@public("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """The sparse tensor that `value` is or stands for, or the tensor that it is or becomes.

    Parameters
    ----------
    value
        A `SparseTensor` or a `SparseTensorValue`, a tensor, or what becomes one.
    dtype
        Dtype that it must have, or None.
    name
        Name of the operation, if one is made.

    Raises
    ------
    RuntimeError
        A sparse tensor has another dtype.

    Examples
    --------
    >>> sparse = tf.SparseTensorValue([[0]], [1.0], [3])
    >>> tf.convert_to_tensor_or_sparse_tensor(sparse).dense_shape.eval().tolist()
    [3]
    """
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(value, dtype, name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and sparse.dtype.base_dtype != dtypes.as_dtype(dtype).base_dtype:
        raise RuntimeError(
            f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {sparse.dtype.name}"
        )
    return sparse
