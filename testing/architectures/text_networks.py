"""Networks for texts: an encoder like BERT, and a wide and deep model with tables of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.architectures.network_parts import Parts

WORDS = 2000
LENGTH = 48
_WIDTH = 128
_HEADS = 4
_LAYERS = 4

COUNTRIES = ("at", "br", "cn", "de", "in", "jp", "ke", "us")
_BUCKETS = 500


def encoder(parts: Parts, words: Any, mask: Any) -> tuple[Any, Any]:
    """The vectors of all words, and one of the text.

    Devlin et al., "BERT", and Vaswani et al., "Attention Is All You Need", section 3. Words are
    numbers, [texts, length]; the mask is 1 where there is a word and 0 behind the text's end.
    """
    tf = parts.tf
    x = tf.gather(parts.weights(WORDS, _WIDTH, scale=0.5), words)
    x = parts.layer_norm(x + parts.weights(LENGTH, _WIDTH, scale=0.5))
    far = (1.0 - tf.cast(mask, tf.float32)[:, tf.newaxis, tf.newaxis, :]) * -10000.0
    x = tf.reshape(x, [-1, _WIDTH])
    for _ in range(_LAYERS):
        seen = parts.dense(_attention(parts, x, far), _WIDTH, scale=0.09)
        x = parts.layer_norm(x + seen)
        inner = _gelu(tf, parts.dense(x, 4 * _WIDTH, scale=0.09))
        x = parts.layer_norm(x + parts.dense(inner, _WIDTH, scale=0.05))
    vectors = tf.reshape(x, [-1, LENGTH, _WIDTH])
    return vectors, tf.tanh(parts.dense(vectors[:, 0], _WIDTH, scale=0.09))


def _gelu(tf: Any, x: Any) -> Any:
    """Hendrycks and Gimpel, "Gaussian Error Linear Units", with erf."""
    return x * 0.5 * (1.0 + tf.erf(x / np.float32(2**0.5)))


def _attention(parts: Parts, x: Any, far: Any) -> Any:
    tf = parts.tf
    size = _WIDTH // _HEADS

    def heads() -> Any:
        y = parts.dense(x, _WIDTH, scale=0.09)
        return tf.transpose(tf.reshape(y, [-1, LENGTH, _HEADS, size]), [0, 2, 1, 3])

    query, key, value = heads(), heads(), heads()
    likeness = tf.matmul(query, key, transpose_b=True) * (1.0 / size**0.5) + far
    mixed = tf.matmul(tf.nn.softmax(likeness), value)
    return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, _WIDTH])


def wide_and_deep(parts: Parts, country: Any, word: Any, numbers: Any) -> Any:
    """A probability (Cheng et al., "Wide & Deep Learning for Recommender Systems", figure 1).

    The deep part has vectors of a country, which a table numbers, and of a word, which is hashed,
    beside the numbers. The wide part has a weight for each country with each word, hashed.
    """
    tf = parts.tf
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(COUNTRIES), tf.constant(np.arange(1, len(COUNTRIES) + 1))
        ),
        0,
    )
    place = tf.gather(parts.weights(len(COUNTRIES) + 1, 8, scale=1.0), table.lookup(country))
    hashed = tf.strings.to_hash_bucket_fast(word, _BUCKETS)
    meaning = tf.gather(parts.weights(_BUCKETS, 16, scale=1.0), hashed)
    deep = tf.concat([place, meaning, numbers], 1)
    for count in (64, 32):
        deep = tf.nn.relu(parts.dense(deep, count))
    both = tf.strings.join([country, word], "_x_")
    crossed = tf.strings.to_hash_bucket_fast(both, 10 * _BUCKETS)
    wide = tf.gather(parts.weights(10 * _BUCKETS, scale=0.5), crossed)
    return tf.sigmoid(parts.dense(deep, 1)[:, 0] + wide)
