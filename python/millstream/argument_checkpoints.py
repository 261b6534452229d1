"""Calls of the functions for checkpoints, a part of the table of argument_types_test.py."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import millstream as tf
from millstream.argument_tables import Calls


def _variable() -> Any:
    return tf.Variable([1.0, 2.0])


def _checkpoint() -> str:
    """A checkpoint with the tensor "saved"."""
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.Saver({"saved": _variable()})
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, os.path.join(tempfile.mkdtemp(), "m"), write_meta_graph=False)
    assert path is not None
    return path


def _manager() -> dict[str, Any]:
    return {
        "checkpoint": tf.train.Checkpoint(v=_variable()),
        "directory": tempfile.mkdtemp(),
        "max_to_keep": 1,
    }


def _folder() -> str:
    return os.path.join(tempfile.mkdtemp(), "model")


def _model() -> str:
    """A SavedModel."""
    folder = _folder()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.simple_save(sess, folder, {"x": tf.constant(1)}, {"y": tf.constant(1)})
    return folder


def calls_of_checkpoints() -> Calls:
    """The rows of the table."""
    return {
        tf.train.generate_checkpoint_state_proto: lambda: {
            "save_dir": "d", "model_checkpoint_path": "d/m"
        },
        tf.train.update_checkpoint_state: lambda: {
            "save_dir": tempfile.mkdtemp(), "model_checkpoint_path": "m"
        },
        tf.train.get_checkpoint_state: lambda: {"checkpoint_dir": "none"},
        tf.train.latest_checkpoint: lambda: {"checkpoint_dir": "none"},
        tf.train.checkpoint_exists: lambda: {"checkpoint_prefix": "none"},
        tf.train.get_checkpoint_mtimes: lambda: {"checkpoint_prefixes": ["none"]},
        tf.train.remove_checkpoint: lambda: {"checkpoint_prefix": "none"},
        tf.train.Saver: lambda: {"var_list": [_variable()]},
        tf.train.NewCheckpointReader: lambda: {"filepattern": _checkpoint()},
        tf.train.load_checkpoint: lambda: {"ckpt_dir_or_file": _checkpoint()},
        tf.train.list_variables: lambda: {"ckpt_dir_or_file": _checkpoint()},
        tf.train.load_variable: lambda: {"ckpt_dir_or_file": _checkpoint(), "name": "saved"},
        tf.train.init_from_checkpoint: lambda: {
            "ckpt_dir_or_file": _checkpoint(), "assignment_map": {"saved": _variable()}
        },
        tf.train.export_meta_graph: dict,
        tf.train.import_meta_graph: lambda: {"meta_graph_or_file": tf.MetaGraphDef()},
        tf.train.write_graph: lambda: {
            "graph_or_graph_def": tf.GraphDef(), "logdir": tempfile.mkdtemp(), "name": "graph"
        },
        tf.train.Checkpoint: lambda: {"v": _variable()},
        tf.train.CheckpointManager: _manager,
        tf.train.VocabInfo: lambda: {
            "new_vocab": "new", "new_vocab_size": 1, "num_oov_buckets": 0, "old_vocab": "old"
        },
        tf.train.checkpoints_iterator: lambda: {"checkpoint_dir": "none", "timeout": 0.0},
        tf.train.restore_partially: lambda: {
            "sess": tf.get_default_session(), "save_path": _checkpoint(), "var_list": []
        },
        tf.saved_model.Builder: lambda: {"export_dir": _folder()},
        tf.saved_model.build_signature_def: dict,
        tf.saved_model.build_tensor_info: lambda: {"tensor": tf.constant(1)},
        tf.saved_model.classification_signature_def: lambda: {
            "examples": tf.constant(["e"]), "classes": None, "scores": tf.constant([1.0])
        },
        tf.saved_model.contains_saved_model: lambda: {"export_dir": "none"},
        tf.saved_model.get_tensor_from_tensor_info: lambda: {
            "tensor_info": tf.saved_model.build_tensor_info(tf.constant(1))
        },
        tf.saved_model.is_valid_signature: lambda: {"signature_def": None},
        tf.saved_model.load: lambda: {
            "sess": tf.Session(), "tags": ["serve"], "export_dir": _model()
        },
        tf.saved_model.main_op_with_restore: lambda: {"restore_op_name": tf.no_op().name},
        tf.saved_model.maybe_saved_model_directory: lambda: {"export_dir": "none"},
        tf.saved_model.predict_signature_def: lambda: {
            "inputs": {"x": tf.constant(1)}, "outputs": {"y": tf.constant(1)}
        },
        tf.saved_model.regression_signature_def: lambda: {
            "examples": tf.constant(["e"]), "predictions": tf.constant([1.0])
        },
        tf.saved_model.simple_save: lambda: {
            "session": tf.Session(),
            "export_dir": _folder(),
            "inputs": {"x": tf.constant(1)},
            "outputs": {"y": tf.constant(1)},
        },
        tf.train.warm_start: lambda: {"ckpt_to_initialize_from": _checkpoint()},
    }  # fmt: skip
