"""Ragged tensors in variants, by the operations themselves."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf
from millstream._impl.ops import gen_ops

_ROWS = [[[1.0, 2.0], []], [], [[3.0], [4.0, 5.0], [6.0]]]


def _encoded(ragged: Any, is_batch: bool) -> Any:
    return gen_ops.ragged_tensor_to_variant(
        list(ragged.nested_row_splits), ragged.flat_values, batched_input=is_batch
    )


def _decoded(encoded: Any, inner: int, rank: int, dtype: Any = tf.float32) -> Any:
    *splits, values = tf.nest.flatten(
        gen_ops.ragged_tensor_from_variant(
            encoded,
            input_ragged_rank=inner,
            output_ragged_rank=rank,
            Tvalues=dtype,
            Tsplits=tf.int64,
        )
    )
    return tf.RaggedTensor.from_nested_row_splits(values, splits)


@pytest.mark.parametrize(("is_batch", "inner"), [(False, 2), (True, 1), (True, -1)])
def test_what_goes_in_comes_out(is_batch: bool, inner: int) -> None:
    encoded = _encoded(tf.ragged.constant(_ROWS), is_batch)
    assert encoded.shape.as_list() == ([3] if is_batch else [])
    with tf.Session() as sess:
        assert sess.run(_decoded(encoded, inner, 2)).to_list() == _ROWS


def test_rows_can_be_picked() -> None:
    encoded = _encoded(tf.ragged.constant(_ROWS), True)
    with tf.Session() as sess:
        first, _, last = tf.unstack(encoded)
        assert sess.run(_decoded(last, 1, 1)).to_list() == _ROWS[2]
        picked = _decoded(tf.stack([last, first]), 1, 2)
        assert sess.run(picked).to_list() == [_ROWS[2], _ROWS[0]]
        square = _decoded(tf.stack([encoded, encoded]), 1, 3)
        assert sess.run(square).to_list() == [_ROWS, _ROWS]


def test_strings_and_no_rows() -> None:
    words = tf.ragged.constant([["a", "b"], ["c"]])
    none = tf.ragged.constant([], tf.int32, ragged_rank=1)
    with tf.Session() as sess:
        found = sess.run(_decoded(_encoded(words, True), 0, 1, tf.string))
        assert found.to_list() == [[b"a", b"b"], [b"c"]]
        assert sess.run(_decoded(_encoded(none, True), 0, 1, tf.int32)).to_list() == []


def test_mistakes_are_refused() -> None:
    encoded = _encoded(tf.ragged.constant(_ROWS), True)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected values Tensor dtype"):
            sess.run(_decoded(encoded, 1, 2, tf.int32).flat_values)
        with pytest.raises(ValueError, match="output_ragged_rank"):
            _decoded(encoded, 2, 2)
        bad = gen_ops.ragged_tensor_to_variant([[0, 3]], [1.0], batched_input=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must end at"):
            sess.run(bad.op)
