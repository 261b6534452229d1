"""Strings as rows of characters, bytes and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

WORDS = ["aé", "", "€b"]


def run(value: Any) -> Any:
    """The value in a step: of ragged tensors nested lists."""
    with tf.Session() as session:
        found = session.run(value)
    if isinstance(found, bytes):
        return found
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


def points_of(text: str) -> list[int]:
    return [ord(character) for character in text]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16-BE", "UTF-32-BE"])
def test_code_points_of_each_encoding(encoding: str) -> None:
    encoded = [word.encode(encoding) for word in WORDS]
    with tf.Graph().as_default():
        points = tf.strings.unicode_decode(encoded, encoding)
        assert run(points) == [points_of(word) for word in WORDS]
        assert run(tf.strings.unicode_encode(points, encoding)) == encoded
        parts = tf.strings.unicode_split(encoded, encoding)
        assert run(parts) == [[one.encode(encoding) for one in word] for word in WORDS]


def test_offsets_are_those_of_first_bytes() -> None:
    with tf.Graph().as_default():
        points, starts = tf.strings.unicode_decode_with_offsets(WORDS, "UTF-8")
        assert run(starts) == [[0, 1], [], [0, 3]]
        assert run(points) == [points_of(word) for word in WORDS]
        parts, starts = tf.strings.unicode_split_with_offsets("€b", "UTF-8")
        assert run(parts) == ["€".encode(), b"b"]
        assert run(starts) == [0, 3]


@pytest.mark.parametrize("encoding", ["UTF-16", "utf16", "UTF-32"])
def test_byte_order_is_that_of_the_mark(encoding: str) -> None:
    size = 4 if "32" in encoding else 2
    big, little = (f"utf-{8 * size}-{order}" for order in ("be", "le"))
    texts = ["a\u0416".encode(big), "\ufeffa\u0416".encode(big), "\ufeffa\u0416".encode(little)]
    with tf.Graph().as_default():
        points, starts = tf.strings.unicode_decode_with_offsets(texts, encoding)
        assert run(points) == [points_of("a\u0416")] * 3
        # The mark is before the first character.
        assert run(starts) == [[0, size], [0, 2 * size], [0, 2 * size]]


def test_results_have_one_dimension_more_than_strings() -> None:
    with tf.Graph().as_default():
        assert run(tf.strings.unicode_decode("ab", "UTF-8")) == [97, 98]
        matrix = tf.strings.unicode_decode([["a", "bc"], ["", "d"]], "UTF-8")
        assert matrix.shape.as_list() == [2, None, None]
        assert run(matrix) == [[[97], [98, 99]], [[], [100]]]
        deep = tf.strings.unicode_split([[["ab"]], [["c"]]], "UTF-8")
        assert run(deep) == [[[[b"a", b"b"]]], [[[b"c"]]]]
        rows = tf.ragged.constant([["ab"], [], ["c", "d"]], row_splits_dtype=tf.int32)
        found = tf.strings.unicode_decode(rows, "UTF-8")
        assert found.row_splits.dtype == tf.int32
        assert run(found) == [[[97, 98]], [], [[99], [100]]]
        thick = tf.ragged.constant([[["a", "bc"]], []], ragged_rank=1, inner_shape=(2,))
        assert run(tf.strings.unicode_decode(thick, "UTF-8")) == [[[[97], [98, 99]]], []]


def test_what_is_no_character_is_replaced_left_out_or_an_error() -> None:
    bad = [b"a\xff"]
    with tf.Graph().as_default():
        assert run(tf.strings.unicode_decode(bad, "UTF-8")) == [[97, 65533]]
        assert run(tf.strings.unicode_decode(bad, "UTF-8", replacement_char=63)) == [[97, 63]]
        assert run(tf.strings.unicode_decode(bad, "UTF-8", errors="ignore")) == [[97]]
        assert run(tf.strings.unicode_split(bad, "UTF-8", replacement_char=63)) == [[b"a", b"?"]]
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.strings.unicode_decode(bad, "UTF-8", errors="strict"))
        control = tf.strings.unicode_decode(
            ["a\n"], "UTF-8", replacement_char=63, replace_control_characters=True
        )
        assert run(control) == [[97, 63]]
        assert run(tf.strings.unicode_encode([97, 0x110000], "UTF-8", "ignore")) == b"a"
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="errors"):
            run(tf.strings.unicode_decode(bad, "UTF-8", errors="other"))


def test_code_points_of_any_rank_are_encoded() -> None:
    with tf.Graph().as_default():
        cube = np.array([[[97, 98], [99, 100]], [[101, 102], [103, 104]]], np.int32)
        found = tf.strings.unicode_encode(cube, "UTF-8")
        assert run(found) == [[b"ab", b"cd"], [b"ef", b"gh"]]
        rows = tf.ragged.constant([[[97], []], [], [[98, 99]]])
        assert run(tf.strings.unicode_encode(rows, "UTF-8")) == [[b"a", b""], [], [b"bc"]]
        thick = tf.ragged.constant([[[97, 98]], []], ragged_rank=1, inner_shape=(2,))
        assert run(tf.strings.unicode_encode(thick, "UTF-8")) == [[b"ab"], []]
        assert run(tf.strings.unicode_encode(np.zeros([2, 0], np.int32), "UTF-8")) == [b"", b""]
        with pytest.raises(ValueError, match="at least 1"):
            tf.strings.unicode_encode(5, "UTF-8")


def test_the_rank_of_strings_has_to_be_known() -> None:
    with tf.Graph().as_default():
        strings, points = tf.placeholder(tf.string), tf.placeholder(tf.int32)
        calls: tuple[Any, ...] = (
            lambda: tf.strings.unicode_decode(strings, "UTF-8"),
            lambda: tf.strings.unicode_encode(points, "UTF-8"),
            lambda: tf.strings.bytes_split(strings),
            lambda: tf.strings.ngrams(strings, 2),
        )
        for call in calls:
            with pytest.raises(ValueError, match="known"):
                call()


def test_bytes_of_strings_of_any_rank() -> None:
    with tf.Graph().as_default():
        assert run(tf.strings.bytes_split("abc")) == [b"a", b"b", b"c"]
        assert run(tf.strings.bytes_split(["ab", "", "é"])) == [
            [b"a", b"b"], [], [b"\xc3", b"\xa9"],
        ]  # fmt: skip
        assert run(tf.strings.bytes_split([["ab", "c"]])) == [[[b"a", b"b"], [b"c"]]]
        assert run(tf.strings.bytes_split([[["ab"]], [["c"]]])) == [[[[b"a", b"b"]]], [[[b"c"]]]]
        rows = tf.ragged.constant([["ab"], []])
        assert run(tf.strings.bytes_split(rows)) == [[[b"a", b"b"]], []]


def test_neighbours_are_joined_in_each_row() -> None:
    with tf.Graph().as_default():
        assert run(tf.strings.ngrams(["a", "b", "c"], [1, 2])) == [
            b"a", b"b", b"c", b"a b", b"b c",
        ]  # fmt: skip
        rows = tf.ragged.constant([["a", "b"], ["c"], []])
        assert run(tf.strings.ngrams(rows, 2)) == [[b"a b"], [], []]
        kept = tf.strings.ngrams(rows, 2, preserve_short_sequences=True)
        assert run(kept) == [[b"a b"], [b"c"], []]
        padded = tf.strings.ngrams(rows, 3, separator="", pad_values=("<", ">"), padding_width=1)
        assert run(padded) == [[b"<ab", b"ab>"], [b"<c>"], []]
        full = tf.strings.ngrams(["a"], 2, pad_values="_")
        assert run(full) == [b"_ a", b"a _"]
        deep = tf.strings.ngrams([[["a", "b"]], [["c", "d"]]], 2)
        assert run(deep) == [[[b"a b"]], [[b"c d"]]]


def test_what_cannot_be_joined_is_an_error() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="rank > 0"):
            tf.strings.ngrams("a", 2)
        with pytest.raises(ValueError, match="All ngram_widths must be greater than 0"):
            tf.strings.ngrams(["a"], 0)
        with pytest.raises(ValueError, match="padding_width must be greater than 0"):
            tf.strings.ngrams(["a"], 2, pad_values="_", padding_width=0)
        with pytest.raises(ValueError, match="pad_values must be provided"):
            tf.strings.ngrams(["a"], 2, padding_width=1)
        with pytest.raises(TypeError, match="pad_values must be a string, tuple of strings"):
            tf.strings.ngrams(["a"], 2, pad_values=("a", 1))


def test_split_gives_rows_where_they_are_asked_for() -> None:
    with tf.Graph().as_default():
        split = tf.strings.split
        assert run(split(["a b", "c"], result_type="RaggedTensor")) == [[b"a", b"b"], [b"c"]]
        assert run(split([["a b"], ["c"]], result_type="RaggedTensor")) == [
            [[b"a", b"b"]], [[b"c"]],
        ]  # fmt: skip
        assert run(split("a b").values) == [b"a", b"b"]
        assert run(tf.string_split(["a b"], result_type="RaggedTensor")) == [[b"a", b"b"]]
        with pytest.raises(ValueError, match="result_type"):
            split(["a"], result_type="Tensor")
