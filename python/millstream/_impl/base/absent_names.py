"""Names of the 1.15 API that are left out, each with the reason and what to use instead."""

from __future__ import annotations

from millstream._impl.base import absent_ops

# "name: reason", for the name and for all below it.
_REASONS = """
GradientTape: gradients are those of a graph; use tf.gradients
LMDBReader: files of LMDB are read by a library of their own; write them as records, and use tf.TFRecordReader
autograph: Python's control flow is not translated; use tf.cond, tf.case, tf.while_loop and tf.map_fn
compat.v2: it is the API of version 2; the names of version 1 are those of tf itself
config.experimental: devices are opened by sessions; use tf.Session(config=tf.ConfigProto(...)) and tf.Session.list_devices
config.experimental_connect_to_cluster: eager execution needs it; use tf.train.Server and tf.Session(target)
config.experimental_connect_to_host: eager execution needs it; use tf.train.Server and tf.Session(target)
config.experimental_run_functions_eagerly: all operations are run by tf.Session.run
config.optimizer: options belong to a session; use the graph_options of tf.ConfigProto
config.threading: options belong to a session; use the numbers of threads of tf.ConfigProto
contrib: it is not a part of the API that was kept; tf.contrib.opt, tf.contrib.feature_column, tf.contrib.tensorboard and tf.contrib.training are there in part
distribute: replicas are graphs or processes of their own; use tf.cluster.Mirrored, or tf.train.replica_device_setter and tf.train.SyncReplicasOptimizer
distributions: draw by tf.random and write densities by tf.math
enable_eager_execution: all operations are run by tf.Session.run
enable_tensor_equality: tensors are equal by identity, as in 1.15 unless told otherwise
enable_v2_behavior: the behaviour is that of version 1
enable_v2_tensorshape: a dimension of a TensorShape is a tf.Dimension, as in 1.15 unless told otherwise
estimator: write the loop of training; use tf.train.MonitoredTrainingSession
experimental: it has two options of other executors
experimental.function_executor_type: functions are run by the executor of their step
experimental.output_all_intermediates: what a gradient needs of a branch or a loop is found without it
function: Python functions are not translated; call them while the graph is built
io.decode_proto: messages are read with their classes; use tf.py_func, or tf.parse_example for tf.train.Example
io.encode_proto: messages are written with their classes; use tf.py_func
keras: use tf.layers, tf.losses, tf.metrics and the optimizers of tf.train
lite: graphs are run by tf.Session; there is no other runtime
load_file_system_library: files are those of the operating system
profiler: use tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and tf.timeline
pywrap_tensorflow: it is no public module; use tf.train.NewCheckpointReader for checkpoints
saved_model.experimental: models of objects need eager execution; use tf.saved_model.Builder
saved_model.load_v2: models of objects need eager execution; use tf.saved_model.load
saved_model.save: models of objects need eager execution; use tf.saved_model.simple_save
tpu: there are no TPUs; devices are those of plugins
train.do_quantize_training_on_graphdef: write tf.quantization.fake_quant_with_min_max_vars into the graph
train.experimental.disable_mixed_precision_graph_rewrite: no pass changes the types of a graph
train.experimental.enable_mixed_precision_graph_rewrite: no pass changes the types of a graph; use tf.train.experimental.MixedPrecisionLossScaleOptimizer
train.sdca_fprint: it serves the SDCA optimizer of estimators
train.sdca_optimizer: it serves the SDCA optimizer of estimators; use the optimizers of tf.train
train.sdca_shrink_l1: it serves the SDCA optimizer of estimators
user_ops: operations of one's own come with plugins; see docs/plugins.md
wrap_function: Python functions are not translated; call them while the graph is built
xla: all steps are optimized and compiled; there is nothing to mark
"""  # noqa: E501


def reasons() -> dict[str, str]:
    """The reasons by name, as ``"keras"``."""
    lines = (line.partition(": ") for line in _REASONS.strip().splitlines())
    return {name: reason for name, _, reason in lines}


def reason_of(name: str) -> str:
    """Why a name, as ``"distributions.Normal"``, is absent; "" when it is none of those names."""
    module, _, op = name.partition(".")
    if module == "raw_ops":
        return absent_ops.reasons().get(op, "")
    known = reasons()
    while name:
        if name in known:
            return known[name]
        name = name.rpartition(".")[0]
    return ""
