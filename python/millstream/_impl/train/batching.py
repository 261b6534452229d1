"""How functions of batches take their tensors, and the queues through which these go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor, tensor_of_argument
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import array_ops, conditionals, control_ops
from millstream._impl.ops.queue_ops import QueueBase
from millstream._impl.summary import summary_ops
from millstream._impl.train import sparse_batches
from millstream._impl.train.queue_runner import QueueRunner, add_queue_runner
from millstream._impl.train.sparse_batches import SparseColumn
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape

MakeQueue = Callable[[list[Any], list[TensorShape]], QueueBase]


@dataclass(frozen=True)
class Batch:
    """What a batch is made of, and how.

    Parameters
    ----------
    sources
        Lists of tensors of one kind. Each has enqueue operations of its own.
    size
        Elements of a batch: an integer or a scalar tensor.
    threads
        Threads that enqueue, for each of the sources.
    enqueue_many
        Whether each row of the tensors is an element.
    shapes
        Shapes of the elements' components, or None: those of the tensors.
    keep_input
        A tensor of bool that says which elements are enqueued, or True: all.
    allow_smaller_final_batch
        Whether the last batch may have fewer elements.
    """

    sources: Sequence[Any]
    size: Any
    threads: int
    enqueue_many: bool
    shapes: Any
    keep_input: Any
    allow_smaller_final_batch: bool

    def through(
        self, make_queue: MakeQueue, fullness: tuple[str, Callable[[QueueBase], Tensor]], scope: str
    ) -> Any:
        """The batch that comes out of a queue, in the structure of a source.

        Parameters
        ----------
        make_queue
            Makes the queue, of its elements' dtypes and shapes.
        fullness
            Name and value of a summary of how full the queue is.
        scope
            Name of the batch.
        """
        lists = [_listed(source) for source in self.sources]
        # A sparse tensor goes through the queue as strings.
        sparse = sparse_batches.columns_of(lists)
        components = [
            [
                tensor_of_argument(value, "tensors")
                if column is None
                else sparse_batches.stored(value, self.enqueue_many)
                for value, column in zip(each, sparse, strict=True)
            ]
            for each in lists
        ]
        types = _common_types(components)
        queue = make_queue(types, self._shapes_of(components, sparse))
        keep = self._kept()
        operations = []
        for each in components:
            operations += [self._enqueue(queue, each, keep) for _ in range(self.threads)]
        add_queue_runner(QueueRunner(queue, operations))
        name, value = fullness
        summary_ops.scalar(name, value(queue))
        take = queue.dequeue_up_to if self.allow_smaller_final_batch else queue.dequeue_many
        taken = take(self.size, name=scope)
        batch = [
            column if kind is None else kind.restored(column, self.enqueue_many)
            for column, kind in zip(_as_list(taken), sparse, strict=True)
        ]
        return _structured(self.sources[0], batch)

    def _shapes_of(
        self, components: list[list[Tensor]], sparse: list[SparseColumn | None]
    ) -> list[TensorShape]:
        if self.shapes is not None:
            if not isinstance(self.shapes, (list, tuple)):
                raise TypeError(f"shapes: expected a list of shapes, got {self.shapes!r}")
            given = [as_shape(shape) for shape in self.shapes]
            stored = sparse_batches.STORED
            return [
                shape if kind is None else stored
                for shape, kind in zip(given, [*sparse, *[None] * len(given)], strict=False)
            ]
        shapes = []
        for column in zip(*components, strict=True):
            shape = TensorShape(None)
            for tensor in column:
                known = tensor.shape
                if self.enqueue_many:
                    known = known.with_rank_at_least(1)[1:]
                if known.ndims is None:
                    raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
                shape = shape.merge_with(known)
            shapes.append(shape)
        return shapes

    def _kept(self) -> Tensor | None:
        """Which elements are enqueued; None: all."""
        if self.keep_input is True:
            return None
        keep = convert_to_tensor(self.keep_input, dtypes.bool, "keep_input")
        if keep.shape.ndims is None:
            raise ValueError("`keep_input` dimensions must be known at graph construction.")
        if keep.shape.ndims > 1:
            raise ValueError("`keep_input` must be 0 or 1 dimensions.")
        if keep.shape.ndims == 1 and not self.enqueue_many:
            raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
        return keep

    def _enqueue(self, queue: QueueBase, tensors: list[Tensor], keep: Tensor | None) -> Any:
        def enqueue() -> Operation:
            return queue.enqueue_many(tensors) if self.enqueue_many else queue.enqueue(tensors)

        if keep is None:
            return enqueue()
        if keep.shape.ndims == 0:
            return conditionals.cond(keep, enqueue, control_ops.no_op)
        groups = gen_ops.cast(keep, dtypes.int32)
        kept = []
        for tensor in tensors:
            rows = array_ops.dynamic_partition(tensor, groups, 2)[1]
            rows.set_shape(TensorShape([None]).concatenate(tensor.shape[1:]))
            kept.append(rows)
        return queue.enqueue_many(kept)


def names_of(tensors: Any) -> list[Any]:
    """The tensors of a source, for the scope that is made of their names."""
    return _listed(tensors)


def sources_of(tensors_list: Any) -> list[Any]:
    """The sources of a function that joins them.

    Raises
    ------
    ValueError
        They are not alike, or there are none.
    """
    if not isinstance(tensors_list, (list, tuple)) or not tensors_list:
        raise ValueError(
            f"tensors_list: Expected at least one set of tensors, got {tensors_list!r}"
        )
    first = tensors_list[0]
    for other in tensors_list[1:]:
        if isinstance(other, Mapping) != isinstance(first, Mapping):
            raise ValueError("tensors_list: some are dictionaries, and some are not")
        if isinstance(first, Mapping) and sorted(first) != sorted(other):
            raise ValueError(f"Inconsistent dictionary keys: {sorted(first)} and {sorted(other)}")
        if len(_listed(first)) != len(_listed(other)):
            raise ValueError("tensors_list: all must have as many tensors")
    return list(tensors_list)


def _listed(tensors: Any) -> list[Any]:
    """The tensors of a list, of a dictionary in the order of its keys, or one alone."""
    if isinstance(tensors, Mapping):
        return [tensors[key] for key in sorted(tensors)]
    return _as_list(tensors)


def _common_types(components: list[list[Tensor]]) -> list[Any]:
    if not components[0]:
        raise ValueError("Expected at least one tensor in batch().")
    types = [tensor.dtype.base_dtype for tensor in components[0]]
    for each in components[1:]:
        other = [tensor.dtype.base_dtype for tensor in each]
        if other != types:
            first, second = (", ".join(kind.name for kind in kinds) for kinds in (types, other))
            raise TypeError(f"Expected types to be consistent: {first} vs. {second}.")
    return types


def _structured(source: Any, batch: Any) -> Any:
    """A batch in the structure of its source; that of a list of one tensor is no list."""
    columns = _as_list(batch)
    if isinstance(source, Mapping):
        return dict(zip(sorted(source), columns, strict=True))
    return columns if len(columns) > 1 else columns[0]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
