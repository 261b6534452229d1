"""Strings matched with regular expressions."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Tensor


@public("regex_replace", "strings.regex_replace")
@takes(input=TENSOR, pattern=TENSOR, rewrite=TENSOR)
def regex_replace(
    input: Any,  # noqa: A002
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with what matches a regular expression replaced.

    Parameters
    ----------
    input
        The strings.
    pattern
        The expression, in the syntax of RE2; a text, or a scalar tensor.
    rewrite
        What replaces a match. "\1" to "\9" stand for the parts of the expression in parentheses,
        "\0" for the whole match.
    replace_global
        Whether all matches are replaced, rather than the first one.
    name
        Name of the result.

    Raises
    ------
    InvalidArgumentError
        In a step, for what is no regular expression.

    Examples
    --------
    >>> tf.regex_replace(["a1b22"], "[0-9]+", "#").eval().tolist()
    [b'a#b#']
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return gen_ops.static_regex_replace(input, pattern, rewrite, bool(replace_global), name)
    return gen_ops.regex_replace(input, pattern, rewrite, bool(replace_global), name)


@public("strings.regex_full_match")
@takes(input=TENSOR, pattern=TENSOR)
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Whether all of each string matches a regular expression.

    Parameters
    ----------
    input
        The strings.
    pattern
        The expression, in the syntax of RE2; a text, or a scalar tensor.
    name
        Name of the result.

    Raises
    ------
    InvalidArgumentError
        In a step, for what is no regular expression.

    Examples
    --------
    >>> tf.strings.regex_full_match(["ab", "abc"], "ab?").eval().tolist()
    [True, False]
    """
    if isinstance(pattern, (str, bytes)):
        return gen_ops.static_regex_full_match(input, pattern, name)
    return gen_ops.regex_full_match(input, pattern, name)
