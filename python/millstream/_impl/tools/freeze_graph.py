"""Graphs from files with the values of a checkpoint as constants: ``tensorflow.python.tools``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from millstream._impl import protos
from millstream._impl.graph import graph_util, scopes
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.tensor_protos import make_tensor_proto
from millstream._impl.protos import text_format
from millstream._impl.saved_model import loader
from millstream._impl.session.session import Session
from millstream._impl.train import meta_graph_imports
from millstream._impl.train.checkpoint_reader import NewCheckpointReader
from millstream._impl.train.checkpoint_state import checkpoint_exists

# The ops of variables, each with the op that assigns to them and its attribute for their dtype.
_ASSIGNING = {
    "VarHandleOp": ("AssignVariableOp", "dtype"),
    "Variable": ("Assign", "T"),
    "VariableV2": ("Assign", "T"),
}
# What the name of a part of a variable has after that of the whole.
_PART = re.compile(r"/part_\d+$")


def freeze_graph(
    input_graph: str | None,
    input_saver: str | None,
    input_binary: bool,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str | None,
    clear_devices: bool,
    initializer_nodes: str | None,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """The part of a graph that some nodes need, with the values of variables as constants.

    Parameters
    ----------
    input_graph, input_meta_graph, input_saved_model_dir
        The file of a ``GraphDef`` or a ``MetaGraphDef``, or the folder of a model: one of them.
    input_saver
        The file of a ``SaverDef`` of the graph, whose operation then restores the variables.
    input_binary
        Whether the files are binary, not text.
    input_checkpoint
        The prefix of the checkpoint. A model has its own.
    output_node_names, initializer_nodes
        Names of nodes, with commas between them. Initializers run when the variables are restored.
    restore_op_name, filename_tensor_name, checkpoint_version
        Not used.
    output_graph
        The file that is written, if any.
    clear_devices
        Whether nodes lose their devices.
    variable_names_whitelist, variable_names_blacklist
        Names of the variables that become constants or stay, with commas between them.
    saved_model_tags
        The tags of the model's graph, with commas between them.

    Returns
    -------
    GraphDef
        The part of the graph.

    Raises
    ------
    ValueError
        There is no such checkpoint, no output or no graph is named, or the graph has no variables
        or has them in parts.
    OSError
        There is no such file.
    """
    if not input_saved_model_dir and not (input_checkpoint and checkpoint_exists(input_checkpoint)):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    outputs = _listed(output_node_names)
    if not outputs:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    with Graph().as_default() as graph, Session(graph=graph) as session:
        if input_saved_model_dir:
            loader.load(session, _listed(saved_model_tags), input_saved_model_dir)
        elif input_meta_graph:
            message = _message("MetaGraphDef", input_meta_graph, input_binary)
            saver: Any = meta_graph_imports.import_meta_graph(message, clear_devices=clear_devices)
            saver.restore(session, input_checkpoint)
        elif input_graph:
            nodes = _message("GraphDef", input_graph, input_binary)
            for node in nodes.node if clear_devices else ():
                node.device = ""
            assigned = [] if input_saver else _add_assigned(nodes, str(input_checkpoint))
            scopes.import_graph_def(nodes, name="")
            session.run(assigned)
            if input_saver:
                saver = _message("SaverDef", input_saver, input_binary)
                feeds = {saver.filename_tensor_name: input_checkpoint}
                session.run(saver.restore_op_name, feeds)
        else:
            raise ValueError("input_graph: expected a file, as no meta graph and no model is named")
        if _listed(initializer_nodes):
            session.run(_listed(initializer_nodes))
        frozen = graph_util.convert_variables_to_constants(
            session,
            graph.as_graph_def(),
            outputs,
            _listed(variable_names_whitelist) or None,
            _listed(variable_names_blacklist) or None,
        )
    if output_graph:
        Path(output_graph).write_bytes(frozen.SerializeToString())
    return frozen


def _listed(names: str | None) -> list[str]:
    return [name for name in (names or "").replace(" ", "").split(",") if name]


def _message(kind: str, path: str, binary: bool) -> Any:
    """The message of a file."""
    message = protos.message_class(kind)()
    if binary:
        message.ParseFromString(Path(path).read_bytes())
    else:
        text_format.Parse(Path(path).read_text(encoding="utf-8"), message)
    return message


def _add_assigned(graph_def: Any, checkpoint: str) -> list[str]:
    """Add operations that give variables the values of a checkpoint; their names."""
    reader = NewCheckpointReader(checkpoint)
    saved = reader.get_variable_to_shape_map()
    variables = [node for node in graph_def.node if node.op in _ASSIGNING]
    if not variables:
        raise ValueError(
            "No variables were found in this model. It is likely the model was frozen previously. "
            "You cannot freeze a graph twice."
        )
    if any(_PART.sub("", node.name) in saved for node in variables if _PART.search(node.name)):
        raise ValueError(
            "Models containing partition variables cannot be converted from checkpoint files. "
            "Please pass in a SavedModel using the flag --input_saved_model_dir."
        )
    variables = [node for node in variables if node.name in saved]
    names = []
    for variable in variables:
        value = make_tensor_proto(reader.get_tensor(variable.name))
        constant = graph_def.node.add(name=f"{variable.name}/of_checkpoint", op="Const")
        constant.attr["dtype"].type = value.dtype
        constant.attr["value"].tensor.CopyFrom(value)
        op, dtype = _ASSIGNING[variable.op]
        assign = graph_def.node.add(name=f"{variable.name}/from_checkpoint", op=op)
        assign.input.extend([variable.name, constant.name])
        assign.attr[dtype].type = value.dtype
        names.append(str(assign.name))
    return names


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print the names of a checkpoint's tensors, with their values if they are asked for.

    Parameters
    ----------
    file_name
        The prefix of the checkpoint.
    tensor_name
        The tensor that is printed if not all are.
    all_tensors, all_tensor_names
        Whether all values, or all names, are printed.
    count_exclude_pattern
        A regular expression: tensors with such names do not count in the number of all elements,
        which is printed last.
    """
    reader = NewCheckpointReader(file_name)
    shapes = reader.get_variable_to_shape_map()
    if all_tensors or all_tensor_names:
        for name in sorted(shapes):
            print("tensor_name: ", name)
            if all_tensors:
                print(reader.get_tensor(name))
    elif tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    else:
        print(reader.debug_string().decode())
    is_excluded = re.compile(count_exclude_pattern).search if count_exclude_pattern else None
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    if is_excluded:
        excluded = [size for name, size in sizes.items() if is_excluded(name)]
        print(
            f"# Excluding {len(excluded)} tensors ({sum(excluded)} params) that match "
            f"{count_exclude_pattern} when counting."
        )
        sizes = {name: size for name, size in sizes.items() if not is_excluded(name)}
    print(f"# Total number of params: {sum(sizes.values())}")
