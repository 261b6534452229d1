"""Tables in one part and in several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


TABLE = np.random.RandomState(5).normal(size=(11, 2, 3)).astype(np.float32)


def cut(table: Any, count: int, strategy: str) -> list[Any]:
    """The parts of a table."""
    if strategy == "mod":
        return [table[part::count] for part in range(count)]
    return np.array_split(table, count)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 11])
@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 4)])
def test_rows_are_found_in_their_parts(
    count: int, strategy: str, dtype: Any, shape: tuple[int, ...]
) -> None:
    ids = np.random.RandomState(7).randint(0, 11, shape).astype(dtype)
    parts = [tf.constant(part) for part in cut(TABLE, count, strategy)]
    found = tf.nn.embedding_lookup(parts, ids, strategy, name="rows")
    assert found.op.name == "rows"
    assert found.shape.as_list() == [*shape, 2, 3]
    np.testing.assert_array_equal(found.eval(), TABLE[ids])


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_shapes_may_be_known_in_the_step_alone(strategy: str) -> None:
    fed = [tf.placeholder(tf.float32) for _ in range(3)]
    ids = tf.placeholder(tf.int64)
    found = tf.nn.embedding_lookup(fed, ids, strategy, max_norm=1.0)
    feeds = dict(zip(fed, cut(TABLE, 3, strategy), strict=True))
    rows = TABLE[[[10, 0], [4, 4]]]
    norms = np.sqrt((rows**2).sum((2, 3), keepdims=True))
    expected = rows / np.maximum(norms, 1.0)
    values = found.eval({**feeds, ids: [[10, 0], [4, 4]]})
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 3])
def test_long_rows_are_scaled_down_and_others_are_not(count: int) -> None:
    table = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], np.float32)
    parts = [tf.Variable(part) for part in cut(table, count, "div")]
    found = tf.nn.embedding_lookup(parts, [0, 1, 2], "div", max_norm=1.0)
    slopes = tf.gradients(found, parts)
    tf.global_variables_initializer().run()
    np.testing.assert_allclose(found.eval(), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=1e-6)
    last = tf.convert_to_tensor(slopes[-1]).eval()
    np.testing.assert_allclose(last[-1], [1.0, 1.0])  # of the row of zeros: no NaN


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_gradients_of_parts_are_rows(session: tf.Session, strategy: str) -> None:
    parts = [tf.Variable(part) for part in cut(TABLE, 3, strategy)]
    ids = tf.constant([[1, 9], [4, 1]])
    found = tf.nn.embedding_lookup(parts, ids, strategy)
    loss = tf.reduce_sum(tf.square(found))
    slopes = tf.gradients(loss, parts)
    assert all(isinstance(slope, tf.IndexedSlices) for slope in slopes)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    tf.global_variables_initializer().run()
    train.run()
    expected = TABLE.copy()
    np.subtract.at(expected, [1, 9, 4, 1], 0.5 * TABLE[[1, 9, 4, 1]])
    for part, rows in zip(session.run(parts), cut(expected, 3, strategy), strict=True):
        np.testing.assert_allclose(part, rows, rtol=1e-6)


def test_a_variable_in_parts_is_a_table(session: tf.Session) -> None:
    whole = tf.get_variable("t", initializer=TABLE, partitioner=tf.fixed_size_partitioner(4))
    found = tf.nn.embedding_lookup(whole, [10, 0, 5], partition_strategy="div")
    tf.global_variables_initializer().run()
    np.testing.assert_array_equal(session.run(found), TABLE[[10, 0, 5]])


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("number", [-1, 11, 100, -100])
def test_numbers_of_no_row_are_errors_of_the_step(strategy: str, number: int) -> None:
    parts = [tf.constant(part) for part in cut(TABLE, 3, strategy)]
    ids = tf.placeholder(tf.int32, [None])
    found = tf.nn.embedding_lookup(parts, ids, strategy, name="rows")
    with pytest.raises(tf.errors.InvalidArgumentError, match="rows/"):
        found.eval({ids: [1, number]})


def test_bad_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="params: expected a table, got an empty list"):
        tf.nn.embedding_lookup([], [0])
    with pytest.raises(ValueError, match="Unrecognized partition strategy: 'odd'"):
        tf.nn.embedding_lookup([TABLE, TABLE], [0], "odd")
    with pytest.raises(ValueError, match=r"parts with rows \(2, 3\), got \(2, 2\) in part 1"):
        tf.nn.embedding_lookup([TABLE, TABLE[:, :, :2]], [0])
    wrong: Any = "a"
    with pytest.raises(TypeError, match="max_norm: expected a number"):
        tf.nn.embedding_lookup([TABLE], [0], max_norm=wrong)


_BAGS = [[1, 3, 3], [], [9]]
_FACTORS = [[1.0, 3.0, -0.5], [], [0.5]]


def _sparse(rows: list[list[Any]], dtype: Any) -> tf.SparseTensor:
    """A sparse matrix of rows of different lengths."""
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([value for row in rows for value in row], dtype)
    return tf.SparseTensor(np.reshape(places, [-1, 2]), values, [len(rows), 3])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_rows_of_a_bag_are_combined(combiner: str, weighted: bool, count: int) -> None:
    factors = _FACTORS if weighted else [[1.0] * len(row) for row in _BAGS]
    expected = np.zeros([3, 2, 3])
    for i, (ids, own) in enumerate(zip(_BAGS, factors, strict=True)):
        total = {"sum": 1.0, "mean": np.sum(own), "sqrtn": np.sqrt(np.sum(np.square(own)))}
        if ids:
            expected[i] = np.tensordot(own, TABLE[ids], 1) / total[combiner]
    parts = [tf.constant(part) for part in cut(TABLE, count, "mod")]
    weights = _sparse(_FACTORS, np.float32) if weighted else None
    found = tf.nn.embedding_lookup_sparse(
        parts, _sparse(_BAGS, np.int64), weights, combiner=combiner, name="bags"
    )
    assert found.op.name == "bags"
    np.testing.assert_allclose(found.eval(), expected, rtol=1e-5, atol=1e-6)


def test_bags_may_be_empty_and_are_sparse() -> None:
    table = tf.constant(TABLE)
    empty = tf.nn.embedding_lookup_sparse(table, _sparse([[], []], np.int64), None)
    assert empty.eval().shape == (0, 2, 3)
    with pytest.raises(TypeError, match="sp_ids must be SparseTensor"):
        tf.nn.embedding_lookup_sparse(table, tf.constant([[1]]), None)
    with pytest.raises(ValueError, match="combiner must be one of"):
        tf.nn.embedding_lookup_sparse(table, _sparse(_BAGS, np.int64), None, combiner="max")


def test_the_gradient_of_bags_goes_to_their_rows(session: tf.Session) -> None:
    table = tf.Variable(TABLE)
    bags = tf.nn.embedding_lookup_sparse(
        table, _sparse(_BAGS, np.int64), _sparse(_FACTORS, np.float32), combiner="sum"
    )
    gradient = tf.convert_to_tensor(tf.gradients(bags, table)[0])
    session.run(tf.global_variables_initializer())
    expected = np.zeros_like(TABLE)
    for row, factor in ((1, 1.0), (3, 2.5), (9, 0.5)):
        expected[row] = factor
    np.testing.assert_allclose(session.run(gradient), expected, rtol=1e-6)


def test_rows_are_read_where_their_table_is() -> None:
    with tf.device("/job:ps/task:0"):
        part = tf.get_variable("part", [4, 2])
    with tf.device("/job:ps/task:1"):
        other = tf.get_variable("other", [4, 2])
    with tf.device("/job:worker/task:0"):
        tf.nn.embedding_lookup([part, other], [1, 6], partition_strategy="div")
        part.gather_nd([[1, 1]])
    reads = [
        op for op in tf.get_default_graph().get_operations() if op.type.startswith("ResourceGather")
    ]
    assert [op.device for op in reads] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
