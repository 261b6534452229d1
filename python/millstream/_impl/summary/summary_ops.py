"""Operations whose results are ``Summary`` messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, LIST, NAME, NUMBER, TENSOR, TEXT, takes
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes

_ILLEGAL = re.compile(r"[^-/\w.]", re.ASCII)


def clean_tag(name: str) -> str:
    """A name in which everything that no node's name may have is an underscore."""
    return _ILLEGAL.sub("_", name).lstrip("/")


@contextmanager
def summary_scope(
    name: str | None, family: str | None, default_name: str | None, values: Any
) -> Iterator[tuple[str, str]]:
    """The tag and the scope of a summary's operation.

    With a family the tag starts with it twice, so that TensorBoard groups by it.
    """
    clean = clean_tag(name) if name is not None else None
    group = clean_tag(family) if family else None
    scope_name = f"{group}/{clean}" if group else clean
    with scopes.name_scope(scope_name, default_name, values) as scope:
        tag = f"{group}/{scope[:-1]}" if group else scope[:-1]
        yield tag, scope


def collect(summary: Tensor, collections: Any) -> None:
    """Put a summary into collections, None for that of summaries."""
    get_default_graph().add_to_collections(
        [GraphKeys.SUMMARIES] if collections is None else list(collections), summary
    )


@public("summary.scalar")
@takes(name=TEXT, tensor=TENSOR, collections=LIST, family=TEXT)
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
    with summary_scope(name, family, None, [tensor]) as (tag, scope):
        tags = constant(tag, name="tags")
        summary = gen_ops.scalar_summary(tags, convert_to_tensor(tensor, name="values"), scope)
        collect(summary, collections)
    return summary


@public("summary.histogram")
@takes(name=NAME, values=TENSOR, collections=LIST, family=TEXT)
def histogram(
    name: str | None, values: Any, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of how values are distributed.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, tag of the histogram.
    values
        Real numbers, a tensor of any shape. A step in which one is not finite fails.
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
    ...     text = sess.run(tf.summary.histogram("weights", [1.0, 2.0, 4.0]))
    ...     print(tf.Summary.FromString(text).value[0].histo.num)
    3.0
    """
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        tags = constant(tag, name="tag")
        summary = gen_ops.histogram_summary(tags, convert_to_tensor(values, name="values"), scope)
        collect(summary, collections)
    return summary


@public("summary.image")
@takes(name=TEXT, tensor=TENSOR, max_outputs=INTEGER, collections=LIST, family=TEXT)
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of images.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, first part of the images' tags.
    tensor
        Images ``[batch, height, width, channels]`` with 1 (gray), 3 (RGB) or 4 (RGBA) channels.
        uint8 values are taken as they are; floating-point ones are scaled, image by image: without
        negative values so that the largest becomes 255, else so that 0 becomes 128.
    max_outputs
        How many images of the batch to take.
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
    ...     text = sess.run(tf.summary.image("noise", tf.random_uniform([1, 8, 8, 3])))
    ...     value = tf.Summary.FromString(text).value[0]
    ...     print(value.tag, value.image.height, value.image.width)
    noise/image/0 8 8
    """
    with summary_scope(name, family, None, [tensor]) as (tag, scope):
        tags = constant(tag, name="tag")
        pictures = convert_to_tensor(tensor, name="tensor")
        summary = gen_ops.image_summary(tags, pictures, max_images=max_outputs, name=scope)
        collect(summary, collections)
    return summary


@public("summary.audio")
@takes(
    name=TEXT, tensor=TENSOR, sample_rate=NUMBER, max_outputs=INTEGER, collections=LIST, family=TEXT
)
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sound.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, first part of the clips' tags.
    tensor
        Clips ``[batch, samples, channels]`` or ``[batch, samples]`` of values from -1 to 1.
    sample_rate
        Samples a second, a number or a scalar tensor.
    max_outputs
        How many clips of the batch to take.
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
    >>> data = tf.summary.audio("beep", tf.zeros([1, 100]), 8000.0).eval()
    >>> value = tf.Summary.FromString(data).value[0]
    >>> value.tag, value.audio.length_frames, value.audio.content_type
    ('beep/audio/0', 100, 'audio/wav')
    """
    with summary_scope(name, family, None, [tensor]) as (tag, scope):
        summary = gen_ops.audio_summary_v2(
            constant(tag, name="tag"),
            convert_to_tensor(tensor, dtypes.float32, "tensor"),
            convert_to_tensor(sample_rate, dtypes.float32, "sample_rate"),
            max_outputs=max_outputs,
            name=scope,
        )
        collect(summary, collections)
    return summary


@public("summary.get_summary_description")
def get_summary_description(node_def: Any) -> Any:
    """The ``SummaryDescription`` of a node of an old graph.

    Parameters
    ----------
    node_def
        A ``NodeDef`` of the op "TensorSummary".

    Raises
    ------
    ValueError
        The node is of another op.

    Examples
    --------
    >>> node = tf.NodeDef(op="TensorSummary")
    >>> node.attr["description"].s = b'{"typeHint": "scalar"}'
    >>> tf.summary.get_summary_description(node).type_hint
    'scalar'
    """
    from millstream._impl.protos import json_format  # lazy: this function alone needs it

    if not isinstance(node_def, protos.message_class("NodeDef")):
        raise TypeError(f"node_def: expected a tf.NodeDef, got {node_def!r}")
    if node_def.op != "TensorSummary":
        raise ValueError(f"node_def: Can't get_summary_description on {node_def.op}")
    description = protos.message_class("SummaryDescription")()
    text = node_def.attr["description"].s
    return json_format.Parse(text.decode() if isinstance(text, bytes) else text, description)


@public("summary.all_v2_summary_ops")
def all_v2_summary_ops() -> list[Any]:
    """The operations of summaries of a later version in the graph: there are none.

    Examples
    --------
    >>> tf.summary.all_v2_summary_ops()
    []
    """
    return []


@public("summary.initialize")
def initialize(graph: Any = None, session: Any = None) -> None:
    """Begin writing summaries of a later version, of which no writer can be made here.

    Parameters
    ----------
    graph, session
        Not used.

    Raises
    ------
    RuntimeError
        Always; `FileWriter` writes the summaries of this version.

    Examples
    --------
    >>> try:
    ...     tf.summary.initialize()
    ... except RuntimeError as error:
    ...     print(error)
    No default tf.contrib.summary.SummaryWriter found
    """
    raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")


@public("summary.tensor_summary")
@takes(
    name=TEXT,
    tensor=TENSOR,
    summary_description=TEXT,
    collections=LIST,
    family=TEXT,
    display_name=TEXT,
)
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Any = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary that holds a tensor as it is.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, tag of the tensor.
    tensor
        A tensor of any type and shape.
    summary_description
        What it shows, in Markdown.
    collections
        Collections of the graph to join, by default that of summaries.
    summary_metadata
        A ``SummaryMetadata``, which names the viewer.
    family
        A group of tags.
    display_name
        Name to show instead of the tag.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Examples
    --------
    >>> data = tf.summary.tensor_summary("weights", [1.0, 2.0]).eval()
    >>> tf.make_ndarray(tf.Summary.FromString(data).value[0].tensor)
    array([1., 2.], dtype=float32)
    """
    metadata = protos.message_class("SummaryMetadata")()
    if summary_metadata is not None:
        if not isinstance(summary_metadata, type(metadata)):
            raise TypeError(
                f"summary_metadata: expected a tf.SummaryMetadata, got {summary_metadata!r}"
            )
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, None, [tensor]) as (tag, scope):
        summary = gen_ops.tensor_summary_v2(
            constant(tag, name="tag"),
            convert_to_tensor(tensor, name="tensor"),
            constant(metadata.SerializeToString(), name="serialized_summary_metadata"),
            name=scope,
        )
        collect(summary, collections)
    return summary


