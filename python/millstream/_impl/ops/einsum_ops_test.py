"""tf.einsum against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _values(*shape: int) -> Any:
    return np.random.RandomState(sum(shape)).randint(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        (" i j -> i ", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("ij,ij,ij->", [(2, 3), (2, 3), (2, 3)]),
        ("...ij,jk->...ik", [(5, 2, 3), (3, 4)]),
        ("...i,...i->...", [(5, 1, 3), (2, 3)]),
        ("...i,...ij,j->...", [(2, 3), (2, 3, 4), (4,)]),
        (",ij->ij", [(), (2, 3)]),
        ("ab,cd->ad", [(2, 3), (4, 5)]),
    ],
)
def test_products_are_those_of_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    values = [_values(*shape) for shape in shapes]
    expected = np.einsum(equation.replace(" ", ""), *values)
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.einsum(equation, *(tf.constant(value) for value in values))
        assert result.shape.as_list() == list(expected.shape)
        np.testing.assert_array_equal(session.run(result), expected)
        unknown = [tf.placeholder(tf.float32) for _ in values]
        fed = dict(zip(unknown, values, strict=True))
        np.testing.assert_array_equal(session.run(tf.einsum(equation, *unknown), fed), expected)


def test_name_is_that_of_the_result() -> None:
    with tf.Graph().as_default():
        assert tf.einsum("i,i->", [1.0], [2.0], name="dot").op.name == "dot"
        assert tf.einsum("i,i->", [1.0], [2.0]).op.name == "einsum"


def test_what_is_no_equation_is_refused() -> None:
    with tf.Graph().as_default():
        for equation in ("i,j->i", "i1->i", "i->ij", "i->i->i"):
            with pytest.raises(ValueError, match="equation"):
                tf.einsum(equation, [1.0])
        with pytest.raises(TypeError, match="precision"):
            tf.einsum("i->i", [1.0], precision=1)
        with pytest.raises(ValueError, match="rank"):
            tf.einsum("ij->ji", [1.0])
