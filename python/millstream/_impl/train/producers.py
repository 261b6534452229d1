"""Queues that threads fill with the elements of a tensor, epoch after epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, SHAPE, TENSOR, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_ops, check_ops, random_ops
from millstream._impl.ops.queue_kinds import FIFOQueue
from millstream._impl.ops.queue_ops import QueueBase
from millstream._impl.summary import summary_ops
from millstream._impl.train.queue_runner import QueueRunner, add_queue_runner
from millstream._impl.values import dtypes
from millstream._impl.variables.part_ops import count_up_to
from millstream._impl.variables.variables import Variable


@public("train.limit_epochs")
@takes(tensor=TENSOR, num_epochs=or_none(INTEGER))
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """A tensor that can be read a limited number of times.

    The count is a local variable, `epochs`: run `tf.local_variables_initializer()` first.

    Parameters
    ----------
    tensor
        The tensor.
    num_epochs
        How often steps may read it; None: without limit.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Like `tensor`. Steps after the last one raise OutOfRangeError.

    Raises
    ------
    ValueError
        `num_epochs` is not positive.

    Examples
    --------
    >>> once = tf.train.limit_epochs(tf.constant(3), num_epochs=1)
    >>> tf.local_variables_initializer().run()
    >>> int(once.eval())
    3
    >>> try:
    ...     once.eval()
    ... except tf.errors.OutOfRangeError:
    ...     print("that was all")
    that was all
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with scopes.name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            0,
            dtype=dtypes.int64,
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with scopes.control_dependencies([count_up_to(epochs, num_epochs)]):
            return gen_ops.identity(tensor, name=scope)


@public("train.input_producer")
@takes(
    input_tensor=TENSOR,
    element_shape=or_none(SHAPE),
    num_epochs=or_none(INTEGER),
    seed=or_none(INTEGER),
    capacity=INTEGER,
    shared_name=TEXT,
    summary_name=TEXT,
)
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of the rows of a tensor, epoch after epoch.

    A queue runner of the graph's collection fills it.

    Parameters
    ----------
    input_tensor
        The tensor.
    element_shape
        Shape of a row, if that of the tensor is not known.
    num_epochs
        How often each row comes; None: without end. The count is a local variable.
    shuffle
        Whether the rows of each epoch come in random order.
    seed
        Seed of the order.
    capacity
        How many rows the queue holds at most.
    shared_name
        A name by which several sessions of a server share the queue.
    summary_name
        Name of a summary of how full the queue is; None: no summary.
    name
        Name of the queue.
    cancel_op
        Operation that closes the queue when the coordinator stops.

    Returns
    -------
    QueueBase
        After the last epoch, steps that dequeue raise OutOfRangeError.

    Raises
    ------
    ValueError
        The shape of a row is not known.

    Examples
    --------
    >>> queue = tf.train.input_producer([[1, 2], [3, 4]], shuffle=False)
    >>> queue.dequeue().shape.as_list()
    [2]
    """
    if cancel_op is not None and not isinstance(cancel_op, (Operation, Tensor)):
        raise TypeError(f"cancel_op: expected an operation, got {cancel_op!r}")
    with scopes.name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        known = rows.shape.with_rank_at_least(1)[1:].merge_with(element_shape)
        if not known.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_ops.random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity,
            [rows.dtype.base_dtype],
            [known],
            shared_name=shared_name,
            name=name or "FIFOQueueV2",
        )
        runner = QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            size = gen_ops.cast(queue.size(), dtypes.float32)
            summary_ops.scalar(summary_name, size * (1.0 / capacity))
        return queue


@public("train.match_filenames_once", "io.match_filenames_once")
@takes(pattern=TENSOR)
def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """The files that match a pattern, found once.

    Parameters
    ----------
    pattern
        A pattern, or a vector of several. "*" stands for any part of a name.
    name
        Name of the variable.

    Returns
    -------
    Variable
        A local variable: `tf.local_variables_initializer` looks for the files.

    Examples
    --------
    >>> names = tf.train.match_filenames_once("/no/such/folder/*.txt")
    >>> tf.local_variables_initializer().run()
    >>> names.eval().tolist()
    []
    """
    with scopes.name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            gen_ops.matching_files(pattern),
            trainable=False,
            name=scope,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@public("train.string_input_producer")
@takes(
    string_tensor=TENSOR,
    num_epochs=or_none(INTEGER),
    seed=or_none(INTEGER),
    capacity=INTEGER,
    shared_name=TEXT,
)
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of strings, such as names of files, epoch after epoch.

    Parameters
    ----------
    string_tensor
        A vector of strings, which is not empty.
    num_epochs, shuffle, seed, capacity, shared_name, name, cancel_op
        As for `tf.train.input_producer`.

    Returns
    -------
    QueueBase

    Raises
    ------
    ValueError
        `string_tensor` is empty.
    InvalidArgumentError
        In a step: it is empty then.

    Examples
    --------
    >>> queue = tf.train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
    >>> tf.local_variables_initializer().run()
    >>> coord = tf.train.Coordinator()
    >>> threads = tf.train.start_queue_runners(coord=coord)
    >>> queue.dequeue().eval(), queue.dequeue().eval()
    (b'a', b'b')
    >>> coord.request_stop()
    >>> coord.join(threads)
    """
    no_strings = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, TensorLike) and not len(string_tensor):
        raise ValueError(no_strings)
    with scopes.name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtypes.string)
        has_some = check_ops.Assert(gen_ops.greater(gen_ops.size(strings), 0), [no_strings])
        with scopes.control_dependencies([has_some]):
            strings = gen_ops.identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


@public("train.range_input_producer")
@takes(
    limit=TENSOR,
    num_epochs=or_none(INTEGER),
    seed=or_none(INTEGER),
    capacity=INTEGER,
    shared_name=TEXT,
)
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the integers from 0 to a limit, exclusive, epoch after epoch.

    Parameters
    ----------
    limit
        The limit, an integer or a scalar tensor of int32.
    num_epochs, shuffle, seed, capacity, shared_name, name
        As for `tf.train.input_producer`.

    Returns
    -------
    QueueBase

    Examples
    --------
    >>> tf.train.range_input_producer(5, shuffle=False).dtypes
    [tf.int32]
    """
    with scopes.name_scope(name, "input_producer", [limit]) as scope:
        numbers = gen_ops.range(0, limit, 1)
        return input_producer(
            numbers,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


@public("train.slice_input_producer")
@takes(num_epochs=or_none(INTEGER), seed=or_none(INTEGER), capacity=INTEGER, shared_name=TEXT)
def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each of several tensors, epoch after epoch.

    Parameters
    ----------
    tensor_list
        Tensors of as many rows each.
    num_epochs, shuffle, seed, capacity, shared_name, name
        As for `tf.train.input_producer`.

    Returns
    -------
    list of Tensor
        In each step the same row of all tensors, the next one of a queue of their numbers.

    Raises
    ------
    ValueError
        `tensor_list` is empty.

    Examples
    --------
    >>> images, label = tf.train.slice_input_producer([[[1.0], [2.0]], [0, 1]], shuffle=False)
    >>> images.shape.as_list(), label.shape.as_list()
    ([1], [])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(f"tensor_list: expected a list of tensors, got {tensor_list!r}")
    with scopes.name_scope(name, "input_producer", list(tensor_list)):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = gen_ops.shape(tensors[0])[0]
        numbers = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        number = numbers.dequeue()
        return [array_ops.gather(tensor, number) for tensor in tensors]