@public("summary.text")
@takes(name=TEXT, tensor=TENSOR, collections=LIST)
def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """A summary of text.

    Parameters
    ----------
    name
        Name of the operation and, within its scope, tag of the text.
    tensor
        Strings, in Markdown; a matrix is shown as a table.
    collections
        Collections of the graph to join, by default that of summaries.

    Returns
    -------
    Tensor
        A scalar string: a ``Summary``.

    Raises
    ------
    ValueError
        `tensor` holds no strings.

    Examples
    --------
    >>> data = tf.summary.text("note", "hello").eval()
    >>> list(tf.Summary.FromString(data).value[0].tensor.string_val)
    [b'hello']
    """
    words = convert_to_tensor(tensor)
    if words.dtype != dtypes.string:
        raise ValueError(f"tensor: expected strings, got {words!r}")
    plugin = {"plugin_name": "text"}
    metadata = protos.message_class("SummaryMetadata")(plugin_data=plugin)
    return tensor_summary(name, words, collections=collections, summary_metadata=metadata)


@public("merge_summary", "summary.merge")
@takes(inputs=LIST, collections=LIST)
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

    Examples
    --------
    >>> both = tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)])
    >>> [value.tag for value in tf.Summary.FromString(both.eval()).value]
    ['a', 'b']
    """
    items = list(inputs)
    with scopes.name_scope(name, "Merge", items):
        summary = gen_ops.merge_summary(items, name)
        collect(summary, [] if collections is None else collections)
    return summary


@public("merge_all_summaries", "summary.merge_all")
@takes(key=TEXT, scope=TEXT)
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

    Examples
    --------
    >>> tf.summary.merge_all() is None
    True
    >>> loss = tf.summary.scalar("loss", 0.5)
    >>> tf.Summary.FromString(tf.summary.merge_all().eval()).value[0].simple_value
    0.5
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None
