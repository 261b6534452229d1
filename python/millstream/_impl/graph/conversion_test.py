"""Objects of the program's classes in the place of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.graph import tensor_like


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Money:
    """An amount of a currency."""

    def __init__(self, amount: float) -> None:
        self.amount = amount


class Coins(list[float]):
    """Amounts."""


@pytest.fixture(autouse=True)
def _forgotten_afterwards() -> Iterator[None]:
    known = list(tensor_like.conversions)
    yield
    tensor_like.conversions[:] = known


def as_amount(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    return tf.constant(value.amount, dtype, name=name)


def test_objects_stand_where_tensors_are_wanted(session: tf.Session) -> None:
    tf.register_tensor_conversion_function(Money, as_amount)
    assert session.run(tf.add(Money(1.0), 2.0)) == 3.0
    assert session.run(tf.constant(2.0) * Money(3.0)) == 6.0
    assert session.run(tf.reduce_sum(Money(3.0))) == 3.0
    assert tf.convert_to_tensor(Money(1), preferred_dtype=tf.float64).dtype is tf.float64
    assert tf.convert_to_tensor(Money(1), tf.int32, name="money").op.name == "money"
    assert session.run(tf.Variable(Money(4.0)).initialized_value()) == 4.0


def test_numpy_integers_keep_their_dtype_where_the_preferred_one_cannot_hold_them() -> None:
    large = np.array([2**40, 2**40])
    assert tf.convert_to_tensor(large, preferred_dtype=tf.int32).dtype is tf.int64
    assert tf.convert_to_tensor(large >> 20, preferred_dtype=tf.int32).dtype is tf.int32
    with pytest.raises(ValueError, match="'paddings' of Pad"):
        tf.pad([1], [large << 22])
    with pytest.raises(ValueError, match="'shape' of BroadcastTo"):
        tf.broadcast_to([1], large)


def test_a_smaller_number_is_asked_first(session: tf.Session) -> None:
    def refuse(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return NotImplemented

    def as_one(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(1.0)

    tf.register_tensor_conversion_function(Money, as_amount)
    tf.register_tensor_conversion_function((Money, Coins), as_one, 50)
    tf.register_tensor_conversion_function(Money, refuse, 10)
    assert session.run(tf.convert_to_tensor(Money(7.0))) == 1.0


def test_lists_become_tensors_by_themselves_unless_asked_before(session: tf.Session) -> None:
    def total(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(sum(value), dtype)

    tf.register_tensor_conversion_function(Coins, total)
    assert session.run(tf.convert_to_tensor(Coins([1.0, 2.0]))).tolist() == [1.0, 2.0]
    tf.register_tensor_conversion_function(Coins, total, priority=99)
    assert session.run(tf.convert_to_tensor(Coins([1.0, 2.0]))) == 3.0


def test_what_a_function_returns_is_checked() -> None:
    def as_list(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return [value.amount]

    tf.register_tensor_conversion_function(Money, as_list)
    with pytest.raises(RuntimeError, match="for type Money returned non-Tensor"):
        tf.convert_to_tensor(Money(1.0))

    def as_float(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(value.amount)

    tf.register_tensor_conversion_function(Money, as_float, 1)
    with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
        tf.convert_to_tensor(Money(1.0), tf.int32)


@pytest.mark.parametrize("base", [int, float, bool, "Money", (Money, 3)])
def test_classes_of_numbers_are_refused(base: Any) -> None:
    with pytest.raises(TypeError, match="base_type"):
        tf.register_tensor_conversion_function(base, as_amount)
