"""Slices of tensors by index vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a default session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("batch_dims", [1, 2])
@pytest.mark.parametrize("known", [True, False])
def test_gather_nd_goes_through_batches(batch_dims: int, known: bool) -> None:
    params = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    shape = (2, 3)[:batch_dims]
    random = np.random.RandomState(1)
    vectors = np.stack([random.randint(0, size, (*shape, 6)) for size in (3, 4)], -1)
    given = tf.constant(params)
    if not known:
        given = tf.placeholder_with_default(params, None)
    found = tf.gather_nd(given, vectors, batch_dims=batch_dims).eval()
    for batch in np.ndindex(*shape):
        for k in range(6):
            expected = params[batch][tuple(vectors[batch][k])]
            np.testing.assert_array_equal(found[batch][k], expected)


def test_batch_dims_must_be_there() -> None:
    for params, indices in (([1, 2], [[0]]), ([[1, 2]], [0])):
        with pytest.raises(ValueError, match="batch_dims: expected a number below the ranks"):
            tf.gather_nd(params, indices, batch_dims=1)
    with pytest.raises(ValueError, match=r"indices: .*rank must be known"):
        tf.gather_nd([[1]], tf.placeholder(tf.int32), batch_dims=1)
    with pytest.raises(ValueError, match="indices: its rank must be known"):
        tf.batch_gather([[1]], tf.placeholder(tf.int32))


def test_scatter_nd_is_the_gradient_of_gather_nd(session: tf.Session) -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    picked = tf.gather_nd(x, [[0, 1], [0, 1], [1, 0]])
    (dx,) = tf.gradients(picked, [x], [tf.constant([1.0, 10.0, 100.0])])
    assert session.run(dx).tolist() == [[0.0, 11.0], [100.0, 0.0]]


def test_the_other_names() -> None:
    assert tf.tensor_scatter_update is tf.tensor_scatter_nd_update
    assert tf.tensor_scatter_add is tf.tensor_scatter_nd_add
    assert tf.tensor_scatter_sub is tf.tensor_scatter_nd_sub
    assert tf.manip.gather_nd is tf.gather_nd
    assert tf.manip.scatter_nd is tf.scatter_nd


def test_shapes_of_int64_indices_are_int64() -> None:
    indices = tf.constant([[1], [0]], tf.int64)
    assert tf.scatter_nd(indices, [True, False], [3]).eval().tolist() == [False, True, False]
