"""Queues: tensors that go from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, NAMES, TEXT, or_none, takes
from millstream._impl.graph.convert import tensor_of_argument
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.values import dtypes, tensor_shape
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@public("QueueBase")
class QueueBase:
    """What all queues have in common.

    A queue holds elements, each a tuple of tensors. Operations that enqueue wait while the queue is
    full, those that dequeue while it is empty; a step that waits holds no thread of the session's
    pool, and ends when it is cancelled, when its time is over and when the session is closed.

    Parameters
    ----------
    dtypes
        A dtype for each component of an element.
    shapes
        A shape for each component, all known in full; empty: elements may have any shapes.
    names
        A name for each component, or None; with names, elements are dictionaries.
    queue_ref
        The tensor that is the queue's handle.

    Examples
    --------
    >>> queue = tf.FIFOQueue(10, tf.int32)
    >>> isinstance(queue, tf.QueueBase), queue.name
    (True, 'fifo_queue')
    >>> queue.enqueue(7).run()
    >>> int(queue.size().eval()), int(queue.dequeue().eval())
    (1, 7)
    """

    def __init__(
        self,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = list(dtypes)
        self._shapes = list(shapes)
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref

    @property
    def queue_ref(self) -> Tensor:
        """The handle, which operations on the queue take."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """Name of the operation that makes the handle, without its scope."""
        return self._queue_ref.op.name.rpartition("/")[2]

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component, unknown where elements may have any."""
        return self._shapes or [TensorShape(None) for _ in self._dtypes]

    @property
    def names(self) -> list[str] | None:
        """The name of each component, or None."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Put one element into the queue.

        Parameters
        ----------
        vals
            A tensor, a list or tuple of tensors, or with names a dictionary.
        name
            Name of the operation.

        Returns
        -------
        Operation
            It waits while the queue is full; running it raises CancelledError when the queue is
            closed.

        Raises
        ------
        TypeError
            A value cannot have its component's dtype.
        ValueError
            The components are not those of the queue.
        """
        scope = name or f"{self.name}_enqueue"
        with self._queue_ref.graph.as_default(), scopes.name_scope(scope) as whole:
            components = self._components(vals)
            for given, shape in zip(components, self.shapes, strict=True):
                given.shape.assert_is_compatible_with(shape)
            return gen_ops.queue_enqueue_v2(self._queue_ref, components, name=whole)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Put the rows of tensors into the queue, one element a row.

        Parameters
        ----------
        vals
            As for `enqueue`; every tensor has one more dimension, of the same size in all.
        name
            Name of the operation.

        Returns
        -------
        Operation
            It waits until all elements are in.

        Raises
        ------
        TypeError
            A value cannot have its component's dtype.
        ValueError
            The components are not those of the queue.
        """
        scope = name or f"{self.name}_EnqueueMany"
        with self._queue_ref.graph.as_default(), scopes.name_scope(scope) as whole:
            components = self._components(vals)
            for given, shape in zip(components, self.shapes, strict=True):
                rows = given.shape.with_rank_at_least(1)
                rows[1:].assert_is_compatible_with(shape)
            return gen_ops.queue_enqueue_many_v2(self._queue_ref, components, name=whole)

    def dequeue(self, name: str | None = None) -> Any:
        """Take one element out of the queue.

        Parameters
        ----------
        name
            Name of the operation.

        Returns
        -------
        Tensor, list or dict
            The component when there is one, else a list of them, or with names a dictionary. A step
            that takes it waits while the queue is empty, and raises OutOfRangeError when the queue
            is closed and empty.
        """
        taken = self._outputs(
            gen_ops.queue_dequeue_v2(
                self._queue_ref, self._dtypes, name=name or f"{self.name}_Dequeue"
            )
        )
        for component, shape in zip(taken, self.shapes, strict=True):
            component.set_shape(shape)
        return self._element(taken)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Take several elements out of the queue, as the rows of tensors.

        Parameters
        ----------
        n
            How many: an integer or a scalar tensor of int32.
        name
            Name of the operation.

        Returns
        -------
        Tensor, list or dict
            As of `dequeue`, with one more dimension. A step that takes it waits for `n` elements,
            and raises OutOfRangeError when the queue is closed and has fewer, which stay.

        Raises
        ------
        ValueError
            The shapes of the queue's components are not known.
        """
        if not self._shapes:
            raise ValueError(
                f"queue {self.name!r}: dequeue_many needs a queue that was made with shapes"
            )
        with self._queue_ref.graph.as_default():
            count = tensor_of_argument(n, "n", dtypes.int32)
            taken = self._outputs(
                gen_ops.queue_dequeue_many_v2(
                    self._queue_ref, count, self._dtypes, name=name or f"{self.name}_DequeueMany"
                )
            )
        rows = int(n) if isinstance(n, int) and n >= 0 else None
        for component, shape in zip(taken, self.shapes, strict=True):
            component.set_shape(TensorShape([rows]).concatenate(shape))
        return self._element(taken)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Say that no more elements will come.

        What is in the queue can still be taken out.

        Parameters
        ----------
        cancel_pending_enqueues
            Whether enqueues that wait end with CancelledError, instead of being done first.
        name
            Name of the operation.
        """
        return gen_ops.queue_close_v2(
            self._queue_ref, cancel_pending_enqueues, name=name or f"{self.name}_Close"
        )

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue: a scalar of int32."""
        size: Tensor = gen_ops.queue_size_v2(self._queue_ref, name=name or f"{self.name}_Size")
        return size

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed: a scalar of bool."""
        closed: Tensor = gen_ops.queue_is_closed_v2(
            self._queue_ref, name=name or f"{self.name}_Is_Closed"
        )
        return closed

    def _components(self, vals: Any) -> list[Tensor]:
        """The components that a user gave, as tensors of the queue's dtypes."""
        if isinstance(vals, Mapping) != (self._names is not None):
            wanted = "a dictionary, as the queue has names" if self._names else "no dictionary"
            raise ValueError(f"vals: expected {wanted}, got {vals!r}")
        if self._names is not None:
            if sorted(vals) != sorted(self._names):
                raise ValueError(
                    f"vals: expected the names {sorted(self._names)}, got {sorted(vals)}"
                )
            given = [vals[name] for name in self._names]
        else:
            given = _listed(vals)
        if len(given) != len(self._dtypes):
            raise ValueError(
                f"vals: expected {len(self._dtypes)} components, got {len(given)}: {vals!r}"
            )
        return [
            tensor_of_argument(value, f"vals[{i}]", dtype, f"component_{i}")
            for i, (value, dtype) in enumerate(zip(given, self._dtypes, strict=True))
        ]

    @staticmethod
    def _outputs(result: Any) -> list[Tensor]:
        return _listed(result)

    def _element(self, components: list[Tensor]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, components, strict=True))
        return components[0] if len(components) == 1 else components


