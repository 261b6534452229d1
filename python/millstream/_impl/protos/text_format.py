"""Messages as text, by the functions that protobuf's ``text_format`` has."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.protos.message import DecodeError, Message

ParseError = DecodeError


def _check(message: Any) -> None:
    if not isinstance(message, Message):
        raise TypeError(f"message: expected a message, got {message!r}")


@public("protos.text_format.MessageToString")
def MessageToString(message: Any) -> str:  # noqa: N802  (protobuf's name)
    """The text of a message.

    Parameters
    ----------
    message
        A message of any type.

    Raises
    ------
    TypeError
        It is no message.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> text_format.MessageToString(tf.NodeDef(name="n", op="NoOp")).splitlines()
    ['name: "n"', 'op: "NoOp"']
    """
    _check(message)
    return str(message)


@public("protos.text_format.Merge")
def Merge(text: str | bytes, message: Any) -> Any:  # noqa: N802  (protobuf's name)
    """Parse a text and merge it into a message.

    Parameters
    ----------
    text
        Protobuf's text format.
    message
        The message; lists are appended to.

    Returns
    -------
    Message
        The message itself.

    Raises
    ------
    TypeError
        An argument is of another type.
    ParseError
        The text is no message of that type; the error says line and column.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> node = tf.NodeDef(input=["a"])
    >>> list(text_format.Merge("input: 'b'", node).input)
    ['a', 'b']
    """
    _check(message)
    if isinstance(text, bytes):
        text = text.decode()
    if not isinstance(text, str):
        raise TypeError(f"text: expected a text, got {text!r}")
    message.MergeFrom(type(message).from_text(text))
    return message


@public("protos.text_format.Parse")
def Parse(text: str | bytes, message: Any) -> Any:  # noqa: N802  (protobuf's name)
    """Fill a message with what a text says; parameters, result and errors are those of `Merge`.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> text_format.Parse("node { name: 'a' op: 'NoOp' }", tf.GraphDef()).node[0].op
    'NoOp'
    """
    return Merge(text, message)
