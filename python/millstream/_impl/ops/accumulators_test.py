"""Accumulators: gradients of several steps come out together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def test_gradients_of_steps_are_averaged() -> None:
    mean = tf.ConditionalAccumulator(tf.float32, shape=[2])
    for gradient in ([1.0, 2.0], [3.0, 6.0]):
        mean.apply_grad(gradient).run()
    assert int(mean.num_accumulated().eval()) == 2
    taken = mean.take_grad(2)
    assert taken.shape.as_list() == [2]
    assert taken.eval().tolist() == [2.0, 4.0]
    assert int(mean.num_accumulated().eval()) == 0


def test_gradients_may_be_added_up() -> None:
    total = tf.ConditionalAccumulator(tf.int32, shape=[1], reduction_type="SUM")
    for gradient in ([1], [4]):
        total.apply_grad(gradient).run()
    assert total.take_grad(1).eval().tolist() == [5]


def test_gradients_of_earlier_steps_are_dropped() -> None:
    mean = tf.ConditionalAccumulator(tf.float32)
    mean.set_global_step(3).run()
    mean.apply_grad(1.0, local_step=2).run()
    assert int(mean.num_accumulated().eval()) == 0
    mean.apply_grad(1.0, local_step=tf.constant(3)).run()
    assert int(mean.num_accumulated().eval()) == 1


def test_gradients_that_are_added_and_dropped_are_counted(session: tf.Session) -> None:
    mean = tf.ConditionalAccumulator(tf.float32, name="mean")
    counts = mean.gradient_counts()
    assert counts.applied.op.name == "mean_GradientCounts"
    assert [one.dtype for one in counts] == [tf.int64, tf.int64]
    assert [one.shape.as_list() for one in counts] == [[], []]
    stale = mean.apply_grad(1.0, local_step=0)
    session.run(stale)
    assert session.run(counts) == (1, 0)
    session.run(mean.take_grad(1))
    session.run(stale)
    session.run(stale)
    found = session.run(counts)
    assert (found.applied, found.dropped) == (1, 2)
    rows = tf.SparseConditionalAccumulator(tf.float32, shape=[4])
    session.run(rows.set_global_step(2))
    session.run(rows.apply_grad([1], [3.0], local_step=1))
    assert session.run(rows.gradient_counts("of_rows")) == (0, 1)


def test_a_take_waits_for_other_steps(session: tf.Session) -> None:
    mean = tf.ConditionalAccumulator(tf.float32, shape=[])
    value = tf.placeholder(tf.float32, [])
    apply, taken = mean.apply_grad(value), mean.take_grad(3)

    def work() -> None:
        for number in (1.0, 2.0, 6.0):
            session.run(apply, {value: number})

    worker = threading.Thread(target=work)
    worker.start()
    assert float(session.run(taken)) == 3.0
    worker.join()


def test_a_take_that_nobody_serves_is_an_error(session: tf.Session) -> None:
    mean = tf.ConditionalAccumulator(tf.float32, shape=[])
    with pytest.raises(tf.errors.FailedPreconditionError, match="more gradients of accumulator"):
        session.run(mean.take_grad(1))


def test_rows_of_steps_are_averaged(session: tf.Session) -> None:
    mean = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 1])
    mean.apply_grad([2], [[5.0]], [4, 1]).run()
    mean.apply_grad([2, 0], [[7.0], [1.0]]).run()
    indices, values, shape = mean.take_grad(2)
    assert values.shape.as_list() == [None, 1]
    found = session.run((indices, values, shape))
    assert [part.tolist() for part in found] == [[0, 2], [[1.0], [6.0]], [4, 1]]


def test_slices_come_from_gradients(session: tf.Session) -> None:
    table = tf.Variable([[1.0], [2.0], [3.0]])
    session.run(table.initializer)
    (gradient,) = tf.gradients(tf.reduce_sum(tf.gather(table, [2, 0]) * 2.0), [table])
    total = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 1], reduction_type="SUM")
    session.run(total.apply_indexed_slices_grad(gradient))
    taken = session.run(total.take_indexed_slices_grad(1))
    assert taken.indices.tolist() == [0, 2]
    assert taken.values.tolist() == [[2.0], [2.0]]


def test_accumulators_survive_export_and_import(session: tf.Session) -> None:
    mean = tf.SparseConditionalAccumulator(tf.float32, shape=[4], name="rows")
    mean.apply_grad([1], [3.0], name="add")
    mean.take_grad(1, name="take")
    definition = session.graph.as_graph_def()
    ops = {node.name: node.op for node in definition.node}
    assert ops["rows"] == "SparseConditionalAccumulator"
    assert ops["add"] == "SparseAccumulatorApplyGradient"
    with tf.Graph().as_default() as graph, tf.Session() as running:
        tf.import_graph_def(definition, name="")
        running.run(graph.get_operation_by_name("add"))
        assert running.run("take:1").tolist() == [3.0]
        again = {node.name: node.op for node in graph.as_graph_def().node}
        assert again["take"] == "SparseAccumulatorTakeGradient"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.ConditionalAccumulator(tf.float32, [2]).apply_grad([1.0]), "incompatible"),
        (lambda: tf.ConditionalAccumulator(tf.float32, reduction_type="MAX"), "reduction_type"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
