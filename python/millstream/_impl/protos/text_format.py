"""Messages as text, by the functions that protobuf's ``text_format`` has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.protos.message import DecodeError, Message

ParseError = DecodeError


def _check(message: Any) -> None:
    if not isinstance(message, Message):
        raise TypeError(f"message: expected a message, got {message!r}")


@public("protos.text_format.MessageToString")
def MessageToString(  # noqa: N802  (protobuf's name)
    message: Any, as_utf8: bool = True, as_one_line: bool = False, **options: Any
) -> str:
    """The text of a message.

    Parameters
    ----------
    message
        A message of any type.
    as_utf8
        Not used: letters beyond ASCII are as the runtime prints them.
    as_one_line
        Whether the text is one line.
    options
        Further options of protobuf's function: ``indent``, a number of spaces before each line;
        others change nothing.

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
    lines = str(message).splitlines()
    if as_one_line:
        return " ".join(line.strip() for line in lines)
    start = " " * int(options.get("indent", 0))
    return "".join(f"{start}{line}\n" for line in lines)


@public("protos.text_format.PrintMessage")
def PrintMessage(message: Any, out: Any, indent: int = 0, **options: Any) -> None:  # noqa: N802
    """Write the text of a message to a file.

    Parameters
    ----------
    message, options
        As for `MessageToString`.
    out
        A file of text.
    indent
        A number of spaces before each line.

    Examples
    --------
    >>> import sys
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> text_format.PrintMessage(tf.NodeDef(name="n"), sys.stdout, indent=2)
      name: "n"
    """
    out.write(MessageToString(message, indent=indent, **options))


@public("protos.text_format.Merge")
def Merge(text: str | bytes, message: Any, **options: Any) -> Any:  # noqa: N802
    """Parse a text and merge it into a message.

    Parameters
    ----------
    text
        Protobuf's text format.
    message
        The message; lists are appended to.
    options
        Options of protobuf's function, which change nothing: what is unknown is always an error.

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
def Parse(text: str | bytes, message: Any, **options: Any) -> Any:  # noqa: N802
    """Fill a message with what a text says; parameters, result and errors are those of `Merge`.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> text_format.Parse("node { name: 'a' op: 'NoOp' }", tf.GraphDef()).node[0].op
    'NoOp'
    """
    return Merge(text, message)


@public("protos.text_format.MergeLines")
def MergeLines(lines: Iterable[str | bytes], message: Any, **options: Any) -> Any:  # noqa: N802
    """`Merge` of a text in lines.

    Parameters
    ----------
    lines
        The lines, such as a file.
    message, options
        As for `Merge`.

    Examples
    --------
    >>> import millstream as tf
    >>> from millstream.protos import text_format
    >>> text_format.MergeLines(["name: 'a'", "op: 'NoOp'"], tf.NodeDef()).op
    'NoOp'
    """
    texts = [line.decode() if isinstance(line, bytes) else line for line in lines]
    return Merge("\n".join(texts), message)


ParseLines = public("protos.text_format.ParseLines")(MergeLines)
