"""Graphs from files are frozen with the values of checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.tools.freeze_graph import freeze_graph, print_tensors_in_checkpoint_file

# A graph as programs wrote it before resource variables.
_REFERENCES = """
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "v/read" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Neg" input: "v/read" attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 27 }
"""


def _saved(folder: Path) -> str:
    """Writes a graph with its checkpoint in all forms; gives the checkpoint's prefix."""
    with tf.Graph().as_default() as graph, tf.Session() as session, tf.device("/cpu:0"):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        tf.negative(v, name="y")
        kept = tf.Variable(0.0, name="kept", trainable=False)
        tf.group(tf.assign(kept, 5.0), name="set")
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(folder / "model"))
        assert path is not None
        for name, is_text in (("graph.pb", False), ("graph.pbtxt", True)):
            tf.train.write_graph(graph, str(folder), name, as_text=is_text)
        (folder / "saver.pb").write_bytes(saver.as_saver_def().SerializeToString())
        x = tf.constant(1.0)
        tf.saved_model.simple_save(session, str(folder / "exported"), {"x": x}, {"y": x})
    return path


def _values(graph_def: Any) -> list[float]:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        found: list[float] = session.run("y:0").tolist()
    return found


@pytest.mark.parametrize(
    ("graph", "more"),
    [
        ("graph.pb", {}),
        ("graph.pbtxt", {"input_binary": False}),
        ("graph.pb", {"input_saver": "saver.pb"}),
        (None, {"input_meta_graph": "model.meta"}),
        (None, {"input_saved_model_dir": "exported", "input_checkpoint": None}),
    ],
)
def test_variables_have_the_values_of_the_checkpoint(
    graph: str | None, more: dict[str, Any], tmp_path: Path
) -> None:
    files = {name: str(tmp_path / str(value)) for name, value in more.items() if value}
    defaults: dict[str, Any] = {"input_binary": True, "input_checkpoint": _saved(tmp_path)}
    arguments = {**defaults, **more, **files}
    frozen = freeze_graph(
        input_graph=graph and str(tmp_path / graph),
        input_saver=arguments.pop("input_saver", ""),
        output_node_names=" y",
        restore_op_name="save/restore_all",
        filename_tensor_name="save/Const:0",
        output_graph=str(tmp_path / "frozen.pb"),
        clear_devices=True,
        initializer_nodes="",
        **arguments,
    )
    assert "VarHandleOp" not in {node.op for node in frozen.node}
    assert _values(frozen) == [-1.0, -2.0]
    written = tf.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    assert written == frozen


def _frozen(folder: Path, outputs: str, **more: Any) -> Any:
    """The graph of `_saved`, frozen with the arguments that most programs give by position."""
    graph, path = str(folder / "graph.pb"), _saved(folder)
    fixed = ("save/restore_all", "save/Const:0", None, True)
    return freeze_graph(graph, None, True, path, outputs, *fixed, **more)


def test_initializers_run_and_variables_are_chosen(tmp_path: Path) -> None:
    frozen = _frozen(
        tmp_path, "y,kept", initializer_nodes="set", variable_names_blacklist="v, other"
    )
    ops = {node.name: node.op for node in frozen.node}
    assert (ops["v"], ops["kept"]) == ("VarHandleOp", "Const")
    (kept,) = (node for node in frozen.node if node.name == "kept")
    assert tf.make_ndarray(kept.attr["value"].tensor) == 5.0
    assert {node.device for node in frozen.node} == {""}


def test_references_of_older_graphs_are_frozen(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    (tmp_path / "old.pbtxt").write_text(_REFERENCES)
    fixed = ("", False, path, "y", "", "", None, True, "")
    assert _values(freeze_graph(str(tmp_path / "old.pbtxt"), *fixed)) == [-1.0, -2.0]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="supply the name of a node to --output_node_names"):
        _frozen(tmp_path, "", initializer_nodes="")
    with pytest.raises(ValueError, match="Input checkpoint 'none' doesn't exist!"):
        freeze_graph("g", None, True, "none", "y", None, None, None, True, None)
    path = str(tmp_path / "model")
    with pytest.raises(OSError, match=r"none\.pb"):
        freeze_graph("none.pb", None, True, path, "y", None, None, None, True, None)
    with pytest.raises(ValueError, match="input_graph: expected a file"):
        freeze_graph(None, None, True, path, "y", None, None, None, True, None)


def test_a_graph_without_variables_or_with_parts_of_them_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        parts = tf.fixed_size_partitioner(2)
        whole = tf.get_variable("v", initializer=[1.0, 2.0], partitioner=parts)
        tf.negative(whole, name="y")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        tf.train.write_graph(graph, str(tmp_path), "parts.pb", as_text=False)
    with tf.Graph().as_default() as graph:
        tf.negative([1.0, 2.0], name="y")
        tf.train.write_graph(graph, str(tmp_path), "frozen.pb", as_text=False)
    for name, message in (("frozen", "cannot freeze a graph twice"), ("parts", "partition var")):
        with pytest.raises(ValueError, match=message):
            freeze_graph(
                str(tmp_path / f"{name}.pb"), None, True, path, "y", None, None, None, True, None
            )


def test_tensors_of_a_checkpoint_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _saved(tmp_path)
    print_tensors_in_checkpoint_file(path, tensor_name="", all_tensors=False)
    assert capsys.readouterr().out == (
        "kept (DT_FLOAT) []\nv (DT_FLOAT) [2]\n# Total number of params: 3\n"
    )
    print_tensors_in_checkpoint_file(path, "v", False, count_exclude_pattern="kept")
    assert capsys.readouterr().out == (
        "tensor_name:  v\n[1. 2.]\n"
        "# Excluding 1 tensors (1 params) that match kept when counting.\n"
        "# Total number of params: 2\n"
    )
    print_tensors_in_checkpoint_file(path, None, all_tensors=False, all_tensor_names=True)
    assert "tensor_name:  kept\ntensor_name:  v\n#" in capsys.readouterr().out
