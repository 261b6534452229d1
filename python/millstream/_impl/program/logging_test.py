"""Messages of programs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def verbosity() -> Iterator[None]:
    """The level of before after each test."""
    before = tf.logging.get_verbosity()
    yield
    tf.logging.set_verbosity(before)


def test_messages_below_the_level_are_hidden(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.WARN)
    assert tf.logging.get_verbosity() == tf.logging.WARN
    tf.logging.info("hidden")
    tf.logging.warn("seen %d", 1)
    tf.logging.log(tf.logging.ERROR, "seen %s", "too")
    tf.logging.vlog(tf.logging.DEBUG, "hidden")
    tf.logging.log_if(tf.logging.ERROR, "hidden", False)
    tf.logging.log_if(tf.logging.ERROR, "seen %d", True, 3)
    found = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert found == [
        (logging.WARNING, "seen 1"),
        (logging.ERROR, "seen too"),
        (logging.ERROR, "seen 3"),
    ]


def test_lines_count_how_often_they_are_reached(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    for step in range(7):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 3, step)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, step)
    found = [record.getMessage() for record in caplog.records]
    assert found == ["every 0", "first 0", "first 1", "every 3", "every 6"]


def test_a_level_may_be_given_by_its_name() -> None:
    tf.logging.set_verbosity("ERROR")
    assert tf.logging.get_verbosity() == tf.logging.ERROR
    with pytest.raises(ValueError, match="LOUD"):
        tf.logging.set_verbosity("LOUD")


def test_levels_are_those_of_python() -> None:
    names = ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
    assert [getattr(tf.logging, name) for name in names] == [10, 20, 30, 40, 50]
    assert tf.get_logger().getEffectiveLevel() == tf.logging.get_verbosity()
