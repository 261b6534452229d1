"""Variants and handles move as other elements do, and come out at their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import millstream as tf
from millstream._impl.ops import gen_ops

_ROWS = [[1.0, 2.0], [], [3.0]]


def _encoded() -> Any:
    """A vector of variants, each with a row."""
    ragged = tf.ragged.constant(_ROWS)
    return gen_ops.ragged_tensor_to_variant(
        list(ragged.nested_row_splits), ragged.flat_values, batched_input=True
    )


def _decoded(encoded: Any) -> Any:
    splits, values = tf.nest.flatten(
        gen_ops.ragged_tensor_from_variant(
            encoded, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=tf.int64
        )
    )
    return tf.RaggedTensor.from_row_splits(values, splits)


@pytest.mark.parametrize(
    ("move", "rows"),
    [
        (lambda x: tf.gather(x, [2, 0, 2]), [2, 0, 2]),
        (lambda x: tf.gather_nd(x, [[2], [1]]), [2, 1]),
        (lambda x: x[1:], [1, 2]),
        (lambda x: x[::-1], [2, 1, 0]),
        (lambda x: tf.concat([x, x[:1]], 0), [0, 1, 2, 0]),
        (lambda x: tf.split(x, [1, 2])[1], [1, 2]),
        (lambda x: tf.tile(x, [2]), [0, 1, 2, 0, 1, 2]),
        (lambda x: tf.broadcast_to(x[2], [2]), [2, 2]),
        (lambda x: tf.fill([2], x[0]), [0, 0]),
        (lambda x: tf.roll(x, 1, 0), [2, 0, 1]),
        (lambda x: tf.where([True, False, False], x, x[::-1]), [0, 1, 0]),
        (lambda x: tf.transpose(tf.stack([x, x]))[2], [2, 2]),
        (lambda x: tf.dynamic_partition(x, [1, 0, 1], 2)[1], [0, 2]),
        (lambda x: tf.dynamic_stitch([[2, 0], [1]], [x[:2], x[2:]]), [1, 2, 0]),
    ],
)
def test_what_variants_hold_moves_with_them(move: Callable[[Any], Any], rows: list[int]) -> None:
    decoded = _decoded(move(_encoded()))
    with tf.Session() as sess:
        assert sess.run(decoded).to_list() == [_ROWS[row] for row in rows]


def test_an_index_outside_is_an_error_of_the_operation() -> None:
    index = tf.placeholder(tf.int32, [None])
    picked = tf.gather(_encoded(), index, name="picked")
    with (
        tf.Session() as sess,
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"indices\[1\] = 3 is not in \[0, 3\)[\s\S]*'picked'",
        ),
    ):
        sess.run(_decoded(picked), {index: [0, 3]})


def _list_of(x: Any) -> Any:
    return gen_ops.tensor_list_push_back(
        gen_ops.empty_tensor_list(-1, -1, element_dtype=x.dtype), x
    )


def _element(handle: Any) -> Any:
    return gen_ops.tensor_list_pop_back(handle, -1, element_dtype=tf.float32)[1]


def test_gradients_go_through_lists_that_move() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0])
    lists = tf.stack([_list_of(x), _list_of(y)])
    last = _element(lists[1])
    joined = _element(tf.concat([lists, lists], 0)[2])
    gradients = tf.gradients([last * last, joined * joined], [x, y])
    with tf.Session() as sess:
        of_x, of_y = sess.run(gradients)
    assert of_x.tolist() == [2.0, 4.0]
    assert of_y.tolist() == [6.0]


def test_lists_that_are_left_out_have_zeros() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0])
    picked = _element(tf.split(tf.stack([_list_of(x), _list_of(y)]), 2)[0][0])
    with tf.Session() as sess:
        of_x, of_y = sess.run(tf.gradients(picked * picked, [x, y]))
    assert of_x.tolist() == [2.0, 4.0]
    assert of_y.tolist() == [0.0]


def test_a_handle_is_picked_in_the_step() -> None:
    handles = [gen_ops.var_handle_op(dtype=tf.float32, shape=[]) for _ in range(2)]
    index = tf.placeholder(tf.int32, [])
    picked = gen_ops.gather_v2(gen_ops.pack(handles), index, 0)
    value = gen_ops.read_variable_op(picked, dtype=tf.float32)
    add = gen_ops.assign_add_variable_op(picked, 5.0)
    with tf.Session() as sess:
        sess.run([gen_ops.assign_variable_op(handles[i], float(i)) for i in range(2)])
        sess.run(add, {index: 1})
        assert [sess.run(value, {index: i}) for i in range(2)] == [0.0, 6.0]


def test_rows_of_a_variable_of_variants_are_replaced() -> None:
    handle = gen_ops.var_handle_op(dtype=tf.variant, shape=[3])
    with tf.Session() as sess:
        sess.run(gen_ops.assign_variable_op(handle, _encoded()))
        sess.run(gen_ops.resource_scatter_update(handle, [0, 1], _encoded()[1:]))
        gathered = gen_ops.resource_gather(handle, [0, 2, 1], dtype=tf.variant)
        assert sess.run(_decoded(gathered)).to_list() == [_ROWS[1], _ROWS[2], _ROWS[2]]
