"""Checks of shapes whose sizes have names."""

from __future__ import annotations

from typing import Any

"""Checks of the shapes of several tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


def check(*pairs: Any, **arguments: Any) -> Any:
    return tf.debugging.assert_shapes(list(pairs), **arguments)


def test_known_shapes_are_checked_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        x, y = tf.ones([2, 3]), tf.ones([3])
        check((x, ("N", "D")), (y, ("D",)), (tf.constant(1), ()), (y, None))
        check((x, (2, None)), (x, (".", 3)), (x, "ND"))
        tf.debugging.assert_shapes({x: ("N", "D"), y: ("D",)})
        with pytest.raises(ValueError, match="must have size N"):
            check((x, ("N", "D")), (y, ("N",)))
        with pytest.raises(ValueError, match="expected 4"):
            check((y, (4,)), message="expected 4")
        with pytest.raises(ValueError, match="must have rank 1"):
            check((x, ("N",)))


def test_other_shapes_are_checked_in_the_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None])
        checked = check((x, ("N", 2)), (y, ("N",)), message="bad")
        session.run(checked, {x: [[1.0, 2.0]], y: [1.0]})
        for wrong in ([[1.0, 2.0, 3.0]], [[1.0, 2.0], [3.0, 4.0]], [1.0]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
                session.run(checked, {x: wrong, y: [1.0]})


def test_a_name_has_one_size_also_where_it_becomes_known_later() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with pytest.raises(ValueError, match="'N' is specified by tensor"):
            check((x, ("N",)), (tf.ones([2]), ("N",)), (tf.ones([3]), ("N",)))


def test_rows_of_slices_are_left_out() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([4, 6], tf.int64))
        kept = session.run(tf.sparse.mask(rows, [6, 8]))
        assert kept.indices.tolist() == [4]
        assert kept.values.tolist() == [[1.0]]
@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def unknown(*dims: int | None) -> Any:
    return tf.placeholder(tf.float32, list(dims))


def test_what_is_known_needs_no_check() -> None:
    x, y = tf.ones([2, 3]), tf.ones([3, 4])
    check = tf.debugging.assert_shapes({x: ("N", "D"), y: ["D", 4]})
    assert check.type == "NoOp"
    assert not check.control_inputs
    tf.debugging.assert_shapes([(x, [..., "D"]), (y, ["D", "*"]), (tf.constant(1.0), [])])
    tf.debugging.assert_shapes([(x, [None, "."]), (tf.ones([3]), 3), (tf.ones([2]), "N")])


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (lambda x, y: [(x, ["N", 4])], r"dimension 1 must have size 4\.  Received size 3"),
        (lambda x, y: [(x, ["N", "N"])], r"dimension 1 must have size 2\..*Specified by tensor x"),
        (lambda x, y: [(x, ["N", "D"]), (y, ["N", "M"])], "Tensor y:0 dimension 0 must have"),
        (lambda x, y: [(x, ["N"])], r"must have rank 1\.  Received rank 2"),
        (lambda x, y: [(x, ["N", "M", "K", ...])], r"must have rank at least 3\."),
        (lambda x, y: [(x, ["N", ..., "K"])], "at the start or at the end"),
        (lambda x, y: [(x, object())], "has no shape but"),
    ],
)
def test_what_is_known_to_be_wrong_is_refused(shapes: Any, words: str) -> None:
    x, y = tf.ones([2, 3], name="x"), tf.ones([3, 4], name="y")
    with pytest.raises(ValueError, match=words):
        tf.debugging.assert_shapes(shapes(x, y))
    with pytest.raises(ValueError, match=f"^start  .*{words}"):
        tf.debugging.assert_shapes(shapes(x, y), message="start")


def test_steps_check_the_rest(session: tf.Session) -> None:
    x, y, z = unknown(None, 3), unknown(None), tf.placeholder(tf.float32)
    check = tf.debugging.assert_shapes([(x, ["N", "D"]), (y, ["N"]), (z, [..., "D"])])

    def run(rows: int, elements: int, *dims: int) -> None:
        session.run(check, {x: np.ones([rows, 3]), y: np.ones([elements]), z: np.ones(dims)})

    run(2, 2, 3)
    run(5, 5, 7, 8, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension 0 must have size"):
        run(2, 3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension -1 must have size"):
        run(2, 2, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rank at least 1|index -1"):
        run(2, 2)