@public("FIFOQueue")
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
        labels = None if names is None else [str(label) for label in _listed(names)]
        if labels is not None and len(labels) != len(types):
            raise ValueError(f"names: expected {len(types)} names, got {labels!r}")
        handle: Tensor = gen_ops.fifo_queue_v2(
            types,
            known,
            capacity,
            container=get_default_graph().state.container,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, known, labels, handle)


def _dtypes_of(given: Any) -> list[DType]:
    try:
        return [dtypes.as_dtype(dtype) for dtype in _listed(given)]
    except TypeError as error:
        raise TypeError(f"dtypes: {error}") from None


def _shapes_of(given: Any, count: int) -> list[TensorShape]:
    """A shape for each of `count` components; empty when the user gave none."""
    if given is None:
        return []
    if not isinstance(given, (TensorShape, list, tuple)):
        raise TypeError(f"shapes: expected a list of shapes, got {given!r}")
    # The shape of the only component may stand without a list.
    is_one = isinstance(given, TensorShape) or all(isinstance(dim, int) for dim in given)
    shapes = [tensor_shape.as_shape(shape) for shape in ([given] if is_one else given)]
    if len(shapes) != count:
        raise ValueError(f"shapes: expected {count} shapes, got {given!r}")
    for shape in shapes:
        if not shape.is_fully_defined():
            raise ValueError(f"shapes: expected shapes that are known in full, got {shape}")
    return shapes
