"""Functions of texts."""

from __future__ import annotations

import millstream as tf


def test_join_puts_the_separator_between_and_repeats_scalars() -> None:
    joined = tf.string_join([["a", "b"], "+", ["c", "d"]], separator=" ")
    assert tf.strings.join is tf.string_join
    with tf.Session() as session:
        assert session.run(joined).tolist() == [b"a + c", b"b + d"]
