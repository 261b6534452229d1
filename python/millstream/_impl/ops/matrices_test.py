"""Matrices, masks of sequences and grids, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import millstream as tf


@pytest.mark.parametrize(("rows", "columns"), [(3, None), (2, 4), (4, 2), (0, 3)])
def test_eye_is_numpys(rows: int, columns: int | None) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        one = tf.eye(rows, columns, dtype=tf.int32)
        many = tf.eye(rows, columns, batch_shape=[2, 1])
        count = tf.placeholder(tf.int32, [])
        fed = tf.eye(count, columns)
        expected = np.eye(rows, columns)
        assert np.array_equal(sess.run(one), expected)
        assert np.array_equal(sess.run(many), np.broadcast_to(expected, (2, 1, *expected.shape)))
        assert np.array_equal(sess.run(fed, {count: rows}), expected)
        assert one.shape.as_list() == list(expected.shape)


def test_the_last_two_dimensions_are_exchanged() -> None:
    values = np.arange(24).reshape(2, 3, 4) * (1 + 1j)
    with tf.Graph().as_default(), tf.Session() as sess:
        unknown = tf.placeholder(tf.complex128)
        for tensor in (tf.constant(values), unknown):
            turned = sess.run(tf.matrix_transpose(tensor), {unknown: values})
            assert np.array_equal(turned, values.swapaxes(1, 2))
            turned = sess.run(tf.linalg.transpose(tensor, conjugate=True), {unknown: values})
            assert np.array_equal(turned, values.swapaxes(1, 2).conj())
        with pytest.raises(ValueError, match="rank >= 2"):
            tf.matrix_transpose([1.0])


def test_masks_are_true_within_a_sequence() -> None:
    lengths = [[0, 2], [5, 3]]
    expected = np.arange(5) < np.array(lengths)[..., np.newaxis]
    with tf.Graph().as_default(), tf.Session() as sess:
        assert np.array_equal(sess.run(tf.sequence_mask(lengths)), expected)
        fixed = tf.sequence_mask(lengths, 4, tf.float32)
        assert fixed.shape.as_list() == [2, 2, 4]
        assert np.array_equal(sess.run(fixed), expected[..., :4])
        fed = tf.placeholder(tf.int64, [None])
        assert sess.run(tf.sequence_mask(fed), {fed: []}).shape == (0, 0)
        with pytest.raises(ValueError, match="maxlen must be scalar"):
            tf.sequence_mask(lengths, [4])


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_grids_are_numpys(indexing: str, count: int) -> None:
    axes = [np.arange(size, dtype=np.float32) + size for size in (2, 3, 4)][:count]
    with tf.Graph().as_default(), tf.Session() as sess:
        grids = sess.run(tf.meshgrid(*axes, indexing=indexing))
    expected = np.meshgrid(*axes, indexing=indexing)  # type: ignore[call-overload]
    assert len(grids) == count
    assert all(np.array_equal(a, b) for a, b in zip(grids, expected, strict=True))
    with pytest.raises(ValueError, match="indexing"):
        tf.meshgrid([1], indexing="yx")
