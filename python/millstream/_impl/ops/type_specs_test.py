"""Specifications: what fits, what two have in common, equality."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def _sparse() -> Any:
    return tf.SparseTensor([[0, 2]], [7.0], [1, 3])


def _values() -> list[tuple[Any, Any, Any]]:
    """A specification, a value that fits, and one of another type or shape."""
    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3], tf.int64))
    return [
        (tf.TensorSpec([None, 2]), tf.ones([3, 2]), tf.ones([3])),
        (tf.TensorSpec([], tf.string, "s"), tf.constant("a"), tf.constant(1)),
        (tf.SparseTensorSpec([None, 3]), _sparse(), tf.ones([1, 3])),
        (tf.SparseTensorSpec(), tf.SparseTensorValue([[0]], _floats(), [2]), None),
        (tf.RaggedTensorSpec([2, None], tf.int32), tf.ragged.constant([[1], []]), _sparse()),
        (tf.IndexedSlicesSpec([None, 2]), rows, tf.ones([1, 2])),
        (tf.TensorArraySpec([2]), tf.TensorArray(tf.float32, 2, element_shape=[2]), rows),
    ]


def _floats() -> Any:
    return tf.ragged.constant_value([1.0], tf.float32)


@pytest.mark.parametrize("number", range(7))
def test_values_fit_or_not(number: int) -> None:
    spec, fits, other = _values()[number]
    assert spec.is_compatible_with(fits)
    assert not spec.is_compatible_with(other)
    assert spec.is_compatible_with(spec)
    assert isinstance(spec, tf.TypeSpec)


def test_they_are_equal_by_what_they_say() -> None:
    same = [tf.TensorSpec([None, 2]), tf.TensorSpec(tf.TensorShape([None, 2]), "float32")]
    assert same[0] == same[1]
    assert len(set(same)) == 1
    others = [tf.TensorSpec([None, 3]), tf.TensorSpec(None), tf.SparseTensorSpec([None, 2]), 3]
    assert all(same[0] != other for other in others)


def test_what_two_have_in_common() -> None:
    found = tf.SparseTensorSpec([2, 3]).most_specific_compatible_type(tf.SparseTensorSpec([2, 4]))
    assert found == tf.SparseTensorSpec([2, None])
    ragged = tf.RaggedTensorSpec([2, None, 3])
    assert ragged.most_specific_compatible_type(ragged) == ragged
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        ragged.most_specific_compatible_type(tf.RaggedTensorSpec([2, None, 3], ragged_rank=1))
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        tf.TensorSpec([2]).most_specific_compatible_type(tf.TensorSpec([2], tf.int32))
    array = tf.TensorArraySpec([2])
    other = tf.TensorArraySpec([3], infer_shape=False)
    assert array.most_specific_compatible_type(other) == tf.TensorArraySpec(
        [None], infer_shape=False
    )
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        array.most_specific_compatible_type(tf.TensorArraySpec([2], dynamic_size=True))


def test_specifications_of_tensors() -> None:
    tensor = tf.ones([2], name="x")
    assert repr(tf.TensorSpec.from_tensor(tensor)) == (
        "TensorSpec(shape=(2,), dtype=tf.float32, name='x')"
    )
    spec = tf.TensorSpec.from_spec(tf.TensorSpec.from_tensor(tensor), "y")
    assert (spec.shape.as_list(), spec.dtype, spec.name) == ([2], tf.float32, "y")
    assert tf.TensorSpec([2]).value_type is tf.Tensor
    with pytest.raises(ValueError, match="should be a tf"):
        tf.TensorSpec.from_tensor([1.0])


def test_ragged_ranks_that_do_not_fit_are_refused() -> None:
    assert tf.RaggedTensorSpec(ragged_rank=2).value_type is tf.RaggedTensor
    with pytest.raises(ValueError, match="Must specify ragged_rank"):
        tf.RaggedTensorSpec()
    with pytest.raises(ValueError, match="must be less than rank"):
        tf.RaggedTensorSpec([2, None], ragged_rank=2)
    with pytest.raises(ValueError, match=r"must be tf\.int32 or tf\.int64"):
        tf.RaggedTensorSpec([2, None], row_splits_dtype=tf.float32)
