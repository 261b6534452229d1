"""What all queues have in common: tensors that go from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import constant_value, tensor_of_argument
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import check_ops
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape


def listed(value: Any) -> list[Any]:
    """A list of what a user gave as one value or several."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


@public("QueueBase", "io.QueueBase", "queue.QueueBase")
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

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """One queue of a list, which is chosen in the step.

        Parameters
        ----------
        index
            Which one: an integer or a scalar tensor of integers.
        queues
            Queues of equal dtypes and names.

        Returns
        -------
        QueueBase
            Its shapes are those on which all of the queues agree.

        Raises
        ------
        TypeError
            `queues` is no list of queues of equal dtypes and names.
        """
        if not isinstance(queues, (list, tuple)) or not queues:
            raise TypeError(f"A list of queues expected, got {queues!r}")
        if not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError(f"A list of queues expected, got {queues!r}")
        first = queues[0]
        for queue in queues[1:]:
            if queue.dtypes != first.dtypes:
                raise TypeError("Queues do not have matching component dtypes.")
            if queue.names != first.names:
                raise TypeError("Queues do not have matching component names.")
        with first.queue_ref.graph.as_default(), scopes.name_scope("queue_of_list"):
            handle = _chosen(index, [queue.queue_ref for queue in queues])
        agreed = [_common(shapes) for shapes in zip(*(q.shapes for q in queues), strict=True)]
        known = all(shape.ndims is not None for shape in agreed)
        return QueueBase(first.dtypes, agreed if known else [], first.names, handle)

    @property
    def queue_ref(self) -> Tensor:
        """The handle, which operations on the queue take."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """Name of the operation that makes the handle."""
        return self._queue_ref.op.name

    @property
    def _last_name(self) -> str:
        """The name without its scope, with which names of operations on the queue begin."""
        return self.name.rpartition("/")[2]

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
        scope = name or f"{self._last_name}_enqueue"
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
        scope = name or f"{self._last_name}_EnqueueMany"
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
                self._queue_ref, self._dtypes, name=name or f"{self._last_name}_Dequeue"
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
        rows = int(n) if isinstance(n, int) and n >= 0 else None
        scope = name or f"{self._last_name}_DequeueMany"
        return self._rows(gen_ops.queue_dequeue_many_v2, "dequeue_many", n, rows, scope)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Take several elements out of the queue, or those that a closed queue still has.

        Parameters
        ----------
        n
            How many: an integer or a scalar tensor of int32.
        name
            Name of the operation.

        Returns
        -------
        Tensor, list or dict
            As of `dequeue_many`, but a closed queue with fewer than `n` elements gives them all. A
            step that takes it raises OutOfRangeError when the queue is closed and empty.

        Raises
        ------
        ValueError
            The shapes of the queue's components are not known.
        """
        scope = name or f"{self._last_name}_DequeueUpTo"
        return self._rows(gen_ops.queue_dequeue_up_to_v2, "dequeue_up_to", n, None, scope)

    def _rows(self, op: Any, method: str, n: Any, rows: int | None, name: str) -> Any:
        """Elements as rows. `rows`: how many there are, if it is known."""
        if not self._shapes:
            raise ValueError(
                f"queue {self.name!r}: {method} needs a queue that was made with shapes"
            )
        with self._queue_ref.graph.as_default():
            count = tensor_of_argument(n, "n", dtypes.int32)
            taken = self._outputs(op(self._queue_ref, count, self._dtypes, name=name))
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
            self._queue_ref, cancel_pending_enqueues, name=name or f"{self._last_name}_Close"
        )

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue: a scalar of int32."""
        size: Tensor = gen_ops.queue_size_v2(
            self._queue_ref, name=name or f"{self._last_name}_Size"
        )
        return size

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed: a scalar of bool."""
        closed: Tensor = gen_ops.queue_is_closed_v2(
            self._queue_ref, name=name or f"{self._last_name}_Is_Closed"
        )
        return closed

    def _components(self, vals: Any) -> list[Tensor]:
        """The components that a user gave, as tensors of the queue's dtypes."""
        if isinstance(vals, Mapping) != (self._names is not None):
            if self._names is None:
                raise ValueError(f"Queue must have names to enqueue a dictionary, got {vals!r}")
            raise ValueError(
                f"You must enqueue a dictionary in a Queue with names {self._names}, got {vals!r}"
            )
        if self._names is not None:
            if sorted(vals) != sorted(self._names):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            given = [vals[name] for name in self._names]
        else:
            given = listed(vals)
        # As programs expect: a wrong type is found before a wrong number.
        components = [
            tensor_of_argument(value, f"vals[{i}]", dtype, f"component_{i}")
            for i, (value, dtype) in enumerate(zip(given, self._dtypes, strict=False))
        ]
        if len(given) != len(self._dtypes):
            raise ValueError(
                f"vals: expected {len(self._dtypes)} components, got {len(given)}: {vals!r}"
            )
        return components

    @staticmethod
    def _outputs(result: Any) -> list[Tensor]:
        return listed(result)

    def _element(self, components: list[Tensor]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, components, strict=True))
        return components[0] if len(components) == 1 else components


def _common(shapes: Sequence[TensorShape]) -> TensorShape:
    """The shape with the sizes on which all agree."""
    first = shapes[0]
    if any(shape.ndims is None or shape.ndims != first.ndims for shape in shapes):
        return TensorShape(None)
    sizes = zip(*(shape.as_list() for shape in shapes), strict=True)
    return TensorShape([one[0] if len(set(one)) == 1 else None for one in sizes])


def _chosen(index: Any, handles: Sequence[Tensor]) -> Tensor:
    """The handle of that number. All others are dead in the step."""
    number = tensor_of_argument(index, "index", dtypes.int32)
    known = constant_value(number)
    if known is not None:
        if not 0 <= int(known) < len(handles):
            raise ValueError(f"index: expected one of {len(handles)} queues, got {int(known)}")
        return handles[int(known)]
    with scopes.control_dependencies(
        [
            check_ops.assert_non_negative(number),
            check_ops.assert_less(number, len(handles)),
        ]
    ):
        number = gen_ops.identity(number)
    taken = [
        gen_ops.switch(handle, gen_ops.equal(number, i))[1] for i, handle in enumerate(handles)
    ]
    chosen: Tensor = gen_ops.merge(taken)[0]
    return chosen
