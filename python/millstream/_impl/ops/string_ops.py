"""Strings: parts of them, what they encode, and numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGER,
    INTEGERS,
    TENSOR,
    TEXT,
    one_of,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes

as_string = public("as_string", "strings.as_string", "dtypes.as_string")(gen_ops.as_string)
string_join = public("string_join", "strings.join")(gen_ops.string_join)
string_strip = public("string_strip", "strings.strip")(gen_ops.string_strip)
encode_base64 = public("encode_base64", "io.encode_base64")(gen_ops.encode_base64)
to_hash_bucket_fast = public("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")(
    gen_ops.string_to_hash_bucket_fast
)
to_hash_bucket_strong = public("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong")(
    gen_ops.string_to_hash_bucket_strong
)
decode_base64 = public("decode_base64", "io.decode_base64")(gen_ops.decode_base64)
decode_compressed = public("decode_compressed", "io.decode_compressed")(gen_ops.decode_compressed)


@public("strings.length")
@takes(input=TENSOR, unit=TEXT)
def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:  # noqa: A002
    """The number of bytes, or of characters in UTF-8, of each string.

    Parameters
    ----------
    input
        The strings.
    name
        Name of the result.
    unit
        "BYTE" or "UTF8_CHAR".

    Examples
    --------
    >>> tf.strings.length(["abc", ""]).eval()
    array([3, 0], dtype=int32)
    """
    return gen_ops.string_length(input, unit, name)


@public("substr", "strings.substr")
@takes(input=TENSOR, pos=TENSOR, len=TENSOR, unit=TEXT)
def substr(
    input: Any,  # noqa: A002
    pos: Any,
    len: Any,  # noqa: A002
    name: str | None = None,
    unit: str = "BYTE",
) -> Tensor:
    """A part of each string.

    Parameters
    ----------
    input
        The strings.
    pos
        Where the parts begin; negative counts from the end.
    len
        How long they are; a negative length takes the rest of the bytes, or no characters. `pos`
        and `len` have one shape, which is broadcast with that of the strings.
    name
        Name of the result.
    unit
        What is counted: "BYTE" or "UTF8_CHAR".

    Examples
    --------
    >>> tf.substr(["hello", "world"], 1, 3).eval().tolist()
    [b'ell', b'orl']
    """
    return gen_ops.substr(input, pos, len, unit, name)


@public("string_to_number", "strings.to_number")
@takes(string_tensor=TENSOR, out_type=DTYPE, input=TENSOR)
def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """The number in each string.

    Parameters
    ----------
    string_tensor
        The strings.
    out_type
        Type of the numbers: float32, float64, int32 or int64.
    name
        Name of the result.
    input
        Other name of `string_tensor`.

    Examples
    --------
    >>> tf.string_to_number(["1.5", "-2"]).eval()
    array([ 1.5, -2. ], dtype=float32)
    """
    strings = one_of(input, string_tensor, "input", "string_tensor")
    if strings is None:
        raise ValueError("string_tensor: expected the strings")
    return gen_ops.string_to_number(strings, out_type, name)


@public("string_to_hash_bucket", "strings.to_hash_bucket")
@takes(string_tensor=TENSOR, num_buckets=INTEGER, input=TENSOR)
def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """A number from 0 to `num_buckets`, exclusive, for each string: its hash.

    Parameters
    ----------
    string_tensor
        The strings.
    num_buckets
        How many numbers there are.
    name
        Name of the result.
    input
        Other name of `string_tensor`.

    Examples
    --------
    >>> tf.string_to_hash_bucket(["a", "a"], 1000).eval().shape
    (2,)
    """
    strings = one_of(input, string_tensor, "input", "string_tensor")
    if strings is None:
        raise ValueError("string_tensor: expected the strings")
    if num_buckets is None:
        raise ValueError("num_buckets: expected how many numbers there are")
    return gen_ops.string_to_hash_bucket(strings, num_buckets, name)


@public("fingerprint")
@takes(data=TENSOR, method=TENSOR)
def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """Eight bytes for each row of a tensor: its hash.

    Parameters
    ----------
    data
        The tensor.
    method
        "farmhash64".
    name
        Name of the result.

    Examples
    --------
    >>> tf.fingerprint(["a"]).eval().shape
    (1, 8)
    """
    return gen_ops.fingerprint(data, method, name)


@public("decode_raw", "io.decode_raw")
@takes(input_bytes=TENSOR, out_type=DTYPE, bytes=TENSOR)
def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,  # noqa: A002
) -> Tensor:
    """The bytes of strings as numbers.

    Parameters
    ----------
    input_bytes
        The strings, all of one length.
    out_type
        Type of the numbers.
    little_endian
        Whether their lowest bytes come first.
    name
        Name of the result.
    bytes
        Old name of `input_bytes`.

    Returns
    -------
    Tensor
        The numbers of each string in a new last dimension.

    Examples
    --------
    >>> tf.decode_raw(["ab"], tf.uint8).eval().tolist()
    [[97, 98]]
    """
    strings = one_of(input_bytes, bytes, "input_bytes", "bytes")
    if strings is None:
        raise ValueError("input_bytes: expected the strings")
    if out_type is None:
        raise ValueError("out_type: expected the type of the numbers")
    return gen_ops.decode_raw(strings, out_type, little_endian, name)


@public("reduce_join", "strings.reduce_join")
@takes(inputs=TENSOR, axis=INTEGERS, separator=TEXT, reduction_indices=INTEGERS)
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Strings joined along dimensions.

    Parameters
    ----------
    inputs
        The strings.
    axis
        The dimensions, in the order in which strings are joined along them; by default all, from
        the last one on.
    keep_dims
        Old name of `keepdims`.
    separator
        What comes between two strings.
    name
        Name of the result.
    reduction_indices
        Old name of `axis`.
    keepdims
        Keep the dimensions, with size 1.

    Examples
    --------
    >>> tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator="-").eval().tolist()
    [b'a-b', b'c-d']
    >>> tf.reduce_join([["a", "b"], ["c", "d"]]).eval()
    b'abcd'
    """
    axes = one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = one_of(keepdims, keep_dims, "keepdims", "keep_dims")
    strings = convert_to_tensor(inputs, name="inputs")
    if axes is None:
        rank = strings.shape.ndims
        if rank is not None:
            axes = np.arange(rank, dtype=np.int32)[::-1]
        else:
            axes = gen_ops.range(gen_ops.rank(strings) - 1, -1, -1)
    return gen_ops.reduce_join(strings, axes, bool(keep), separator, name)
