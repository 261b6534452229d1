"""Graphs that the reference wrote import, or are refused with all their unknown ops at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream import _runtime
from millstream._impl import protos

_FOLDER = Path("testdata/conformance/files/written_by_tf")


def _graph_of(path: Path) -> Any:
    """The GraphDef that a file holds, by the ending of its name."""
    data = path.read_bytes()
    if path.name == "saved_model.pb":
        return protos.message_class("SavedModel").FromString(data).meta_graphs[0].graph_def
    if path.suffix == ".meta":
        return tf.MetaGraphDef.FromString(data).graph_def
    if path.suffix == ".pbtxt":
        return tf.GraphDef.from_text(data.decode())
    return tf.GraphDef.FromString(data)


_FILES = sorted(path for ending in ("pb", "pbtxt", "meta") for path in _FOLDER.rglob(f"*.{ending}"))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(_FOLDER)))
def test_graph_imports_or_names_all_its_unknown_ops(path: Path) -> None:
    graph_def = _graph_of(path)
    assert len(graph_def.node) > 0
    ops = protos.message_class("OpList").FromString(_runtime.op_list()).op
    unknown = {node.op for node in graph_def.node} - {op.name for op in ops}
    with tf.Graph().as_default() as graph:
        if unknown:
            with pytest.raises(tf.errors.NotFoundError) as caught:
                tf.import_graph_def(graph_def, name="")
            assert [op for op in sorted(unknown) if op not in caught.value.message] == []
            assert graph.get_operations() == []
        else:
            tf.import_graph_def(graph_def, name="")
            assert {one.name for one in graph.get_operations()} >= {
                node.name for node in graph_def.node
            }


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(_FOLDER)))
def test_graph_is_read_and_written_without_loss(path: Path) -> None:
    graph_def = _graph_of(path)
    assert tf.GraphDef.FromString(graph_def.SerializeToString()) == graph_def
    assert tf.GraphDef.from_text(str(graph_def)) == graph_def


def test_there_are_files_of_each_kind() -> None:
    assert {path.suffix for path in _FILES} == {".pb", ".pbtxt", ".meta"}
