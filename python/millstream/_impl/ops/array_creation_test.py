"""Tensors made by shape."""

from __future__ import annotations

import tracemalloc
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


@pytest.mark.parametrize("dtype", [tf.float32, tf.bool, tf.string, tf.bfloat16, tf.complex64])
def test_shapes_without_elements_are_filled(dtype: Any) -> None:
    empty = tf.zeros([0, 3], dtype)
    for tensor in (empty, tf.zeros_like(empty)):
        assert tensor.dtype == dtype
        assert tensor.shape.as_list() == [0, 3]
        assert tensor.eval().shape == (0, 3)


def test_ones_and_constants_fit_shapes_without_elements() -> None:
    assert tf.ones([2, 0]).eval().shape == (2, 0)
    assert tf.ones_like(tf.zeros([0, 2])).eval().shape == (0, 2)
    for value in (0.5, [1.0, 2.0], []):
        found = tf.constant(value, tf.float32, [0, 2]).eval()
        assert (found.shape, found.dtype) == ((0, 2), np.float32)
    with pytest.raises(ValueError, match=r"value: 3 elements do not fit the shape \[2\]"):
        tf.constant([1, 2, 3], shape=[2])
    with pytest.raises(ValueError, match=r"value: no elements to fill the shape \[2\]"):
        tf.constant([], shape=[2])


def test_variables_without_elements_are_trained() -> None:
    v = tf.get_variable("v", [0, 3], initializer=tf.zeros_initializer())
    w = tf.get_variable("w", [0, 3], initializer=tf.constant_initializer(0.5))
    loss = tf.reduce_sum(v) + tf.reduce_sum(w)
    optimizers: list[tf.train.Optimizer] = [
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdagradOptimizer(0.1),
        tf.train.AdamOptimizer(0.1),
    ]
    steps = [optimizer.minimize(loss) for optimizer in optimizers]
    tf.global_variables_initializer().run()
    for step in steps:
        step.run()
    assert w.eval().shape == (0, 3)


def test_one_hot_has_the_type_of_its_values() -> None:
    def dtype(**arguments: Any) -> Any:
        return tf.one_hot([0, 1], 3, **arguments).dtype

    assert dtype() is tf.float32
    assert dtype(off_value=0.0) is tf.float32
    assert dtype(on_value=2) is tf.int32
    assert dtype(off_value=np.float64(1)) is tf.float64
    assert dtype(on_value=2, dtype=tf.float32) is tf.float32
    assert tf.one_hot([1], 3, off_value=0.5).eval().tolist() == [[0.5, 1.0, 0.5]]


@pytest.mark.parametrize(
    ("on_value", "off_value"),
    [
        (np.float64(1), np.float32(0)),
        (lambda: tf.constant(1.0, tf.float64), lambda: tf.constant(0.0)),
        (lambda: tf.constant(1.0), 0),
        (2, 0.5),
    ],
)
def test_one_hot_refuses_values_of_two_types(on_value: Any, off_value: Any) -> None:
    on_value, off_value = (v() if callable(v) else v for v in (on_value, off_value))
    with pytest.raises(TypeError, match="off_value: expected the dtype"):
        tf.one_hot([0, 1], 3, on_value, off_value)


def test_one_hot_refuses_values_of_another_type_than_asked_for() -> None:
    with pytest.raises(TypeError, match="on_value: expected the dtype int32, the wanted one"):
        tf.one_hot([0, 1], 3, on_value=2.0, dtype=tf.int32)


@pytest.mark.parametrize(("value", "dtype"), [(False, tf.bool), (1.5, tf.float32), (3, tf.int64)])
def test_a_large_constant_of_one_value_is_kept_as_that_value(value: Any, dtype: tf.DType) -> None:
    tracemalloc.start()
    try:
        big = tf.constant(value, dtype, [256, 1024, 1024], name="big")
        proto = tf.get_default_graph().as_graph_def().node[0].attr["value"].tensor
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 20  # NumPy reports its arrays
    assert proto.ByteSize() < 50
    assert big.shape.as_list() == [256, 1024, 1024]


@pytest.mark.parametrize("dtype", [tf.bool, tf.float16, tf.bfloat16, tf.uint8, tf.complex128])
def test_a_constant_of_one_value_has_it_everywhere(dtype: tf.DType) -> None:
    value = dtype.is_bool or 2
    big = tf.constant(value, dtype, [3, 40000])
    assert bool(tf.reduce_all(tf.equal(tf.cast(big, tf.float32), float(value))).eval())
    assert tf.get_static_value(big).tobytes() == big.eval().tobytes()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(big.graph.as_graph_def(), name="")
    assert tf.Session(graph=other).run(big.name).tobytes() == big.eval().tobytes()
