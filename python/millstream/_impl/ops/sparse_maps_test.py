"""Sparse tensors that steps keep in maps, by the operations themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def _take(handles: Any, dtype: Any, name: str) -> Any:
    return gen_ops.take_many_sparse_from_tensors_map(handles, dtype=dtype, shared_name=name)


def test_tensors_of_several_steps_become_the_rows_of_one() -> None:
    indices = tf.placeholder(tf.int64, [None, 1])
    values = tf.placeholder(tf.float32, [None])
    shape = tf.placeholder(tf.int64, [1])
    handle = gen_ops.add_sparse_to_tensors_map(indices, values, shape, shared_name="kept")
    handles = tf.placeholder(tf.int64, [None])
    taken = _take(handles, tf.float32, "kept")
    with tf.Session() as sess:
        first = sess.run(handle, {indices: [[0], [2]], values: [1, 2], shape: [3]})
        second = sess.run(handle, {indices: [[4]], values: [3], shape: [5]})
        assert first != second
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to find SparseTensor"):
            sess.run(taken, {handles: [first, first]})
        found = sess.run(taken, {handles: [second, first]})
        np.testing.assert_array_equal(found[0], [[0, 4], [1, 0], [1, 2]])
        np.testing.assert_array_equal(found[1], [3, 1, 2])
        np.testing.assert_array_equal(found[2], [2, 5])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to find SparseTensor"):
            sess.run(taken, {handles: [first]})


@pytest.mark.parametrize(
    ("values", "dtype"),
    [(["a", "b", "c"], tf.string), ([1, 2, 3], tf.int32)],
    ids=["string", "int"],
)
def test_rows_are_kept_and_taken(values: Any, dtype: Any) -> None:
    places = [[0, 1], [2, 0], [2, 3]]
    add = gen_ops.add_many_sparse_to_tensors_map(
        places, tf.constant(values, dtype), [3, 4], name="rows"
    )
    assert add.shape.as_list() == [3]
    with tf.control_dependencies([add]):
        taken = _take(tf.reverse(add, [0]), dtype, "rows")
    with tf.Session() as sess:
        indices, found, shape = sess.run(taken)
    np.testing.assert_array_equal(indices, [[0, 0], [0, 3], [2, 1]])
    assert found.tolist() == _as_fetched(values, (1, 2, 0), dtype)
    np.testing.assert_array_equal(shape, [3, 4])


def _as_fetched(values: Any, order: tuple[int, ...], dtype: Any) -> list[Any]:
    """The values in another order, as a session gives them."""
    picked = [values[i] for i in order]
    return [one.encode() for one in picked] if dtype == tf.string else picked


def test_variants_outlive_the_step_that_kept_them() -> None:
    fed = tf.placeholder(tf.float32, [None])
    variants = gen_ops.ragged_tensor_to_variant([[0, 1, 2]], fed, batched_input=True)
    add = gen_ops.add_many_sparse_to_tensors_map(
        [[0, 0], [1, 0]], variants, [2, 1], shared_name="variants"
    )
    handles = tf.placeholder(tf.int64, [None])
    taken = _take(handles, tf.variant, "variants")[1]
    splits, values = gen_ops.ragged_tensor_from_variant(
        taken, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=tf.int64
    )
    with tf.Session() as sess:
        kept = [sess.run(add, {fed: [float(step), 9.0]}) for step in range(3)]
        for step in range(3):
            found = sess.run([splits[0], values], {handles: kept[step]})
            assert [one.tolist() for one in found] == [[0, 1, 2], [step, 9]]


def test_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="Rank of input SparseTensor should be > 1"):
        gen_ops.add_many_sparse_to_tensors_map([[0]], [1.0], [2])
    add = gen_ops.add_many_sparse_to_tensors_map([[5, 0]], [1.0], [2, 2])
    one = gen_ops.add_sparse_to_tensors_map([[0]], [1.0], [2], shared_name="m")
    two = gen_ops.add_sparse_to_tensors_map([[0, 0]], [1.0], [2, 2], shared_name="m")
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="unexpected column 0"):
            sess.run(add)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Inconsistent rank"):
            sess.run(_take(tf.stack([one, two]), tf.float32, "m"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requested SparseTensor of type"):
            sess.run(_take(tf.stack([one]), tf.int32, "m"))
