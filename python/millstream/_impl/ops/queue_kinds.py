"""The kinds of queues, which differ in the element that comes out next."""

from __future__ import annotations

import hashlib
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, NAMES, TEXT, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.random_seed import get_seed
from millstream._impl.ops.queue_ops import QueueBase, listed
from millstream._impl.values import tensor_shape
from millstream._impl.values.dtypes import DType, as_dtype, int64
from millstream._impl.values.tensor_shape import TensorShape


@public("FIFOQueue", "queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue whose elements come out in the order in which they went in.

    Parameters
    ----------
    capacity
        How many elements it holds at most; negative: any number.
    dtypes
        A dtype for each component of an element.
    shapes
        A shape for each component, known in full, or None: elements may have any shapes, and
        cannot be taken out by `dequeue_many`.
    names
        A name for each component, or None; with names, elements are dictionaries.
    shared_name
        A name by which several graphs and nodes of one session mean the same queue.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        There is not one shape or name for each dtype, or a shape is not known in full.

    Examples
    --------
    >>> queue = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    >>> queue.enqueue_many([[1, 2, 3]]).run()
    >>> queue.close().run()
    >>> int(queue.dequeue().eval()), queue.dequeue_many(2).eval().tolist()
    (1, [2, 3])
    >>> try:
    ...     queue.dequeue().eval()
    ... except tf.errors.OutOfRangeError as error:
    ...     print("insufficient elements (requested 1, current size 0)" in error.message)
    True
    """

    @takes(capacity=INTEGER, names=or_none(NAMES), shared_name=TEXT)
    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = _dtypes_of(dtypes)
        known = _shapes_of(shapes, len(types))
        handle: Tensor = gen_ops.fifo_queue_v2(
            types, known, capacity, **_place(shared_name), name=name
        )
        super().__init__(types, known, _names_of(names, len(types)), handle)


@public("PaddingFIFOQueue", "io.PaddingFIFOQueue", "queue.PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may have different sizes.

    `dequeue_many` and `dequeue_up_to` pad the elements with zeros, or empty strings, to the largest
    that they take.

    Parameters
    ----------
    capacity
        How many elements it holds at most; negative: any number.
    dtypes
        A dtype for each component of an element.
    shapes
        A shape of known rank for each component. A size of None may differ between elements.
    names
        A name for each component, or None; with names, elements are dictionaries.
    shared_name
        A name by which several graphs and nodes of one session mean the same queue.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        There is not one shape or name for each dtype, or the rank of a shape is not known.

    Examples
    --------
    >>> queue = tf.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    >>> for row in ([1], [2, 3]):
    ...     queue.enqueue([row]).run()
    >>> queue.dequeue_many(2).eval().tolist()
    [[1, 0], [2, 3]]
    """

    @takes(capacity=INTEGER, names=or_none(NAMES), shared_name=TEXT)
    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _dtypes_of(dtypes)
        known = _shapes_of(shapes, len(types), may_differ=True)
        if len(known) != len(types):
            raise ValueError(f"shapes: expected a shape for each of {len(types)} dtypes, got none")
        handle: Tensor = gen_ops.padding_fifo_queue_v2(
            types, known, capacity, **_place(shared_name), name=name
        )
        super().__init__(types, known, _names_of(names, len(types)), handle)


@public("PriorityQueue", "io.PriorityQueue", "queue.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose elements come out by priority, the smallest number first.

    The first component of each element is its priority, a scalar of int64.

    Parameters
    ----------
    capacity
        How many elements it holds at most; negative: any number.
    types
        A dtype for each component after the priority.
    shapes
        A shape for each of these, known in full, or None: elements may have any shapes.
    names
        A name for each component, that of the priority first, or None.
    shared_name
        A name by which several graphs and nodes of one session mean the same queue.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        There is not one shape for each dtype or one name for each component, or a shape is not
        known in full.

    Examples
    --------
    >>> queue = tf.PriorityQueue(10, tf.string, shapes=[()])
    >>> queue.enqueue_many([[7, 2], ["later", "soon"]]).run()
    >>> queue.dequeue_many(2)[1].eval().tolist()
    [b'soon', b'later']
    """

    @takes(capacity=INTEGER, names=or_none(NAMES), shared_name=TEXT)
    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        of_values = _dtypes_of(types, "types")
        known = _shapes_of(shapes, len(of_values))
        handle: Tensor = gen_ops.priority_queue_v2(
            shapes=known,
            component_types=of_values,
            capacity=capacity,
            **_place(shared_name),
            name=name,
        )
        dtypes = [int64, *of_values]
        all_shapes = [TensorShape([]), *known] if known or not of_values else []
        super().__init__(dtypes, all_shapes, _names_of(names, len(dtypes)), handle)


@public("RandomShuffleQueue", "io.RandomShuffleQueue", "queue.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in random order.

    Parameters
    ----------
    capacity
        How many elements it holds at most; negative: any number.
    min_after_dequeue
        How many elements dequeues leave in it until it is closed. The more there are, the better
        the elements are mixed.
    dtypes
        A dtype for each component of an element.
    shapes
        A shape for each component, known in full, or None: elements may have any shapes.
    names
        A name for each component, or None; with names, elements are dictionaries.
    seed
        Seed of the order, see `set_random_seed`.
    shared_name
        A name by which several graphs and nodes of one session mean the same queue.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        There is not one shape or name for each dtype, or a shape is not known in full.

    Examples
    --------
    >>> queue = tf.RandomShuffleQueue(10, 0, tf.int32, shapes=[()], seed=1)
    >>> queue.enqueue_many([[1, 2, 3]]).run()
    >>> sorted(queue.dequeue_many(3).eval().tolist())
    [1, 2, 3]
    """

    @takes(
        capacity=INTEGER,
        min_after_dequeue=INTEGER,
        names=or_none(NAMES),
        seed=or_none(INTEGER),
        shared_name=TEXT,
    )
    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _dtypes_of(dtypes)
        known = _shapes_of(shapes, len(types))
        first, second = get_seed(seed)
        if seed is None and first is not None and shared_name is not None:
            # The graph's seed and the shared name decide, wherever in a graph the queue is made.
            text = f"{first}{shared_name}".encode()
            second = int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF
        handle: Tensor = gen_ops.random_shuffle_queue_v2(
            types,
            known,
            capacity,
            min_after_dequeue,
            first or 0,
            second or 0,
            **_place(shared_name),
            name=name,
        )
        super().__init__(types, known, _names_of(names, len(types)), handle)


def _place(shared_name: str | None) -> dict[str, str]:
    """Where a queue lives."""
    container: str = get_default_graph().state.container
    return {"container": container, "shared_name": shared_name or ""}


def _names_of(given: Any, count: int) -> list[str] | None:
    """A name for each of `count` components."""
    if given is None:
        return None
    labels = [str(label) for label in listed(given)]
    if len(labels) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes: expected "
            f"{count} names, got {labels!r}"
        )
    return labels


def _dtypes_of(given: Any, argument: str = "dtypes") -> list[DType]:
    try:
        return [as_dtype(dtype) for dtype in listed(given)]
    except TypeError as error:
        raise TypeError(f"{argument}: {error}") from None


def _shapes_of(given: Any, count: int, may_differ: bool = False) -> list[TensorShape]:
    """A shape for each of `count` components; empty when the user gave none.

    `may_differ`: elements may have different sizes, but not different ranks.
    """
    if given is None:
        return []
    if not isinstance(given, (TensorShape, list, tuple)):
        raise TypeError(f"shapes: expected a list of shapes, got {given!r}")
    # The shape of the only component may stand without a list.
    is_one = isinstance(given, TensorShape) or (
        all(isinstance(dim, int) for dim in given) and (count == 1 or len(given) > 0)
    )
    shapes = [tensor_shape.as_shape(shape) for shape in ([given] if is_one else given)]
    if len(shapes) != count:
        raise ValueError(
            f"Queue shapes must have the same length as dtypes: expected {count} shapes, got "
            f"{given!r}"
        )
    for shape in shapes:
        if may_differ and shape.ndims is None:
            raise ValueError(f"All shapes must have a known rank, got {shape}")
        if not may_differ and not shape.is_fully_defined():
            raise ValueError(
                f"All shapes must be fully defined: expected what is known in full, got {shape}"
            )
    return shapes
