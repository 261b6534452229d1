"""Gradients of loops that stand in several tasks of a cluster, or in another than the master."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import millstream as tf

_RAW_OPS: Any = tf.raw_ops


class _Targets(NamedTuple):
    """The servers of a cluster, any of which may be the master."""

    worker: str
    ps: str


@pytest.fixture
def targets() -> Iterator[_Targets]:
    """A worker and a parameter server, which live as long as their test."""
    workers, servers = tf.test.create_local_cluster(num_workers=1, num_ps=1)
    yield _Targets(workers[0].target, servers[0].target)
    del workers, servers


def _conditional_loop() -> list[Any]:
    """The result of a loop that reads a variable in some iterations, and its gradients."""
    w = tf.get_variable("w", initializer=tf.constant([2.0, 3.0]))
    x = tf.constant([1.0, 2.0])

    def body(i: Any, a: Any) -> tuple[Any, Any]:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * w, lambda: tf.sin(a) + a)

    _, result = tf.while_loop(lambda i, _: i < 4, body, [0, x])
    return [result, *tf.gradients(tf.reduce_sum(result), [x, w])]


def _nested_loop() -> list[Any]:
    """The result of a loop in a loop, whose lists are elements of lists, and its gradients."""
    w = tf.get_variable("w", initializer=tf.constant(1.5))
    x = tf.constant([0.5, 0.25])

    def inner(j: Any, a: Any) -> tuple[Any, Any]:
        return j + 1, tf.sin(a) * w

    def outer(i: Any, a: Any) -> tuple[Any, Any]:
        return i + 1, tf.while_loop(lambda j, _: j < 2, inner, [0, a])[1] + a * a

    _, result = tf.while_loop(lambda i, _: i < 3, outer, [0, x])
    return [result, *tf.gradients(tf.reduce_sum(result), [x, w])]


def _values(make: Callable[[], list[Any]], target: str, device: Any) -> list[Any]:
    with tf.Graph().as_default():
        with tf.device(device):
            fetches = make()
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            return list(session.run(fetches))


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("make", [_conditional_loop, _nested_loop])
@pytest.mark.parametrize("master", ["worker", "ps"])
@pytest.mark.parametrize("place", ["variables of the server", "the server", "the worker"])
def test_gradients_in_a_cluster_are_those_of_one_process(
    targets: _Targets, place: str, master: str, make: Callable[[], list[Any]], use_resource: bool
) -> None:
    device = {
        "variables of the server": tf.train.replica_device_setter(
            ps_tasks=1, worker_device="/job:worker/task:0"
        ),
        "the server": "/job:ps/task:0",
        "the worker": "/job:worker/task:0",
    }[place]

    def with_variables() -> list[Any]:
        with tf.variable_scope("", use_resource=use_resource):
            return make()

    alone = _values(with_variables, "", None)
    spread = _values(with_variables, getattr(targets, master), device)
    for one, other in zip(alone, spread, strict=True):
        np.testing.assert_array_equal(other, one)


def test_a_list_that_is_asked_for_in_two_tasks_is_refused(targets: _Targets) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            made = _RAW_OPS.EmptyTensorList(
                element_shape=-1, max_num_elements=-1, element_dtype=tf.float32, name="made"
            )
        with tf.device("/job:worker/task:0"):
            read = _RAW_OPS.TensorListLength(input_handle=made, name="read")
        refused = pytest.raises(tf.errors.InvalidArgumentError)
        with tf.Session(targets.worker) as session, refused as error:
            session.run(read)
    for part in ["'made'", "'/job:ps/task:0'", "'read'", "'/job:worker/task:0'", "variant"]:
        assert part in str(error.value)
