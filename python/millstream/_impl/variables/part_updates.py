"""What changes or reads parts of a variable: its methods, of which functions are made too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.variable_tensor import on_device_of
from millstream._impl.ops.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Operation, Tensor
    from millstream._impl.values.dtypes import DType


class PartUpdates:
    """Methods of `Variable` that change or read some of its rows, slices or elements."""

    __slots__ = ()

    if TYPE_CHECKING:
        handle: Tensor
        _graph: Graph
        _dtype: DType

        def _after(self, written: Operation, name: str) -> Tensor: ...

    def _written(
        self, op: Callable[..., Operation], indices: Any, updates: Any, name: str, **attrs: Any
    ) -> Tensor:
        """The value after an op on the handle, indices and updates of its dtype."""
        graph = self._graph
        with graph.as_default():
            scope = graph.op_name(name) + "/"
            with graph.enter_scope(scope):
                tensor = convert_to_tensor(updates, self._dtype, "updates")
            with graph.colocate_with(self.handle):
                with graph.enter_scope(scope):
                    written = op(self.handle, indices, tensor, **attrs)
                return self._after(written, scope)

    # ---- Rows ----

    def _scatter(self, kind: str, sparse_delta: Any, name: str | None) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta: expected tf.IndexedSlices, got {sparse_delta!r}")
        return self._scatter_rows(kind, sparse_delta.indices, sparse_delta.values, name)

    def _scatter_rows(self, kind: str, indices: Any, updates: Any, name: str | None) -> Tensor:
        op = getattr(gen_ops, f"resource_scatter_{kind}")
        return self._written(op, indices, updates, name or f"Scatter{kind.capitalize()}")

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Add to some of its rows.

        Parameters
        ----------
        sparse_delta
            The rows, as `IndexedSlices`; those with the same index count one after the other.
        use_locking
            Not used: writes are never torn.
        name
            Name of the operation.

        Returns
        -------
        Tensor
            The value after the write; whatever runs it has written.

        Raises
        ------
        TypeError
            `sparse_delta` is something else.
        """
        return self._scatter("add", sparse_delta, name)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Subtract from some of its rows; parameters and result are those of `scatter_add`."""
        return self._scatter("sub", sparse_delta, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Multiply some of its rows; parameters and result are those of `scatter_add`."""
        return self._scatter("mul", sparse_delta, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Divide some of its rows; parameters and result are those of `scatter_add`."""
        return self._scatter("div", sparse_delta, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Lower some of its rows to the given ones where those are smaller, as `scatter_add`."""
        return self._scatter("min", sparse_delta, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Raise some of its rows to the given ones where those are larger, as `scatter_add`."""
        return self._scatter("max", sparse_delta, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Replace some of its rows; parameters and result are those of `scatter_add`."""
        return self._scatter("update", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: Any = None
    ) -> Any:
        """Replace some of its slices, batch by batch.

        Parameters
        ----------
        sparse_delta
            `IndexedSlices`, whose indices have the first dimensions of the variable and, last, the
            numbers of the slices.
        use_locking, name
            As for `scatter_add`.

        Raises
        ------
        TypeError
            `sparse_delta` is something else.
        ValueError
            The rank of its indices is not known.
        """
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta: expected tf.IndexedSlices, got {sparse_delta!r}")
        return self._batch_update(sparse_delta.indices, sparse_delta.values, name)

    def _batch_update(self, indices: Any, updates: Any, name: str | None) -> Tensor:
        graph = self._graph
        with graph.as_default(), graph.name_scope("batch_scatter_update"):
            vectors = _vectors_of(convert_to_tensor(indices, name="indices"))
        return self._scatter_slices("update", vectors, updates, name)

    # ---- Slices that index vectors name ----

    def _scatter_slices(self, kind: str, indices: Any, updates: Any, name: str | None) -> Tensor:
        op = getattr(gen_ops, f"resource_scatter_nd_{kind}")
        return self._written(op, indices, updates, name or f"ScatterNd{kind.capitalize()}")

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to some of its slices.

        Parameters
        ----------
        indices
            Index vectors along the last dimension: n numbers name a place along each of the first
            n dimensions.
        updates
            A slice for each of them; those of one slice count one after the other.
        name
            Name of the operation.

        Returns
        -------
        Tensor
            The value after the write; whatever runs it has written.

        Raises
        ------
        ValueError
            `updates` has not the shape of those slices, as far as known.
        """
        return self._scatter_slices("add", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from some of its slices, as `scatter_nd_add`."""
        return self._scatter_slices("sub", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Replace some of its slices, as `scatter_nd_add`."""
        return self._scatter_slices("update", indices, updates, name)

    # ---- Reading ----

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Some of its rows, read where it is.

        Parameters
        ----------
        indices
            Which rows, of any shape.
        name
            Name of the result.
        """
        with on_device_of(self.handle):
            return gen_ops.resource_gather(self.handle, indices, self._dtype, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Some of its slices, read where it is.

        Parameters
        ----------
        indices
            Index vectors along the last dimension.
        name
            Name of the result.
        """
        with on_device_of(self.handle):
            return gen_ops.resource_gather_nd(self.handle, indices, self._dtype, name=name)

    # ---- One more, and one slice ----

    def count_up_to(self, limit: int) -> Tensor:
        """Its value, to which one is added: a scalar that counts up to a limit.

        Parameters
        ----------
        limit
            The value at which counting ends with `OutOfRangeError`.

        Returns
        -------
        Tensor
            The value before.
        """
        return self._count_up_to(limit, None)

    def _count_up_to(self, limit: int, name: str | None) -> Tensor:
        graph = self._graph
        with graph.as_default(), graph.colocate_with(self.handle):
            return gen_ops.resource_count_up_to(self.handle, limit, self._dtype, name=name)

    def _assign_slice(self, bounds: list[Any], masks: dict[str, int], value: Any, name: Any) -> Any:
        """The value after a value came into the place of a strided slice."""
        graph = self._graph
        with graph.as_default():
            scope = graph.op_name(name or "strided_slice/_assign") + "/"
            with graph.enter_scope(scope):
                tensor = convert_to_tensor(value, self._dtype, "value")
            with graph.colocate_with(self.handle):
                with graph.enter_scope(scope):
                    assign = gen_ops.resource_strided_slice_assign
                    written = assign(self.handle, *bounds, tensor, **masks)
                return self._after(written, scope)


def _vectors_of(indices: Tensor) -> Tensor:
    """Index vectors: the place of each index among its batches, and itself."""
    rank = indices.shape.ndims
    if rank is None:
        raise ValueError("indices: its rank must be known")
    shape = gen_ops.shape(indices)
    last = gen_ops.expand_dims(indices, -1)
    columns = []
    for dimension in range(rank - 1):
        numbers = gen_ops.range(0, shape[dimension], 1)
        ones = [1] * (rank - dimension)
        places = gen_ops.reshape(gen_ops.cast(numbers, indices.dtype), [-1, *ones])
        columns.append(gen_ops.zeros_like(last) + places)
    return gen_ops.concat_v2([*columns, last], -1) if columns else last
