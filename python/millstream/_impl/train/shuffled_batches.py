"""Batches of elements that threads compute one by one, in random order."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.queue_kinds import RandomShuffleQueue
from millstream._impl.ops.queue_ops import QueueBase
from millstream._impl.train.batching import Batch, names_of, sources_of
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


def _shuffled(
    batch: Batch,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    shared_name: str | None,
    name: str | None,
) -> Any:
    def make_queue(types: list[Any], shapes: list[TensorShape]) -> QueueBase:
        return RandomShuffleQueue(
            capacity, min_after_dequeue, types, shapes, seed=seed, shared_name=shared_name
        )

    def fullness(queue: QueueBase) -> Tensor:
        above = gen_ops.maximum(0, queue.size() - min_after_dequeue)
        return gen_ops.cast(above, dtypes.float32) * (1.0 / (capacity - min_after_dequeue))

    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )
    default = "shuffle_batch" if len(batch.sources) == 1 else "shuffle_batch_join"
    inputs = [tensor for source in batch.sources for tensor in names_of(source)]
    summary = f"fraction_over_{min_after_dequeue}_of_{capacity - min_after_dequeue}_full"
    with scopes.name_scope(name, default, inputs) as scope:
        return batch.through(make_queue, (summary, fullness), scope)


@public("train.shuffle_batch")
@takes(
    batch_size=TENSOR,
    capacity=INTEGER,
    min_after_dequeue=INTEGER,
    num_threads=INTEGER,
    seed=or_none(INTEGER),
    shared_name=TEXT,
)
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of elements in random order, which threads compute one by one.

    Parameters
    ----------
    min_after_dequeue
        How many elements stay in the queue until its input ends. The more there are, the better the
        elements are mixed.
    seed
        Seed of the order.
    tensors, batch_size, capacity, num_threads, enqueue_many, shapes
        As for `tf.train.batch`.
    allow_smaller_final_batch, shared_name, name
        As for `tf.train.batch`.

    Returns
    -------
    Tensor, list or dict
        As of `tf.train.batch`.

    Raises
    ------
    ValueError
        The shape of an element is not known, or `capacity` is not above `min_after_dequeue`.

    Examples
    --------
    >>> number = tf.random_uniform([], seed=1)
    >>> tf.train.shuffle_batch([number], 4, capacity=20, min_after_dequeue=8).shape.as_list()
    [4]
    """
    made = Batch(
        [tensors], batch_size, num_threads, enqueue_many, shapes, True, allow_smaller_final_batch
    )
    return _shuffled(made, capacity, min_after_dequeue, seed, shared_name, name)


@public("train.maybe_shuffle_batch")
@takes(
    batch_size=TENSOR,
    capacity=INTEGER,
    min_after_dequeue=INTEGER,
    keep_input=TENSOR,
    num_threads=INTEGER,
    seed=or_none(INTEGER),
    shared_name=TEXT,
)
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches, in random order, of those elements that are to be kept.

    Parameters
    ----------
    keep_input
        As for `tf.train.maybe_batch`.
    min_after_dequeue, seed
        As for `tf.train.shuffle_batch`.
    tensors, batch_size, capacity, num_threads, enqueue_many, shapes
        As for `tf.train.batch`.
    allow_smaller_final_batch, shared_name, name
        As for `tf.train.batch`.

    Returns
    -------
    Tensor, list or dict
        As of `tf.train.batch`.

    Raises
    ------
    ValueError
        As of `tf.train.maybe_batch`.

    Examples
    --------
    >>> keep = tf.placeholder_with_default([True, False], [2])
    >>> kept = tf.train.maybe_shuffle_batch([[1, 2]], 4, 20, 8, keep, enqueue_many=True)
    >>> kept.shape.as_list()
    [4]
    """
    made = Batch(
        [tensors],
        batch_size,
        num_threads,
        enqueue_many,
        shapes,
        keep_input,
        allow_smaller_final_batch,
    )
    return _shuffled(made, capacity, min_after_dequeue, seed, shared_name, name)


@public("train.shuffle_batch_join")
@takes(
    batch_size=TENSOR,
    capacity=INTEGER,
    min_after_dequeue=INTEGER,
    seed=or_none(INTEGER),
    shared_name=TEXT,
)
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches, in random order, of the elements of several sources, with a thread for each.

    Parameters
    ----------
    tensors_list
        As for `tf.train.batch_join`.
    min_after_dequeue, seed
        As for `tf.train.shuffle_batch`.
    batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name
        As for `tf.train.batch`.

    Returns
    -------
    Tensor, list or dict
        As one of the sources, with one more dimension.

    Raises
    ------
    ValueError
        As of `tf.train.batch_join`.

    Examples
    --------
    >>> sources = [[tf.constant(1)], [tf.constant(2)]]
    >>> tf.train.shuffle_batch_join(sources, 4, 20, 8).shape.as_list()
    [4]
    """
    sources = sources_of(tensors_list)
    made = Batch(sources, batch_size, 1, enqueue_many, shapes, True, allow_smaller_final_batch)
    return _shuffled(made, capacity, min_after_dequeue, seed, shared_name, name)


@public("train.maybe_shuffle_batch_join")
@takes(
    batch_size=TENSOR,
    capacity=INTEGER,
    min_after_dequeue=INTEGER,
    keep_input=TENSOR,
    seed=or_none(INTEGER),
    shared_name=TEXT,
)
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches, in random order, of those elements of several sources that are to be kept.

    Parameters
    ----------
    tensors_list
        As for `tf.train.batch_join`.
    keep_input
        As for `tf.train.maybe_batch`.
    min_after_dequeue, seed
        As for `tf.train.shuffle_batch`.
    batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name
        As for `tf.train.batch`.

    Returns
    -------
    Tensor, list or dict
        As one of the sources, with one more dimension.

    Raises
    ------
    ValueError
        As of `tf.train.batch_join` and `tf.train.maybe_batch`.

    Examples
    --------
    >>> keep = tf.placeholder_with_default(True, [])
    >>> tf.train.maybe_shuffle_batch_join([[tf.constant(1)]], 4, 20, 8, keep).shape.as_list()
    [4]
    """
    sources = sources_of(tensors_list)
    made = Batch(
        sources, batch_size, 1, enqueue_many, shapes, keep_input, allow_smaller_final_batch
    )
    return _shuffled(made, capacity, min_after_dequeue, seed, shared_name, name)
