"""Reading SavedModels."""

from __future__ import annotations

import os
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, PATH, SESSION, TEXT, takes
from millstream._impl.protos import text_format
from millstream._impl.protos.message import DecodeError
from millstream._impl.saved_model import constants
from millstream._impl.saved_model.assets import asset_feeds
from millstream._impl.train.meta_graph_imports import import_meta_graph

# The signature whose one output is the operation to run first, in models of version 2.
_FIRST_SIGNATURE = "__saved_model_init_op"


def _files(folder: str) -> list[str]:
    names = (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)
    return [os.path.join(folder, name) for name in names]


@public("saved_model.loader.maybe_saved_model_directory", "saved_model.maybe_saved_model_directory")
@takes(export_dir=PATH)
def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether a folder has the file of a SavedModel.

    Parameters
    ----------
    export_dir
        The folder.

    Examples
    --------
    >>> tf.saved_model.loader.maybe_saved_model_directory("nowhere")
    False
    """
    return any(map(os.path.exists, _files(os.fsdecode(export_dir))))


@public("saved_model.contains_saved_model")
@takes(export_dir=PATH)
def contains_saved_model(export_dir: Any) -> bool:
    """Whether a folder has the file of a SavedModel.

    Parameters
    ----------
    export_dir
        The folder.

    Examples
    --------
    >>> tf.saved_model.contains_saved_model("nowhere")
    False
    """
    return maybe_saved_model_directory(export_dir)


def read_model(folder: str) -> Any:
    """The ``SavedModel`` of a folder, from the binary file or the one of text.

    Raises
    ------
    OSError
        There is none, or the file has something else in it.
    """
    binary, text = _files(folder)
    path = binary if os.path.exists(binary) else text
    if not os.path.exists(path):
        names = f"{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}"
        raise OSError(f"SavedModel file does not exist at: {folder}/{{{names}}}")
    kind = protos.message_class("SavedModel")
    with open(path, "rb") as file:
        data = file.read()
    try:
        if path == binary:
            return kind.FromString(data)
        return text_format.Parse(data, kind())
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from error


def _tagged(model: Any, tags: set[str]) -> Any:
    """The graph with exactly these tags."""
    known = [sorted(one.meta_info_def.tags) for one in model.meta_graphs]
    for position, found in enumerate(known):
        if set(found) == tags:
            return model.meta_graphs[position]
    wanted = ",".join(sorted(tags))
    listed = "; ".join(",".join(one) for one in known) or "none"
    raise RuntimeError(
        f"MetaGraphDef associated with tags '{wanted}' could not be found in SavedModel. "
        f"It has graphs with the tags: {listed}"
    )


@public("saved_model.loader.load", "saved_model.load")
@takes(sess=SESSION, tags=LIST, export_dir=PATH, import_scope=TEXT)
def load(
    sess: Any, tags: Any, export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any
) -> Any:
    """Add a graph of a model to the session's, restore its variables, run its first operation.

    Parameters
    ----------
    sess
        The session.
    tags
        All tags of the graph.
    export_dir
        The model's folder.
    import_scope
        Scope of the new names, by default none.
    saver_kwargs
        Arguments of `train.import_meta_graph`.

    Returns
    -------
    MetaGraphDef
        With the signatures: names are those in the model, without the scope.

    Raises
    ------
    OSError
        There is no model, or its file has something else in it.
    RuntimeError
        No graph of it has these tags.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": tf.square(x, name="y")})
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     model = tf.saved_model.load(sess, ["serve"], folder)
    ...     print(float(sess.run("y:0", {"x:0": 3.0})))
    9.0
    """
    folder = os.fsdecode(export_dir)
    meta_graph = _tagged(read_model(folder), set(tags))
    with sess.graph.as_default():
        saver = import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        prefix = os.path.join(folder, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)
        if saver is not None and os.path.exists(f"{prefix}.index"):
            saver.restore(sess, prefix)
        first = _first_operation(sess.graph, meta_graph, import_scope)
        if first is not None:
            sess.run(first, feed_dict=asset_feeds(meta_graph, folder, import_scope))
    return meta_graph


def _first_operation(graph: Any, meta_graph: Any, import_scope: str | None) -> Any:
    """What a loaded model runs first, or None."""
    scope = f"{import_scope}/" if import_scope else ""
    if _FIRST_SIGNATURE in meta_graph.signature_def:
        outputs = meta_graph.signature_def[_FIRST_SIGNATURE].outputs
        names = [outputs[key].name for key in outputs]
        return graph.as_graph_element(scope + names[0]) if names else None
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = list(meta_graph.collection_def[key].node_list.value)
            if len(names) != 1:
                raise RuntimeError(
                    f"Expected exactly one SavedModel init op in {key}. Found {len(names)}: {names}"
                )
            return graph.as_graph_element(scope + names[0])
    return None
