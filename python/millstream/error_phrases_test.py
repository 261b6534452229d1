"""The first lines of errors contain the phrases that programs match."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RAW_OPS: Any = tf.raw_ops


def _feed_number_too_large() -> None:
    c = tf.constant(1)
    tf.Session().run(c, {c: 2**63 - 1})


def _assert_rank_in_step(rank: Any, message: str | None = None) -> None:
    x = tf.placeholder(tf.float32, name="my_tensor")
    tf.Session().run(tf.assert_rank(x, rank, message=message), {x: 0.0})


def _assert_rank_at_least_in_step() -> None:
    x = tf.placeholder(tf.float32, name="my_tensor")
    tf.Session().run(tf.assert_rank_at_least(x, 2), {x: [1.0, 2.0]})


def _assert_negative_in_step() -> None:
    x = tf.placeholder(tf.float32, name="my_tensor")
    tf.Session().run(tf.assert_negative(x, message="fail"), {x: 1.0})


def _run_unfed() -> None:
    p = tf.placeholder(tf.float32, [10, 10], name="p")
    tf.Session().run(tf.identity(p))


def _run_partition(partitions: Any, count: int) -> None:
    fed = tf.placeholder(tf.int32)
    parts = tf.dynamic_partition(tf.zeros_like(fed), fed, count)
    tf.Session().run(parts, {fed: partitions})


def _run_gather(indices: Any) -> None:
    fed = tf.placeholder(tf.int32)
    tf.Session().run(tf.gather(tf.zeros([3]), fed), {fed: indices})


def _run_pad() -> None:
    fed = tf.placeholder(tf.int32)
    tf.Session().run(tf.pad(tf.zeros([2]), fed), {fed: [[-1, 0]]})


def _run_cross_entropy_of_a_scalar() -> None:
    fed = tf.placeholder(tf.int32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=fed, logits=tf.zeros([1, 3]))
    tf.Session().run(loss, {fed: 0})


def _run_arg_min_of_nothing() -> None:
    tf.Session().run(tf.argmin(tf.zeros([0]), 0))


def _queue_and_enqueues() -> tuple[Any, list[Any]]:
    queue = tf.FIFOQueue(5, tf.int32)
    return queue, [queue.enqueue(1)]


def _scalar() -> Any:
    return tf.constant(1.0, name="my_tensor")


_CASES: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    (
        r"Cannot interpret feed_dict",
        TypeError,
        lambda: tf.Session().run(tf.constant(1), {"a": 1}),
    ),
    (
        r"cannot be a tf.Tensor object",
        TypeError,
        lambda: tf.Session().run(_scalar(), {_scalar(): tf.constant(2.0)}),
    ),
    (r"is not compatible with Tensor type", TypeError, _feed_number_too_large),
    (
        r"No session factory registered for the given session options",
        tf.errors.NotFoundError,
        lambda: tf.Session("INVALID_TARGET"),
    ),
    (
        r"not defined on an unknown TensorShape",
        ValueError,
        lambda: tf.TensorShape(None).as_list(),
    ),
    (r"Multiple ellipses", ValueError, lambda: tf.zeros([2, 2])[..., ...]),
    (
        r"unknown Dimension",
        ValueError,
        lambda: tf.convert_to_tensor(tf.Dimension(None)),
    ),
    (
        r"partially known",
        ValueError,
        lambda: tf.convert_to_tensor(tf.TensorShape(None)),
    ),
    (
        r"partially known",
        ValueError,
        lambda: tf.convert_to_tensor(tf.TensorShape([None, 3])),
    ),
    (
        r"Dimensions must be equal, but are 3 and 2",
        ValueError,
        lambda: tf.assert_equal([1, 2, 3], [1, 2]),
    ),
    (
        r"Dimensions must be equal, but are 2 and 3",
        ValueError,
        lambda: tf.assert_less([1, 2], [1, 2, 3]),
    ),
    (
        r"Expected.*integer",
        TypeError,
        lambda: tf.assert_integer(tf.constant([1.0, 2.0], name="floats")),
    ),
    (r"to be iterable", TypeError, lambda: tf.assert_proper_iterable(1234)),
    (r"proper", TypeError, lambda: tf.assert_proper_iterable(np.array([1, 2, 3]))),
    (r"my_tensor.*rank", tf.errors.InvalidArgumentError, _assert_rank_at_least_in_step),
    (
        r"my_tensor.*rank at least 1",
        ValueError,
        lambda: tf.assert_rank_at_least(_scalar(), 1),
    ),
    (
        r"Rank must be a scalar",
        ValueError,
        lambda: tf.assert_rank(tf.constant([1.0, 2.0]), [1, 2]),
    ),
    (r"Rank must be a scalar", ValueError, lambda: _assert_rank_in_step([1, 2])),
    (
        r"fail.*my_tensor.*rank",
        tf.errors.InvalidArgumentError,
        lambda: _assert_rank_in_step(1, "fail"),
    ),
    (
        r"fail.*my_tensor.*must have rank 1",
        ValueError,
        lambda: tf.assert_rank(_scalar(), 1, message="fail"),
    ),
    (
        r"fail.*Condition x < 0 did not hold element-wise:.*x \(my_tensor:0\) =",
        tf.errors.InvalidArgumentError,
        _assert_negative_in_step,
    ),
    (
        r"Condition x == y did not hold element-wise:",
        tf.errors.InvalidArgumentError,
        lambda: tf.assert_equal([1], [2]),
    ),
    (
        r"No variables",
        ValueError,
        lambda: tf.train.GradientDescentOptimizer(1.0).minimize(_scalar()),
    ),
    (
        r"must feed a value for placeholder tensor 'p' with dtype float and shape \[10,10\]",
        tf.errors.InvalidArgumentError,
        _run_unfed,
    ),
    (
        r"Dimensions must be equal, but are 37 and 36",
        ValueError,
        lambda: tf.matmul(tf.zeros([32, 37]), tf.zeros([36, 2])),
    ),
    (
        r"partitions\[2\] = 99 is not in \[0, 4\)",
        tf.errors.InvalidArgumentError,
        lambda: _run_partition([0, 1, 99], 4),
    ),
    (
        r"partitions\[0,0\] = 17 is not in \[0, 7\)",
        tf.errors.InvalidArgumentError,
        lambda: _run_partition([[17]], 7),
    ),
    (
        r"partitions = 17 is not in \[0, 7\)",
        tf.errors.InvalidArgumentError,
        lambda: _run_partition(17, 7),
    ),
    (
        r"indices\[0,0\] = 7 is not in \[0, 3\)",
        tf.errors.InvalidArgumentError,
        lambda: _run_gather([[7]]),
    ),
    (
        r"must be non-negative",
        ValueError,
        lambda: tf.pad(tf.zeros([2]), [[-1, 0]]),
    ),
    (r"must be non-negative", tf.errors.InvalidArgumentError, _run_pad),
    (
        r"must be evenly divisible by 17",
        ValueError,
        lambda: tf.reshape(tf.zeros([20677]), [17, -1]),
    ),
    (r"out of range", ValueError, lambda: tf.zeros([2])[0, 0]),
    (r"should evenly divide", ValueError, lambda: tf.split(tf.zeros([4]), 3)),
    (
        r"Dimensions must be equal, but are 3 and 2",
        ValueError,
        lambda: tf.assert_less(tf.placeholder(tf.int32, [3]), tf.placeholder(tf.int32, [2])),
    ),
    (
        r"labels must be 1-D",
        ValueError,
        lambda: _RAW_OPS.SparseSoftmaxCrossEntropyWithLogits(labels=0, features=tf.zeros([1, 3])),
    ),
    (r"labels must be 1-D", tf.errors.InvalidArgumentError, _run_cross_entropy_of_a_scalar),
    (
        r"Rank mismatch",
        ValueError,
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=tf.zeros([1, 3])),
    ),
    (r"is empty", tf.errors.InvalidArgumentError, _run_arg_min_of_nothing),
    # Queues, input threads and savers.
    (
        r"Queue shapes must have the same length as dtypes",
        ValueError,
        lambda: tf.FIFOQueue(5, [tf.int32, tf.float32], shapes=[()]),
    ),
    (
        r"List of names must have the same length as the list of dtypes",
        ValueError,
        lambda: tf.FIFOQueue(5, [tf.int32], names=["a", "b"]),
    ),
    (
        r"All shapes must be fully defined",
        ValueError,
        lambda: tf.FIFOQueue(5, tf.int32, [[None]]),
    ),
    (
        r"You must enqueue a dictionary in a Queue with names",
        ValueError,
        lambda: tf.FIFOQueue(5, [tf.int32], names=["a"]).enqueue(1),
    ),
    (
        r"Queue must have names to enqueue a dictionary",
        ValueError,
        lambda: tf.FIFOQueue(5, [tf.int32]).enqueue({"a": 1}),
    ),
    (
        r"Keys in dictionary to enqueue do not match names of Queue\.  Dictionary: \(\['b'\]\)",
        ValueError,
        lambda: tf.FIFOQueue(5, [tf.int32], names=["a"]).enqueue({"b": 1}),
    ),
    (r"A list of queues expected", TypeError, lambda: tf.QueueBase.from_list(0, [])),
    (
        r"Cannot infer Tensor's rank",
        ValueError,
        lambda: tf.train.batch([tf.placeholder(tf.float32)], 3),
    ),
    (
        r"Expected types to be consistent: float32 vs\. int32\.",
        TypeError,
        lambda: tf.train.batch_join([[1.0], [1]], 3),
    ),
    (
        r"capacity 10 must be bigger than min_after_dequeue 10\.",
        ValueError,
        lambda: tf.train.shuffle_batch([_scalar()], 3, 10, 10),
    ),
    (
        r"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw",
        TypeError,
        lambda: tf.train.QueueRunner(*_queue_and_enqueues(), queue_closed_exception_types=3),
    ),
    (
        r"sess must be a `tf.Session` object\. Given class: <class 'int'>",
        TypeError,
        lambda: tf.train.start_queue_runners(3),
    ),
    (
        r"names_to_saveables must be a dict mapping string names to Tensors/Variables\. Not a vari",
        TypeError,
        lambda: tf.train.Saver({"x": 3}),
    ),
]


@pytest.mark.parametrize(("phrase", "kind", "program"), _CASES)
def test_first_lines_contain_the_phrase(
    phrase: str, kind: type[Exception], program: Callable[[], Any]
) -> None:
    with tf.Graph().as_default(), pytest.raises(kind) as caught:
        program()
    assert type(caught.value) is kind
    message = getattr(caught.value, "message", None) or str(caught.value)
    first_line = message.splitlines()[0]
    assert re.search(phrase, first_line), first_line
