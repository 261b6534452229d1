"""Calls of flags, logs, files, summaries and tests: rows of argument_types_test.py's table."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import millstream as tf
from millstream.argument_tables import IMAGES, Calls, X


def _description_node() -> Any:
    node = tf.NodeDef(op="TensorSummary")
    node.attr["description"].s = b"{}"
    return node


def _option() -> dict[str, Any]:
    return {"name": "o", "flag_values": tf.flags.FlagValues()}


def _derived() -> dict[str, Any]:
    x = tf.placeholder(tf.float32, [2])
    return {"x": x, "x_shape": [2], "y": x * x, "y_shape": [2]}


def _declared(argument: str, value: Any) -> dict[str, Any]:
    options = tf.flags.FlagValues()
    tf.flags.DEFINE_string("o", "x", flag_values=options)
    return {argument: value, "flag_values": options}


def _event_file() -> str:
    folder = tempfile.mkdtemp()
    tf.summary.FileWriter(folder).close()
    return os.path.join(folder, os.listdir(folder)[0])


def calls_of_files() -> Calls:
    """The rows of the table."""
    return {
        tf.app.run: lambda: {"main": lambda argv: None, "argv": ["prog"]},
        tf.compat.as_bytes: lambda: {"bytes_or_text": "a"},
        tf.compat.as_text: lambda: {"bytes_or_text": "a"},
        tf.compat.forward_compatible: lambda: {"year": 2019, "month": 1, "day": 1},
        tf.compat.forward_compatibility_horizon: lambda: {"year": 2019, "month": 1, "day": 1},
        tf.errors.error_code_from_exception_type: lambda: {"cls": tf.errors.NotFoundError},
        tf.errors.exception_type_from_error_code: lambda: {"error_code": 5},
        tf.flags.DEFINE_bool: lambda: {**_option(), "default": True},
        tf.flags.DEFINE_enum: lambda: {**_option(), "default": "x", "enum_values": ["x"]},
        tf.flags.DEFINE_float: lambda: {**_option(), "default": 1.0},
        tf.flags.DEFINE_integer: lambda: {**_option(), "default": 1},
        tf.flags.DEFINE_list: lambda: {**_option(), "default": "x"},
        tf.flags.DEFINE_multi_integer: lambda: {**_option(), "default": 1},
        tf.flags.DEFINE_multi_string: lambda: {**_option(), "default": "x"},
        tf.flags.DEFINE_spaceseplist: lambda: {**_option(), "default": "x"},
        tf.flags.DEFINE_string: lambda: {**_option(), "default": "x"},
        tf.flags.mark_flag_as_required: lambda: _declared("flag_name", "o"),
        tf.flags.mark_flags_as_required: lambda: _declared("flag_names", ["o"]),
        tf.flags.mark_flags_as_mutual_exclusive: lambda: _declared("flag_names", ["o"]),
        tf.flags.register_validator: lambda: {**_declared("flag_name", "o"), "checker": bool},
        tf.logging.log: lambda: {"level": 10, "msg": "m"},
        tf.logging.log_every_n: lambda: {"level": 10, "msg": "m", "n": 2},
        tf.logging.log_first_n: lambda: {"level": 10, "msg": "m", "n": 2},
        tf.logging.log_if: lambda: {"level": 10, "msg": "m", "condition": True},
        tf.logging.set_verbosity: lambda: {"v": 10},
        tf.train.summary_iterator: lambda: {"path": _event_file()},
        tf.summary.FileWriter: lambda: {"logdir": tempfile.mkdtemp()},
        tf.summary.scalar: lambda: {"name": "s", "tensor": 1.0},
        tf.summary.histogram: lambda: {"name": "s", "values": X},
        tf.summary.image: lambda: {"name": "s", "tensor": IMAGES},
        tf.summary.audio: lambda: {"name": "s", "tensor": [[0.5]], "sample_rate": 8000.0},
        tf.summary.get_summary_description: lambda: {"node_def": _description_node()},
        tf.summary.tensor_summary: lambda: {"name": "s", "tensor": X},
        tf.summary.text: lambda: {"name": "s", "tensor": "t"},
        tf.summary.merge: lambda: {"inputs": [tf.summary.scalar("s", 1.0)]},
        tf.summary.merge_all: dict,
        tf.scalar_summary: lambda: {"tags": ["s"], "values": [1.0]},
        tf.histogram_summary: lambda: {"tag": "s", "values": X},
        tf.image_summary: lambda: {"tag": "s", "tensor": IMAGES},
        tf.gfile.GFile: lambda: {"name": "f"},
        tf.gfile.FastGFile: lambda: {"name": "f"},
        tf.gfile.Exists: lambda: {"filename": "f"},
        tf.gfile.IsDirectory: lambda: {"dirname": "f"},
        tf.gfile.Glob: lambda: {"filename": "f"},
        tf.gfile.ListDirectory: lambda: {"dirname": tempfile.mkdtemp()},
        tf.gfile.MkDir: lambda: {"dirname": os.path.join(tempfile.mkdtemp(), "d")},
        tf.gfile.MakeDirs: lambda: {"dirname": os.path.join(tempfile.mkdtemp(), "d")},
        tf.gfile.Remove: lambda: {"filename": tempfile.mkstemp()[1]},
        tf.gfile.DeleteRecursively: lambda: {"dirname": tempfile.mkdtemp()},
        tf.gfile.Stat: lambda: {"filename": tempfile.mkdtemp()},
        tf.gfile.Copy: lambda: {
            "oldpath": tempfile.mkstemp()[1], "newpath": os.path.join(tempfile.mkdtemp(), "f")
        },
        tf.gfile.Rename: lambda: {
            "oldname": tempfile.mkstemp()[1], "newname": os.path.join(tempfile.mkdtemp(), "f")
        },
        tf.gfile.Walk: lambda: {"top": tempfile.mkdtemp()},
        tf.graph_util.extract_sub_graph: lambda: {"graph_def": tf.GraphDef(), "dest_nodes": []},
        tf.graph_util.remove_training_nodes: lambda: {"input_graph": tf.GraphDef()},
        tf.graph_util.convert_variables_to_constants: lambda: {
            "sess": tf.get_default_session(), "input_graph_def": tf.GraphDef(),
            "output_node_names": [],
        },
        tf.graph_util.must_run_on_cpu: lambda: {"node": tf.no_op()},
        tf.graph_util.tensor_shape_from_node_def_name: lambda: {
            "graph": tf.get_default_graph(), "input_name": tf.constant(1.0).name
        },
        tf.test.assert_equal_graph_def: lambda: {
            "actual": tf.GraphDef(), "expected": tf.GraphDef()
        },
        tf.test.compute_gradient: _derived,
        tf.test.compute_gradient_error: _derived,
        tf.test.test_src_dir_path: lambda: {"relative_path": "f"},
        tf.train.global_step: lambda: {
            "sess": tf.get_default_session(), "global_step_tensor": tf.constant(0)
        },
    }  # fmt: skip
