"""Summaries by the names and arguments of the first releases: tags are taken as they are."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.summary.summary_ops import collect


@public("scalar_summary")
@takes(tags=TENSOR, values=TENSOR, collections=LIST)
def scalar_summary(
    tags: Any, values: Any, collections: Any = None, name: str | None = None
) -> Tensor:
    """A summary of numbers, each with its tag; `millstream.summary.scalar` is the later form.

    Parameters
    ----------
    tags
        Strings, a tensor of the shape of `values`.
    values
        Real numbers.
    collections
        Collections of the graph to join, by default that of summaries.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Examples
    --------
    >>> data = tf.scalar_summary(["a", "b"], [1.0, 2.0]).eval()
    >>> [value.simple_value for value in tf.Summary.FromString(data).value]
    [1.0, 2.0]
    """
    with scopes.name_scope(name, "ScalarSummary", [tags, values]) as scope:
        summary = gen_ops.scalar_summary(
            convert_to_tensor(tags, name="tags"), convert_to_tensor(values, name="values"), scope
        )
        collect(summary, collections)
    return summary


@public("histogram_summary")
@takes(tag=TENSOR, values=TENSOR, collections=LIST)
def histogram_summary(
    tag: Any, values: Any, collections: Any = None, name: str | None = None
) -> Tensor:
    """A summary of how values are distributed; `millstream.summary.histogram` is the later form.

    Parameters
    ----------
    tag
        A scalar string.
    values
        Real numbers, a tensor of any shape.
    collections
        Collections of the graph to join, by default that of summaries.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Examples
    --------
    >>> data = tf.histogram_summary("weights", [1.0, 2.0, 3.0]).eval()
    >>> tf.Summary.FromString(data).value[0].histo.num
    3.0
    """
    with scopes.name_scope(name, "HistogramSummary", [tag, values]) as scope:
        summary = gen_ops.histogram_summary(
            convert_to_tensor(tag, name="tag"), convert_to_tensor(values, name="values"), scope
        )
        collect(summary, collections)
    return summary


@public("image_summary")
@takes(tag=TENSOR, tensor=TENSOR, max_images=INTEGER, collections=LIST)
def image_summary(
    tag: Any,
    tensor: Any,
    max_images: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """A summary of images; `millstream.summary.image` is the later form.

    Parameters
    ----------
    tag
        A scalar string, first part of the images' tags.
    tensor
        Images ``[batch, height, width, channels]``.
    max_images
        How many images of the batch to take.
    collections
        Collections of the graph to join, by default that of summaries.
    name
        Name of the operation.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Examples
    --------
    >>> data = tf.image_summary("picture", tf.zeros([1, 2, 3, 1])).eval()
    >>> tf.Summary.FromString(data).value[0].image.width
    3
    """
    with scopes.name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        summary = gen_ops.image_summary(
            convert_to_tensor(tag, name="tag"),
            convert_to_tensor(tensor, name="tensor"),
            max_images=max_images,
            name=scope,
        )
        collect(summary, collections)
    return summary
