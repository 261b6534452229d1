"""Operations whose results are ``Summary`` messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import millstream.gen_ops as gen_ops
from millstream import scopes
from millstream.convert import constant, convert_to_tensor
from millstream.default_graph import get_default_graph
from millstream.graph_keys import GraphKeys
from millstream.operation import Tensor

_ILLEGAL = re.compile(r"[^-/\w.]", re.ASCII)


def clean_tag(name: str) -> str:
    """A name in which everything that no node's name may have is an underscore."""
    return _ILLEGAL.sub("_", name).lstrip("/")


@contextmanager
def summary_scope(name: str, family: str | None, values: Any) -> Iterator[tuple[str, str]]:
    """The tag and the scope of a summary's operation.

    With a family the tag starts with it twice, so that TensorBoard groups by it.
    """
    clean = clean_tag(name)
    group = clean_tag(family) if family else None
    scope_name = f"{group}/{clean}" if group else clean
    with scopes.name_scope(scope_name, None, values) as scope:
        tag = f"{group}/{scope[:-1]}" if group else scope[:-1]
        yield tag, scope


def _collect(summary: Tensor, collections: Any) -> None:
    get_default_graph().add_to_collections(
        [GraphKeys.SUMMARIES] if collections is None else list(collections), summary
    )


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, tag of the number.
    tensor
        A scalar of real numbers.
    collections
        Collections of the graph to join, by default that of summaries.
    family
        A group of tags.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     text = sess.run(tf.summary.scalar("loss", 0.25))
    ...     print(tf.Summary.FromString(text).value[0].simple_value)
    0.25
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        tags = constant(tag, name="tags")
        summary = gen_ops.scalar_summary(tags, convert_to_tensor(tensor, name="values"), scope)
        _collect(summary, collections)
    return summary


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary with the values of several.

    Parameters
    ----------
    inputs
        Summaries.
    collections
        Collections of the graph to join, by default none.
    name
        Name of the operation.
    """
    items = list(inputs)
    with scopes.name_scope(name, "Merge", items):
        summary = gen_ops.merge_summary(items, name)
        _collect(summary, [] if collections is None else collections)
    return summary


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """A summary with the values of all summaries of a collection, or None when there are none.

    Parameters
    ----------
    key
        The collection.
    scope
        A regular expression that names start with.
    name
        Name of the operation.
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None
