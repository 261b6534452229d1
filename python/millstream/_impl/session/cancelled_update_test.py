"""Updates of variables in steps that are ended while they run: none is left half done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops

_ROWS, _COLUMNS = 4096, 2048  # 32 MB: two threads share an update


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def _variable(name: str) -> tf.Variable:
    return tf.Variable(lambda: tf.ones([_ROWS, _COLUMNS]), name=name)


_Made = tuple[list[tf.Variable], Any]
_Maker = Callable[[tf.Tensor, tf.Tensor], _Made]


def _assign_add(gradient: tf.Tensor, _: tf.Tensor) -> _Made:
    v = _variable("v")
    return [v], gen_ops.assign_add_variable_op(v.handle, gradient)


def _assign(gradient: tf.Tensor, _: tf.Tensor) -> _Made:
    v = _variable("v")
    return [v], tf.assign(v, gradient + v).op


def _scatter_add(gradient: tf.Tensor, rows: tf.Tensor) -> _Made:
    v = _variable("v")
    return [v], gen_ops.resource_scatter_add(v.handle, rows, gradient)


def _sparse_momentum(gradient: tf.Tensor, rows: tf.Tensor) -> _Made:
    v, a = _variable("v"), _variable("a")
    return [v, a], gen_ops.resource_sparse_apply_momentum(
        v.handle, a.handle, 0.1, gradient, rows, 0.9
    )


def _sparse_adagrad(gradient: tf.Tensor, rows: tf.Tensor) -> _Made:
    v, a = _variable("v"), _variable("a")
    return [v, a], gen_ops.resource_sparse_apply_adagrad(v.handle, a.handle, 0.1, gradient, rows)


def _by(optimizer: Callable[[], Any]) -> _Maker:
    def made(gradient: tf.Tensor, _: tf.Tensor) -> _Made:
        # Two, so that one kernel updates both.
        pair = [_variable("v"), _variable("w")]
        update = optimizer().apply_gradients([(gradient, v) for v in pair])
        return tf.global_variables(), update

    return made


_UPDATES: dict[str, _Maker] = {
    "AssignAdd": _assign_add,
    "Assign": _assign,
    "ScatterAdd": _scatter_add,
    "SparseMomentum": _sparse_momentum,
    "SparseAdagrad": _sparse_adagrad,
    "GradientDescent": _by(lambda: tf.train.GradientDescentOptimizer(0.1)),
    "Momentum": _by(lambda: tf.train.MomentumOptimizer(0.1, 0.9)),
    "Adagrad": _by(lambda: tf.train.AdagradOptimizer(0.1)),
    "Adam": _by(lambda: tf.train.AdamOptimizer(0.1)),
}


def _check_updates_are_whole(ranges: dict[str, tuple[float, float]]) -> None:
    for name, (least, most) in ranges.items():
        # Every element is updated alike, so that all are the same number after any whole updates.
        assert least == most, name
        # So are w and what belongs to it, by the kernel that updates v.
        twin = "w" + name[1:]
        if name.startswith("v") and twin in ranges:
            assert ranges[twin] == (least, most), twin


@pytest.mark.parametrize("name", _UPDATES)
def test_an_update_in_a_step_that_is_ended_is_whole_or_has_not_begun(name: str) -> None:
    gradient = tf.placeholder(tf.float32, [_ROWS, _COLUMNS])
    rows = tf.placeholder(tf.int32, [_ROWS])
    work = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.reduce_sum(tf.tanh(work))]):
        variables, update = _UPDATES[name](gradient, rows)
    feed: dict[Any, Any] = {gradient: np.ones([_ROWS, _COLUMNS], np.float32)}
    if name.startswith(("Scatter", "Sparse")):
        feed[rows] = np.arange(_ROWS, dtype=np.int32)
    ranges = {v.op.name: (tf.reduce_min(v), tf.reduce_max(v)) for v in variables}
    config = tf.ConfigProto(intra_op_parallelism_threads=2)
    options = tf.RunOptions(timeout_in_ms=4)
    # A step that comes to its end has twice as much to do before the update next time, one that is
    # ended half as much: so the time limit is over near the update, on a machine of any speed.
    length, ended, attempts = 1 << 12, 0, 0
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        while ended == 0 or attempts < 24:
            attempts += 1
            feed[work] = np.zeros(length, np.float32)
            try:
                session.run(update, feed, options=options)
                length *= 2
            except tf.errors.DeadlineExceededError:
                length = max(1, length // 2)
                ended += 1
            _check_updates_are_whole(session.run(ranges))
        session.run(update, feed)
        _check_updates_are_whole(session.run(ranges))
