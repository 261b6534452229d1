"""Printing in steps: tensors as they pass, and texts made of tensors."""

from __future__ import annotations

import logging
import pprint
import random
import sys
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, LIST, TENSOR, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import nest

_SUMMARIZE = 3  # elements that are shown by default
# Streams by levels, and by the names of the functions that log with them.
_LOGS = {
    logging.INFO: "log(info)",
    logging.WARNING: "log(warning)",
    logging.ERROR: "log(error)",
    "info": "log(info)",
    "warn": "log(warning)",
    "warning": "log(warning)",
    "error": "log(error)",
}


@public("Print")
@takes(input_=TENSOR, data=LIST, message=TEXT, first_n=INTEGER, summarize=INTEGER)
def Print(  # noqa: N802  (the public name)
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor as it is. Each step that computes it prints other tensors to the standard error.

    Parameters
    ----------
    input_
        The tensor.
    data
        Tensors that are printed, each in brackets.
    message
        What the line begins with.
    first_n
        How many steps of a session print; by default, or when negative, all.
    summarize
        How many elements of each tensor are printed, by default 3; all when negative.
    name
        Name of the operation.

    Examples
    --------
    >>> x = tf.constant([1.0, 2.0])
    >>> tf.Print(x, [tf.shape(x), x], message="x: ").eval()  # prints "x: [2][1 2]"
    array([1., 2.], dtype=float32)
    """
    return gen_ops.print(
        input_,
        [convert_to_tensor(item) for item in data],
        message or "",
        -1 if first_n is None else first_n,
        _SUMMARIZE if summarize is None else summarize,
        name=name,
    )


@public("print")
@takes(summarize=INTEGER, sep=TEXT, end=or_none(TEXT))
def print_v2(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = _SUMMARIZE,
    sep: str = " ",
    end: str | None = "\n",
    name: str | None = None,
) -> Operation:
    """An operation that prints values and tensors, like Python's ``print``, each time it runs.

    It prints only when it runs: make another operation wait for it, by `control_dependencies`.

    Parameters
    ----------
    inputs
        Tensors, other values, and lists, tuples and dictionaries of them. A string tensor without
        dimensions that stands alone is printed as it is, other strings in tensors in quotes.
    output_stream
        ``sys.stderr``, the default, or ``sys.stdout``; ``tf.logging.INFO``, ``WARN`` or ``ERROR``,
        or the functions ``info``, ``warning`` and ``error`` of `tf.logging`; or
        ``"file://PATH"``, a file to which the text is appended.
    summarize
        How many entries are printed at both ends of each dimension; all when negative.
    sep
        What stands between the inputs.
    end
        What stands after the last one.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        The stream is none of these.

    Examples
    --------
    >>> x = tf.range(10)
    >>> with tf.control_dependencies([tf.print("x:", x, {"twice": x[:2] * 2})]):
    ...     total = tf.reduce_sum(x)
    >>> int(total.eval())  # prints "x: [0 1 2 ... 7 8 9] {'twice': [0 2]}"
    45
    """
    stream = _stream_name(sys.stderr if output_stream is None else output_stream)
    text = _text_of(inputs, summarize, sep, f"{name}_format" if name else None)
    return gen_ops.print_v2(text, stream, "" if end is None else end, name=name)


@public("strings.format")
@takes(template=TEXT, inputs=TENSOR, placeholder=TEXT, summarize=INTEGER)
def string_format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = _SUMMARIZE,
    name: str | None = None,
) -> Tensor:
    """A text in which tensors stand where a template has a placeholder.

    Parameters
    ----------
    template
        The text with its placeholders.
    inputs
        A tensor for each placeholder; one may stand without a list.
    placeholder
        What is replaced.
    summarize
        How many entries are shown at both ends of each dimension; all when negative.
    name
        Name of the result, a scalar string.

    Raises
    ------
    ValueError
        There is not one input for each placeholder.

    Examples
    --------
    >>> tf.strings.format("x is {}, y is {}", (tf.range(10), 1.5)).eval()
    b'x is [0 1 2 ... 7 8 9], y is 1.5'
    """
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    tensors = [convert_to_tensor(item) for item in given]
    return gen_ops.string_format(tensors, template, placeholder, summarize, name=name)


def _stream_name(stream: Any) -> str:
    """What the op calls a stream that a user gave."""
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    key = getattr(stream, "__name__", None) if callable(stream) else stream
    if callable(stream) or isinstance(stream, int):
        log = _LOGS.get(key)
        if log is not None:
            return log
    raise ValueError(
        "output_stream: expected sys.stdout, sys.stderr, a level of tf.logging or 'file://PATH', "
        f"got {stream!r}"
    )


def _text_of(inputs: Sequence[Any], summarize: int, separator: str, name: str | None) -> Tensor:
    """The text of all inputs, a scalar string tensor."""
    if len(inputs) == 1 and isinstance(inputs[0], TensorLike):
        tensor = convert_to_tensor(inputs[0])
        if tensor.dtype.name == "string" and tensor.shape.ndims == 0:
            return tensor
    leaves = nest.flatten(list(inputs))
    tensors = [convert_to_tensor(leaf) for leaf in leaves if isinstance(leaf, TensorLike)]
    place = _placeholder(separator.join(_described(value, "") for value in inputs) + separator)
    template = separator.join(_described(value, place) for value in inputs)
    return gen_ops.string_format(tensors, template, place, summarize, name=name)


def _described(value: Any, place: str) -> str:
    """The text of an input in which `place` stands for each tensor."""
    if isinstance(value, str):
        return value
    if isinstance(value, TensorLike):
        return place
    if not nest.is_nested(value):
        return pprint.pformat(value)
    places = nest.map_structure(
        lambda leaf: _Place(place) if isinstance(leaf, TensorLike) else leaf, value
    )
    return pprint.pformat(places)


class _Place:
    """Is printed as a text without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _placeholder(text: str) -> str:
    """What does not occur in a text, whatever stands in place of its empty places."""
    place = "{}"
    digits = random.Random(0)
    while place in text:
        place += str(digits.randint(0, 9))
    return place
