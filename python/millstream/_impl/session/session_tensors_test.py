"""Tensors that a session keeps between steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def test_a_kept_tensor_is_read_by_its_text(session: tf.Session) -> None:
    kept = session.run(tf.get_session_handle(tf.constant([1.0, 2.0]) * 3.0))
    assert type(kept).__name__ == "TensorHandle"
    holder, value = tf.get_session_tensor(kept.handle, tf.float32)
    assert session.run(value + 1.0, {holder: kept.handle}).tolist() == [4.0, 7.0]
    holder, deleter = tf.delete_session_tensor(kept.handle)
    session.run(deleter, {holder: kept.handle})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        kept.eval()


def test_a_handle_is_fed_in_the_place_of_a_value(session: tf.Session) -> None:
    fetched = session.run({"kept": tf.get_session_handle(tf.constant([1.0, 2.0]))})
    kept = fetched["kept"]
    x = tf.placeholder(tf.float32, [2])
    assert session.run(x * 2.0, {x: kept}).tolist() == [2.0, 4.0]
    assert kept.dtype == tf.float32
    assert kept.eval().dtype == np.float32
    kept.delete()


def test_what_is_no_handle_is_refused() -> None:
    with pytest.raises(TypeError, match="data: expected a tensor"):
        tf.get_session_handle([1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="handle: expected the handle of a kept tensor"):
        tf.get_session_tensor("zzz", tf.float32)
    with pytest.raises(TypeError, match="handle: expected the text"):
        tf.delete_session_tensor(3)
