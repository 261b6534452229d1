"""Options of sessions that are made without a configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millstream as tf
from millstream._impl.values.session_config import default_options


@pytest.fixture(autouse=True)
def _no_options() -> Iterator[None]:
    default_options.clear()
    yield
    default_options.clear()


def _run() -> float:
    with tf.Graph().as_default():
        with tf.device("/gpu:7"):
            x = tf.constant(2.0) * 3.0
        with tf.Session() as sess:
            return float(sess.run(x))


def test_soft_placement_is_that_of_later_sessions() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run()
    tf.config.set_soft_device_placement(True)
    assert tf.config.get_soft_device_placement()
    assert _run() == 6.0


def test_a_session_with_a_configuration_keeps_it() -> None:
    tf.config.set_soft_device_placement(True)
    with tf.Graph().as_default(), tf.device("/gpu:7"):
        x = tf.constant(2.0) * 3.0
        sess = tf.Session(config=tf.ConfigProto())
        with sess, pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(x)


def test_the_log_of_placement_is_an_option() -> None:
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    assert default_options == {"log_device_placement": True}


def test_devices_have_full_names() -> None:
    assert tf.config.experimental_list_devices()[0].endswith("/device:CPU:0")
