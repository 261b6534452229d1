"""Strings as ragged tensors of their characters, bytes and sequences of words."""

from __future__ import annotations

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


def lists(value: Any) -> Any:
    """The value of a ragged tensor or a tensor, as nested lists."""
    session = tf.get_default_session()
    assert session is not None
    found = session.run(value)
    if isinstance(found, bytes):
        return found
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


WORDS = ["G\xf6", "", "\U0001f60a!"]
NUMBERS = [[71, 246], [], [0x1F60A, 33]]


def test_characters_are_numbers() -> None:
    assert lists(tf.strings.unicode_decode(WORDS, "UTF-8")) == NUMBERS
    assert lists(tf.strings.unicode_decode(WORDS[2], "UTF-8")) == NUMBERS[2]
    assert lists(tf.strings.unicode_decode([WORDS[:1], WORDS[2:]], "UTF-8")) == [
        NUMBERS[:1],
        NUMBERS[2:],
    ]
    ragged = tf.ragged.constant([WORDS[:2], [], WORDS[2:]])
    assert lists(tf.strings.unicode_decode(ragged, "UTF-8")) == [NUMBERS[:2], [], NUMBERS[2:]]
    wide = [word.encode("utf-16-be") for word in WORDS]
    assert lists(tf.strings.unicode_decode(wide, "UTF-16-BE")) == NUMBERS


def test_characters_begin_at_bytes() -> None:
    numbers, starts = tf.strings.unicode_decode_with_offsets(WORDS, "UTF-8")
    assert lists(numbers) == NUMBERS
    assert lists(starts) == [[0, 1], [], [0, 4]]
    characters, starts = tf.strings.unicode_split_with_offsets(WORDS[0], "UTF-8")
    assert lists(characters) == [b"G", b"\xc3\xb6"]
    assert lists(starts) == [0, 1]


def test_characters_are_strings() -> None:
    characters = [[c.encode() for c in word] for word in WORDS]
    assert lists(tf.strings.unicode_split(WORDS, "UTF-8")) == characters
    assert lists(tf.strings.unicode_split([WORDS], "UTF-8")) == [characters]
    assert lists(tf.strings.unicode_split(WORDS[0], "UTF-8")) == characters[0]


def test_bytes_that_are_no_characters() -> None:
    bad = [b"a\xff", b"b"]
    assert lists(tf.strings.unicode_decode(bad, "UTF-8")) == [[97, 65533], [98]]
    assert lists(tf.strings.unicode_decode(bad, "UTF-8", "ignore")) == [[97], [98]]
    assert lists(tf.strings.unicode_split(bad, "UTF-8", replacement_char=63))[0] == [b"a", b"?"]
    with pytest.raises(tf.errors.InvalidArgumentError):
        lists(tf.strings.unicode_decode(bad, "UTF-8", "strict"))


def test_numbers_become_strings() -> None:
    encoded = [word.encode() for word in WORDS]
    assert lists(tf.strings.unicode_encode(tf.ragged.constant(NUMBERS), "UTF-8")) == encoded
    assert lists(tf.strings.unicode_encode([71, 246], "UTF-8")) == encoded[0]
    deep = np.array([[[97, 98], [99, 100]]], np.int32)
    assert lists(tf.strings.unicode_encode(deep, "UTF-8")) == [[b"ab", b"cd"]]
    nested = tf.ragged.constant([[[97], [98, 99]], []])
    assert lists(tf.strings.unicode_encode(nested, "UTF-8")) == [[b"a", b"bc"], []]
    wide = tf.strings.unicode_encode([97], "UTF-16-BE")
    assert lists(wide) == b"\x00a"
    with pytest.raises(ValueError, match="the rank must be at least 1"):
        tf.strings.unicode_encode(97, "UTF-8")


def test_bytes_are_strings() -> None:
    assert lists(tf.strings.bytes_split(["ab", "", "c"])) == [[b"a", b"b"], [], [b"c"]]
    assert lists(tf.strings.bytes_split("ab")) == [b"a", b"b"]
    assert lists(tf.strings.bytes_split([["ab"], ["c"]])) == [[[b"a", b"b"]], [[b"c"]]]


def test_neighbours_are_joined() -> None:
    words = ["a", "b", "c"]
    assert lists(tf.strings.ngrams(words, 2)) == [b"a b", b"b c"]
    assert lists(tf.strings.ngrams([words], [1, 3], "-")) == [[b"a", b"b", b"c", b"a-b-c"]]
    ragged = tf.ragged.constant([["a"], words])
    assert lists(tf.strings.ngrams(ragged, 2)) == [[], [b"a b", b"b c"]]
    short = tf.strings.ngrams(ragged, 2, preserve_short_sequences=True)
    assert lists(short) == [[b"a"], [b"a b", b"b c"]]
    padded = tf.strings.ngrams(["a"], 3, pad_values=("<", ">"))
    assert lists(padded) == [b"< < a", b"< a >", b"a > >"]
    once = tf.strings.ngrams(["a"], 3, pad_values="|", padding_width=1)
    assert lists(once) == [b"| a |"]
    deep = tf.ragged.constant([[["a", "b"]], [["c"], ["d", "e"]]])
    assert lists(tf.strings.ngrams(deep, 2)) == [[[b"a b"]], [[], [b"d e"]]]


def test_widths_and_pads_are_checked() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be greater than 0"):
        tf.strings.ngrams(["a"], 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be greater than 0"):
        tf.strings.ngrams(["a"], 2, pad_values="x", padding_width=0)
    with pytest.raises(ValueError, match="pad_values must be provided"):
        tf.strings.ngrams(["a"], 2, padding_width=1)
    with pytest.raises(TypeError, match="pad_values must be a string"):
        tf.strings.ngrams(["a"], 2, pad_values=["a"])
    with pytest.raises(ValueError, match="Rank of `input` must be statically known"):
        tf.strings.unicode_decode(tf.placeholder(tf.string), "UTF-8")
