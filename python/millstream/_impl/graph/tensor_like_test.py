"""Tensors, and what stands for them, in errors."""

from __future__ import annotations

import millstream as tf
from millstream._impl.graph import tensor_like


def test_an_input_is_described_by_dtype_shape_and_name() -> None:
    assert tensor_like.described(tf.placeholder(tf.float32, name="x")) == "float32<unknown> x:0"
    assert tensor_like.described(tf.placeholder(tf.int32, [None, 2], name="y")) == "int32[?,2] y:0"
    assert tensor_like.described([1, 2]) == "[1, 2]"
    assert len(tensor_like.described(list(range(1000)))) < 70
