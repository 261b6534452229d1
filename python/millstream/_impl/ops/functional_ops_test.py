"""tf.map_fn, tf.foldl, tf.foldr and tf.scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_X = np.asarray([1.0, 2.0, 3.0, 4.0], np.float32)


def _run(fetch: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetch, feeds)


def test_map_fn_of_rows() -> None:
    x = tf.constant(_X)
    squares = tf.map_fn(lambda v: v * v + 1.0, x)
    assert squares.shape.as_list() == [4]
    assert _run(squares).tolist() == [2.0, 5.0, 10.0, 17.0]
    assert _run(tf.map_fn(tf.reduce_sum, tf.reshape(x, [2, 2]))).tolist() == [3.0, 7.0]
    assert _run(tf.map_fn(lambda v: v > 2.0, x, dtype=tf.bool)).tolist() == [0, 0, 1, 1]


def test_map_fn_of_structures() -> None:
    elems = {"a": tf.constant(_X), "b": tf.constant(_X * 10)}
    result = tf.map_fn(
        lambda row: (row["a"] + row["b"], [row["a"]]), elems, dtype=(tf.float32, [tf.float32])
    )
    total, (first,) = _run(result)
    assert total.tolist() == [11.0, 22.0, 33.0, 44.0]
    assert first.tolist() == _X.tolist()


def test_the_number_of_rows_may_be_known_only_in_the_step() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    doubled = tf.map_fn(lambda row: row * 2.0, x)
    assert doubled.shape.as_list() == [None, 2]
    with tf.Session() as session:
        for count in (3, 1):
            value = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
            assert np.array_equal(session.run(doubled, {x: value}), value * 2)


def test_results_of_different_shapes_cannot_be_rows() -> None:
    sizes = tf.constant([1, 2])
    ragged = tf.map_fn(lambda n: tf.ones([n]), sizes, dtype=tf.float32, infer_shape=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="inconsistent shapes"):
        _run(ragged)


def test_folds() -> None:
    x = tf.constant(_X)
    assert _run(tf.foldl(lambda a, v: a * 10.0 + v, x)) == 1234.0
    assert _run(tf.foldr(lambda a, v: a * 10.0 + v, x)) == 4321.0
    assert _run(tf.foldl(lambda a, v: a - v, x, initializer=0.5)) == -9.5
    assert _run(tf.foldr(lambda a, v: a - v, x, initializer=0.5)) == -9.5
    pair = tf.foldl(lambda a, v: (a[0] + v[0], a[1] * v[1]), (x, x), initializer=(0.0, 1.0))
    assert [float(part) for part in _run(pair)] == [10.0, 24.0]


def test_scan() -> None:
    x = tf.constant(_X)
    assert _run(tf.scan(lambda a, v: a + v, x)).tolist() == [1.0, 3.0, 6.0, 10.0]
    reverse = tf.scan(lambda a, v: a + v, x, reverse=True)
    assert _run(reverse).tolist() == [10.0, 9.0, 7.0, 4.0]
    start = tf.scan(lambda a, v: a * 0.5 + v, x, initializer=100.0)
    assert start.shape.as_list() == [4]
    assert _run(start).tolist() == [51.0, 27.5, 16.75, 12.375]
    fibonacci = tf.scan(lambda a, _: (a[1], a[0] + a[1]), x, initializer=(0.0, 1.0))
    assert [part.tolist() for part in _run(fibonacci)] == [[1, 1, 2, 3], [1, 2, 3, 5]]
    backwards = tf.scan(lambda a, v: a - v, x, initializer=0.0, reverse=True)
    assert _run(backwards).tolist() == [-10.0, -9.0, -7.0, -4.0]


def test_names_of_scopes() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(_X)
        tf.map_fn(lambda v: v, x)
        tf.scan(lambda a, v: a + v, x, name="sums")
        tf.foldl(lambda a, v: a + v, x)
        tf.foldr(lambda a, v: a + v, x)
        names = {node.name for node in graph.as_graph_def().node}
    assert names >= {
        "map/TensorArray",
        "map/TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
        "map/Const",
        "map/TensorArray_1",
        "map/while/maximum_iterations",
        "map/while/iteration_counter",
        "map/while/TensorArrayReadV3",
        "map/while/TensorArrayWrite/TensorArrayWriteV3",
        "map/while/Exit_2",
        "map/TensorArrayStack/TensorArrayGatherV3",
        "sums/while/TensorArrayReadV3",
        "foldl/while/Exit_2",
        "foldr/while/Exit_2",
    }


def test_a_function_has_to_keep_the_structure() -> None:
    x = tf.constant(_X)
    with pytest.raises(ValueError, match="another structure"):
        tf.map_fn(lambda v: (v, v), x)
    with pytest.raises(ValueError, match="another structure"):
        tf.scan(lambda a, v: (a, v), x)


@pytest.mark.parametrize("function", [tf.map_fn, tf.foldl, tf.foldr, tf.scan])
def test_refused_arguments(function: Any) -> None:
    with pytest.raises(TypeError, match="fn"):
        function(3, tf.constant(_X))
    with pytest.raises(ValueError, match="1\\+ dimensional"):
        function(lambda *values: values[0], tf.constant(1.0))


def test_map_fn_refuses_a_sparse_tensor() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    with pytest.raises(TypeError, match="sparse tensor"):
        tf.map_fn(lambda v: v, sparse)


def _slope(result: Any, x: tf.Tensor) -> list[float]:
    slope: list[float] = _run(tf.gradients(result, x)[0]).tolist()
    return slope


def test_gradients() -> None:
    x = tf.constant(_X)
    assert _slope(tf.map_fn(lambda v: v * v + 1.0, x), x) == [2.0, 4.0, 6.0, 8.0]
    assert _slope(tf.scan(lambda a, v: a + v, x), x) == [4.0, 3.0, 2.0, 1.0]
    assert _slope(tf.scan(lambda a, v: a + v, x, reverse=True), x) == [1.0, 2.0, 3.0, 4.0]
    assert _slope(tf.foldl(lambda a, v: a * 10.0 + v, x), x) == [1000.0, 100.0, 10.0, 1.0]
    assert _slope(tf.foldr(lambda a, v: a * 10.0 + v, x), x) == [1.0, 10.0, 100.0, 1000.0]


def test_gradients_of_what_the_function_takes_from_outside() -> None:
    w = tf.constant(2.0)
    total = tf.reduce_sum(tf.map_fn(lambda v: v * w * w, tf.constant(_X)))
    assert _run(tf.gradients(total, w)[0]) == 40.0


def test_without_back_prop_there_is_no_gradient() -> None:
    x = tf.constant(_X)
    for result in (
        tf.map_fn(lambda v: v * v, x, back_prop=False),
        tf.scan(lambda a, v: a + v, x, back_prop=False),
        tf.foldl(lambda a, v: a + v, x, back_prop=False),
        tf.foldr(lambda a, v: a + v, x, back_prop=False),
    ):
        assert tf.gradients(result, x) == [None]


def test_vectorized_map_gives_any_structure_and_has_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        calls = []

        def function(row: Any) -> Any:
            calls.append(row)
            return {"square": row * row, "sum": [tf.reduce_sum(row), tf.shape(row)]}

        found = tf.vectorized_map(function, x)
        (slope,) = tf.gradients([found["square"], found["sum"][0]], [x])
        values = session.run([found, slope])
        assert len(calls) == 1
        assert found["square"].shape.as_list() == [2, 2]
        assert values[0]["square"].tolist() == [[1.0, 4.0], [9.0, 16.0]]
        assert values[0]["sum"][0].tolist() == [3.0, 7.0]
        assert values[0]["sum"][1].tolist() == [[2], [2]]
        assert values[1].tolist() == [[3.0, 5.0], [7.0, 9.0]]


def test_vectorized_map_in_a_loop_and_with_a_captured_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        factor = tf.constant(2)
        count = tf.placeholder_with_default(3, [])

        def outer(i: Any, total: Any) -> Any:
            rows = tf.vectorized_map(lambda x: x * factor + i, tf.range(count))
            return i + 1, total + tf.reduce_sum(rows)

        _, total = tf.while_loop(lambda i, _: i < 2, outer, (tf.constant(0), tf.constant(0)))
        # (0 + 2 + 4) + (1 + 3 + 5)
        assert int(session.run(total)) == 15
        assert int(session.run(total, {count: 1})) == 1


def test_vectorized_map_draws_random_numbers_for_each_row() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = tf.vectorized_map(lambda _: tf.random.uniform([]), tf.zeros([8]))
        assert len(set(session.run(drawn).tolist())) == 8


def test_vectorized_map_of_no_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(np.zeros([0, 3], np.float32), [None, 3])
        found = tf.vectorized_map(lambda row: 2.0 * row, x)
        (slope,) = tf.gradients(found, x)
        assert [one.shape for one in session.run([found, slope])] == [(0, 3), (0, 3)]
