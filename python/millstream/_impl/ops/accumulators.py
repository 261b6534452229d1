"""Accumulators: sums of gradients that steps bring, which another step takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, SHAPE, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor, tensor_of_argument
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType, as_dtype
from millstream._impl.values.tensor_shape import TensorShape, as_shape


class GradientCounts(NamedTuple):
    """How many gradients an accumulator got since it began: scalars of int64.

    `dropped` are the stale ones, which were computed in an earlier step than the accumulator's.
    `applied` were added up. After a `Session.run` of it, the same with numbers.
    """

    applied: Any
    dropped: Any


@public("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """What all accumulators have in common.

    An accumulator counts steps. Each take begins the next one, and gradients that were computed in
    earlier steps are dropped. `gradient_counts`, which 1.15 has not, says how many.

    Parameters
    ----------
    dtype
        The dtype of the gradients.
    shape
        Shape of the tensor that the gradients are of.
    accumulator_ref
        The tensor that is the accumulator's handle.

    Examples
    --------
    >>> mean = tf.ConditionalAccumulator(tf.float32, shape=[2])
    >>> isinstance(mean, tf.ConditionalAccumulatorBase), mean.name
    (True, 'conditional_accumulator')
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = as_shape(shape)
        self._accumulator_ref = accumulator_ref

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle, which operations on the accumulator take."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """Name of the operation that makes the handle, without its scope."""
        return self._accumulator_ref.op.name.rpartition("/")[2]

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients were added up since the last take: a scalar of int32."""
        count: Tensor = gen_ops.resource_accumulator_num_accumulated(
            self._accumulator_ref, name=name or f"{self.name}_NumAccumulated"
        )
        return count

    def gradient_counts(self, name: str | None = None) -> GradientCounts:
        """How many gradients were added up since the accumulator began, and how many dropped.

        Parameters
        ----------
        name
            Name of the operation.

        Returns
        -------
        GradientCounts
            ``applied`` and ``dropped``: scalar tensors of int64, which takes do not change. They
            begin anew with the accumulator: with its session or, in a cluster, with its task.

        Examples
        --------
        >>> mean = tf.ConditionalAccumulator(tf.float32, shape=[])
        >>> mean.set_global_step(3).run()
        >>> for step in (2, 3, 2):
        ...     mean.apply_grad(1.0, local_step=step).run()
        >>> counts = tf.get_default_session().run(mean.gradient_counts())
        >>> int(counts.applied), int(counts.dropped)
        (1, 2)
        """
        applied, dropped = gen_ops._accumulator_counts(
            self._accumulator_ref, name=name or f"{self.name}_GradientCounts"
        )
        return GradientCounts(applied, dropped)

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Set the step of the accumulator.

        Parameters
        ----------
        new_global_step
            The step, an integer or a scalar tensor of int64.
        name
            Name of the operation.
        """
        return gen_ops.resource_accumulator_set_global_step(
            self._accumulator_ref,
            _wide(new_global_step, "new_global_step"),
            name=name or f"{self.name}_SetGlobalStep",
        )


@public("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients of steps, and gives their mean or sum when there are enough.

    Parameters
    ----------
    dtype
        The dtype of the gradients.
    shape
        Shape of the gradients, as far as it is known; None: unknown.
    shared_name
        A name by which several graphs and nodes of one session mean the same accumulator.
    name
        Name of the operation.
    reduction_type
        "MEAN" or "SUM".

    Raises
    ------
    ValueError
        `reduction_type` is another text.

    Examples
    --------
    >>> mean = tf.ConditionalAccumulator(tf.float32, shape=[2])
    >>> for gradient in ([1.0, 2.0], [3.0, 6.0]):
    ...     mean.apply_grad(gradient).run()
    >>> mean.take_grad(2).eval().tolist()
    [2.0, 4.0]
    """

    @takes(dtype=DTYPE, shape=or_none(SHAPE), shared_name=TEXT, reduction_type=TEXT)
    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle: Tensor = gen_ops.resource_conditional_accumulator(
            as_dtype(dtype), as_shape(shape), **_place(shared_name, reduction_type), name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Add a gradient, unless it is of an earlier step.

        Parameters
        ----------
        grad
            The gradient.
        local_step
            The step in which it was computed.
        name
            Name of the operation.

        Raises
        ------
        ValueError
            The gradient has another shape.
        """
        gradient = tensor_of_argument(grad, "grad", self._dtype)
        gradient.shape.assert_is_compatible_with(self._shape)
        return gen_ops.resource_accumulator_apply_gradient(
            self._accumulator_ref, _wide(local_step, "local_step"), gradient, name=name
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum of the gradients. A step that takes it waits until there are enough.

        Parameters
        ----------
        num_required
            How many gradients there must be.
        name
            Name of the operation.
        """
        taken: Tensor = gen_ops.resource_accumulator_take_gradient(
            self._accumulator_ref, num_required, self._dtype, name=name
        )
        taken.set_shape(self._shape)
        return taken


@public("SparseConditionalAccumulator", "sparse.SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients of rows, and gives their mean or sum when there are enough.

    The mean of a row is that of the gradients that have the row.

    Parameters
    ----------
    dtype
        The dtype of the gradients.
    shape
        Shape of the tensor that the rows are of, as far as it is known; None: unknown.
    shared_name
        A name by which several graphs and nodes of one session mean the same accumulator.
    name
        Name of the operation.
    reduction_type
        "MEAN" or "SUM".

    Raises
    ------
    ValueError
        `reduction_type` is another text.

    Examples
    --------
    >>> mean = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 1])
    >>> mean.apply_grad([2], [[5.0]]).run()
    >>> mean.apply_grad([0, 2], [[1.0], [7.0]]).run()
    >>> indices, values, shape = tf.get_default_session().run(mean.take_grad(2))
    >>> indices.tolist(), values.tolist(), shape.tolist()
    ([0, 2], [[1.0], [6.0]], [4, 1])
    """

    @takes(dtype=DTYPE, shape=or_none(SHAPE), shared_name=TEXT, reduction_type=TEXT)
    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        # The operation has an internal form, which graphs that are written do not show.
        handle: Tensor = gen_ops._sparse_conditional_accumulator(
            as_dtype(dtype), as_shape(shape), **_place(shared_name, reduction_type), name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Add a gradient of rows, as `tf.gradients` gives it.

        Parameters
        ----------
        grad
            The gradient.
        local_step
            The step in which it was computed.
        name
            Name of the operation.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Add a gradient of rows, unless it is of an earlier step.

        Parameters
        ----------
        grad_indices
            Which rows: a vector of integers.
        grad_values
            The rows.
        grad_shape
            Shape of the whole tensor, or None.
        local_step
            The step in which it was computed.
        name
            Name of the operation.
        """
        shape = [] if grad_shape is None else grad_shape
        return gen_ops._sparse_accumulator_apply_gradient(
            self._accumulator_ref,
            _wide(local_step, "local_step"),
            _wide(grad_indices, "grad_indices"),
            tensor_of_argument(grad_values, "grad_values", self._dtype),
            _wide(shape, "grad_shape"),
            has_known_shape=grad_shape is not None,
            name=name or "SparseAccumulatorApplyGradient",
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """The mean or sum of the rows. A step that takes it waits until there are enough gradients.

        Parameters
        ----------
        num_required
            How many gradients there must be.
        name
            Name of the operation.

        Returns
        -------
        tuple of Tensor
            Indices in ascending order, rows, and the shape of the whole tensor.
        """
        taken = gen_ops._sparse_accumulator_take_gradient(
            self._accumulator_ref,
            num_required,
            self._dtype,
            name=name or "SparseAccumulatorTakeGradient",
        )
        if self._shape.ndims is not None:
            taken[1].set_shape(TensorShape([None]).concatenate(self._shape[1:]))
        return taken

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """The same as `IndexedSlices`.

        Parameters
        ----------
        num_required
            How many gradients there must be.
        name
            Name of the operation.
        """
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)


def _place(shared_name: str | None, reduction_type: str) -> dict[str, str]:
    """The attributes that all accumulators have."""
    container: str = get_default_graph().state.container
    return {
        "container": container,
        "shared_name": shared_name or "",
        "reduction_type": reduction_type,
    }


def _wide(value: Any, argument: str) -> Tensor:
    """A tensor of int64 of what may be one of int32."""
    tensor = convert_to_tensor(value, name=argument, preferred_dtype=dtypes.int64)
    if tensor.dtype == dtypes.int64:
        return tensor
    with scopes.name_scope(argument):
        return gen_ops.cast(tensor, dtypes.int64)
