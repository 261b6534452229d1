"""tf.TensorArray, by itself, in loops and in conditionals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _run(fetch: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetch, feeds)


def test_an_object_after_each_write() -> None:
    before = tf.TensorArray(tf.float32, size=2, clear_after_read=False)
    after = before.write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    assert after is not before
    assert after.handle is before.handle
    assert after.flow is not before.flow
    assert _run(after.stack()).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert _run(after.read(1)).tolist() == [3.0, 4.0]
    assert _run(after.gather([1, 0, 1])).tolist() == [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    assert _run(after.concat()).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert _run(after.identity().size()) == 2


def test_shapes_follow_from_what_is_written() -> None:
    array = tf.TensorArray(tf.float32, size=3)
    assert array.element_shape.ndims is None
    after = array.write(0, [1.0, 2.0])
    assert array.element_shape.as_list() == [2]  # all objects of one array know it
    assert after.read(0).shape.as_list() == [2]
    assert after.stack().shape.as_list() == [3, 2]
    assert after.gather([0]).shape.as_list() == [1, 2]
    assert after.concat().shape.as_list() == [None]
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        after.write(1, [1.0])
    free = tf.TensorArray(tf.float32, size=2, infer_shape=False)
    free.write(0, [1.0]).write(1, [[2.0]])
    assert free.element_shape.ndims is None


def test_what_describes_an_array_excludes_a_handle() -> None:
    array = tf.TensorArray(tf.float32, size=1, dynamic_size=True)
    assert array.dtype is tf.float32
    assert array.dynamic_size
    again = tf.TensorArray(tf.float32, handle=array.handle, flow=array.flow)
    assert _run(again.write(0, 5.0).read(0)) == 5.0
    for arguments in (
        {"size": 1},
        {"tensor_array_name": "a"},
        {"element_shape": [1]},
        {"dynamic_size": True},
        {"clear_after_read": False},
    ):
        with pytest.raises(ValueError, match="Cannot provide both a handle"):
            tf.TensorArray(tf.float32, handle=array.handle, flow=array.flow, **arguments)
    with pytest.raises(ValueError, match="flow"):
        tf.TensorArray(tf.float32, handle=array.handle)
    with pytest.raises(ValueError, match="Size must be provided"):
        tf.TensorArray(tf.float32)


def test_dtypes_have_to_be_equal() -> None:
    array = tf.TensorArray(tf.int32, size=1)
    with pytest.raises(ValueError, match="TensorArray dtype is int32"):
        array.write(0, tf.constant(1.0))


def test_errors_of_a_step() -> None:
    array = tf.TensorArray(tf.float32, size=2).write(0, 1.0)
    for fetch, message in (
        (array.read(2), "Tried to read from index 2 but array size is: 2"),
        (array.write(0, 2.0).read(0), "already been written to"),
        (tf.stack([array.read(0), array.read(0)]), "Could not read index 0 twice"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            _run(fetch)
    assert _run(array.read(1)) == 0.0


def test_a_closed_array_is_of_no_use() -> None:
    array = tf.TensorArray(tf.float32, size=1)
    with tf.control_dependencies([array.close()]):
        size = array.write(0, 1.0).flow
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been closed"):
        _run(size)


def test_names_of_operations() -> None:
    with tf.Graph().as_default() as graph:
        array = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0])
        array.stack()
        tf.TensorArray(tf.float32, size=2, name="mine").write(0, 1.0).read(0)
        names = [node.name for node in graph.as_graph_def().node]
    for name in (
        "TensorArray",
        "TensorArray/size",
        "TensorArrayUnstack/range",
        "TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
        "TensorArrayStack/TensorArrayGatherV3",
        "mine",
        "TensorArrayWrite/TensorArrayWriteV3",
        "TensorArrayReadV3",
    ):
        assert name in names


def test_a_loop_variable() -> None:
    start = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    count = tf.placeholder(tf.int32, [])
    _, result = tf.while_loop(
        lambda i, _: i < count,
        lambda i, array: [i + 1, array.write(i, [tf.cast(i, tf.float32)])],
        [0, start],
    )
    assert isinstance(result, tf.TensorArray)
    assert result.element_shape.as_list() == [1]
    rows = result.stack()
    with tf.Session() as session:
        for size in (3, 0, 5):
            got = session.run(rows, {count: size})
            assert got.tolist() == [[float(i)] for i in range(size)]


def test_a_loop_without_iterations_leaves_what_was_written_before() -> None:
    first, count = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    start = tf.TensorArray(tf.float32, size=1, dynamic_size=True).write(0, first)
    _, result = tf.while_loop(
        lambda i, _: i < count, lambda i, array: (i + 1, array.write(i + 1, [1.0, 2.0])), [0, start]
    )
    row = result.read(0)
    assert _run(row, {first: [5.0, 6.0], count: 1}).tolist() == [5.0, 6.0]
    assert _run(row, {first: [5.0, 6.0, 7.0], count: 0}).tolist() == [5.0, 6.0, 7.0]


def test_an_array_that_a_loop_reads() -> None:
    given = tf.TensorArray(tf.int32, size=4, clear_after_read=False).unstack([3, 1, 4, 1])
    _, total = tf.while_loop(
        lambda i, _: i < 4, lambda i, total: (i + 1, total * 10 + given.read(i)), (0, 0)
    )
    assert _run(total) == 3141


def test_a_result_of_branches() -> None:
    array = tf.TensorArray(tf.float32, size=1)
    take = tf.placeholder(tf.bool, [])
    result = tf.cond(take, lambda: array.write(0, 1.0), lambda: array.write(0, 2.0))
    assert isinstance(result, tf.TensorArray)
    value = result.read(0)
    assert [_run(value, {take: choice}) for choice in (True, False)] == [1.0, 2.0]


def test_gradients_of_what_is_read_twice_add_up() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
    y = array.read(0) * array.read(2) + array.read(0)
    assert _run(tf.gradients(y, x)[0]).tolist() == [4.0, 0.0, 1.0]
    # Each call has sums of its own.
    assert _run(tf.gradients(y, x)[0] + tf.gradients(y, x)[0]).tolist() == [8.0, 0.0, 2.0]


def test_gradients_through_branches() -> None:
    x = tf.constant(3.0)
    take = tf.placeholder(tf.bool, [])
    array = tf.TensorArray(tf.float32, size=1)
    value = tf.cond(take, lambda: array.write(0, x * x), lambda: array.write(0, 5.0 * x)).read(0)
    slope = tf.gradients(value, x)[0]
    assert [_run(slope, {take: choice}) for choice in (True, False)] == [6.0, 5.0]


def test_the_array_of_gradients() -> None:
    array = tf.TensorArray(tf.float32, size=2).write(0, 1.0)
    sums = array.grad("mine").write(0, 2.0)
    again = array.grad("mine", flow=sums.flow).write(0, 3.0)
    assert _run(again.read(0)) == 5.0
    assert _run(array.grad("mine").size()) == 2


def test_the_writes_stand_beside_the_first_value() -> None:
    with tf.device("/cpu:0"):
        first = tf.constant(1.0, name="first")
    array = tf.TensorArray(tf.float32, size=2).write(0, first)
    array = array.write(1, tf.constant(2.0))
    assert b"loc:@first" in array.flow.op.colocation_groups()
    alone = tf.TensorArray(tf.float32, size=1, colocate_with_first_write_call=False)
    assert b"loc:@first" not in alone.write(0, first).flow.op.colocation_groups()


def test_elements_of_any_type() -> None:
    array = tf.TensorArray(tf.string, size=2).unstack(["a", "b"])
    assert _run(array.stack()).tolist() == [b"a", b"b"]
    flags = tf.TensorArray(tf.bool, size=2, element_shape=[]).write(0, True)
    assert _run(flags.stack()).tolist() == [True, False]


@pytest.mark.parametrize("size", [1, 100])
def test_steps_do_not_share_arrays(size: int) -> None:
    x = tf.placeholder(tf.float32, [size])
    array = tf.TensorArray(tf.float32, size=size).unstack(x)
    total = tf.reduce_sum(array.stack())
    with tf.Session() as session:
        for step in range(3):
            value = np.full(size, step, np.float32)
            assert session.run(total, {x: value}) == np.sum(value)


def test_gradients_through_loops() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    given = tf.TensorArray(tf.float32, size=3).unstack(x)

    def body(i: tf.Tensor, array: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        value = given.read(i)
        return i + 1, tf.cond(
            value > 1.5, lambda: array.write(i, value * value), lambda: array.write(i, 7.0 * value)
        )

    _, squares = tf.while_loop(lambda i, _: i < 3, body, (0, tf.TensorArray(tf.float32, size=3)))
    weighted = squares.stack() * [1.0, 10.0, 100.0]
    assert _run(tf.gradients(weighted, x)[0]).tolist() == [7.0, 40.0, 600.0]


def test_an_element_that_iterations_read_has_the_sum_of_their_gradients() -> None:
    x = tf.constant([2.0, 3.0])
    given = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack(x)
    _, total = tf.while_loop(
        lambda i, _: i < 4, lambda i, total: (i + 1, total + given.read(0)), (0, 0.0)
    )
    assert _run(total) == 8.0
    assert _run(tf.gradients(total, x)[0]).tolist() == [4.0, 0.0]


def test_gradients_of_gradients() -> None:
    x = tf.constant([2.0, 3.0])
    array = tf.TensorArray(tf.float32, size=2).unstack(x)
    value = array.read(1)
    slope = tf.gradients(value * value * value, x)[0]
    assert _run(slope).tolist() == [0.0, 27.0]
    assert _run(tf.gradients(slope, x)[0]).tolist() == [0.0, 18.0]
