"""Batches of elements that threads compute one by one, in the order in which they come."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.queue_kinds import FIFOQueue, PaddingFIFOQueue
from millstream._impl.ops.queue_ops import QueueBase
from millstream._impl.train.batching import Batch, names_of, sources_of
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


def _in_order(
    batch: Batch, capacity: int, dynamic_pad: bool, shared_name: str | None, name: str | None
) -> Any:
    def make_queue(types: list[Any], shapes: list[TensorShape]) -> QueueBase:
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        return kind(capacity, types, shapes, shared_name=shared_name)

    def fullness(queue: QueueBase) -> Tensor:
        return gen_ops.cast(queue.size(), dtypes.float32) * (1.0 / capacity)

    default = "batch" if len(batch.sources) == 1 else "batch_join"
    inputs = [tensor for source in batch.sources for tensor in names_of(source)]
    with scopes.name_scope(name, default, inputs) as scope:
        return batch.through(make_queue, (f"fraction_of_{capacity}_full", fullness), scope)


@public("train.batch")
@takes(batch_size=TENSOR, num_threads=INTEGER, capacity=INTEGER, shared_name=TEXT)
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors, whose elements threads compute one by one.

    The threads are those of a queue runner in the graph's collection. They put elements into a
    queue, from which each step takes a batch.

    Parameters
    ----------
    tensors
        A tensor, a list of tensors, or a dictionary of tensors: one element, or with `enqueue_many`
        one in each row. Each may be a `SparseTensor`.
    batch_size
        Elements of a batch.
    num_threads
        How many threads compute elements. With several, the order is not defined.
    capacity
        How many elements the queue holds at most.
    enqueue_many
        Whether each row of the tensors is an element.
    shapes
        Shapes of the elements, by default those of the tensors.
    dynamic_pad
        Whether elements may have different sizes: batches are padded with zeros.
    allow_smaller_final_batch
        Whether the last batch may have fewer elements. Without it, elements that are left are lost.
    shared_name
        A name by which several sessions of a server share the queue.
    name
        Name of the scope.

    Returns
    -------
    Tensor, list or dict
        As `tensors`, with one more dimension; of a list of one tensor, a tensor. At the end of the
        input, steps that read it raise OutOfRangeError.

    Raises
    ------
    ValueError
        The shape of an element is not known.

    Examples
    --------
    >>> pair = tf.train.batch([tf.constant(1), tf.constant([2, 3])], batch_size=4)
    >>> [tensor.shape.as_list() for tensor in pair]
    [[4], [4, 2]]
    """
    made = Batch(
        [tensors], batch_size, num_threads, enqueue_many, shapes, True, allow_smaller_final_batch
    )
    return _in_order(made, capacity, dynamic_pad, shared_name, name)


@public("train.maybe_batch")
@takes(
    keep_input=TENSOR, batch_size=TENSOR, num_threads=INTEGER, capacity=INTEGER, shared_name=TEXT
)
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those elements that are to be kept.

    Parameters
    ----------
    keep_input
        A tensor of bool: a scalar, or with `enqueue_many` a vector with a place for each row.
    tensors, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad
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
        `keep_input` has a shape that does not fit, or the shape of an element is not known.

    Examples
    --------
    >>> number = tf.constant(3)
    >>> odd = tf.train.maybe_batch(number, tf.equal(number % 2, 1), batch_size=4)
    >>> odd.shape.as_list()
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
    return _in_order(made, capacity, dynamic_pad, shared_name, name)


@public("train.batch_join")
@takes(batch_size=TENSOR, capacity=INTEGER, shared_name=TEXT)
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the elements of several sources, with a thread for each source.

    Parameters
    ----------
    tensors_list
        Sources, each like `tensors` of `tf.train.batch`.
    batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch
        As for `tf.train.batch`.
    shared_name, name
        As for `tf.train.batch`.

    Returns
    -------
    Tensor, list or dict
        As one of the sources, with one more dimension.

    Raises
    ------
    ValueError
        The sources are not alike, or the shape of an element is not known.

    Examples
    --------
    >>> joined = tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], batch_size=4)
    >>> joined.shape.as_list()
    [4]
    """
    sources = sources_of(tensors_list)
    made = Batch(sources, batch_size, 1, enqueue_many, shapes, True, allow_smaller_final_batch)
    return _in_order(made, capacity, dynamic_pad, shared_name, name)


@public("train.maybe_batch_join")
@takes(keep_input=TENSOR, batch_size=TENSOR, capacity=INTEGER, shared_name=TEXT)
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those elements of several sources that are to be kept.

    Parameters
    ----------
    tensors_list
        As for `tf.train.batch_join`.
    keep_input
        As for `tf.train.maybe_batch`.
    batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch
        As for `tf.train.batch`.
    shared_name, name
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
    >>> tf.train.maybe_batch_join([[tf.constant(1)]], keep, batch_size=4).shape.as_list()
    [4]
    """
    sources = sources_of(tensors_list)
    made = Batch(
        sources, batch_size, 1, enqueue_many, shapes, keep_input, allow_smaller_final_batch
    )
    return _in_order(made, capacity, dynamic_pad, shared_name, name)
