"""Every public function refuses what is of a wrong type, and names the argument.

For each function there is a call that works. Each argument in turn is replaced by an object that is
nothing of all that functions take; TypeError or ValueError must follow, with the argument's name.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf
from millstream.argument_arrays import calls_of_arrays
from millstream.argument_checkpoints import calls_of_checkpoints
from millstream.argument_columns import calls_of_columns
from millstream.argument_files import calls_of_files
from millstream.argument_images import calls_of_images
from millstream.argument_inputs import calls_of_inputs
from millstream.argument_library import calls_of_library
from millstream.argument_linear_operators import calls_of_linear_operators
from millstream.argument_programs import calls_of_programs
from millstream.argument_sessions import calls_of_sessions
from millstream.argument_signals import calls_of_signals
from millstream.argument_tables import Calls, X, calls_of_networks
from millstream.public_names import public_callables


class Wrong:
    """An object that is no tensor, number, text, name, list or function."""

    def __repr__(self) -> str:
        return "<Wrong>"


_RELATIONS = "equal greater greater_equal less less_equal near none_equal"
_SIGNS = "negative non_negative non_positive positive"
_SCATTERS = "update add sub mul div min max"
_COLLECTIONS = (
    "global_variables local_variables model_variables moving_average_variables trainable_variables"
)
_NUMBERS = itertools.count()  # of names that are given once


def _variable() -> Any:
    return tf.Variable([1.0, 2.0])


def _table() -> Calls:
    """The calls of all functions."""
    table: Calls = {
        **calls_of_arrays(),
        **{getattr(tf, name): dict for name in _COLLECTIONS.split()},
        tf.add_to_collections: lambda: {"names": ["a"], "value": 1},
        tf.argmax: lambda: {"input": X},
        tf.argmin: lambda: {"input": X},
        tf.arg_max: lambda: {"input": X, "dimension": 0},
        tf.arg_min: lambda: {"input": X, "dimension": 0},
        tf.as_dtype: lambda: {"type_value": "float32"},
        tf.assert_integer: lambda: {"x": [1]},
        tf.assert_proper_iterable: lambda: {"values": [1]},
        tf.assert_same_float_dtype: lambda: {"tensors": [tf.constant(1.0)]},
        tf.assert_scalar: lambda: {"tensor": 1.0},
        tf.assert_type: lambda: {"tensor": 1.0, "tf_type": tf.float32},
        tf.assert_variables_initialized: lambda: {"var_list": [_variable()]},
        **{
            getattr(tf, f"assert_{name}"): lambda: {"x": [1.0], "y": tf.placeholder(tf.float32)}
            for name in _RELATIONS.split()
        },
        **{
            getattr(tf, f"assert_{name}"): lambda: {"x": tf.placeholder(tf.float32)}
            for name in _SIGNS.split()
        },
        tf.Assert: lambda: {"condition": True, "data": [1]},
        tf.Print: lambda: {"input_": 1, "data": [1]},
        tf.print: dict,
        tf.py_func: lambda: {"func": len, "inp": [1], "Tout": tf.int64},
        tf.numpy_function: lambda: {"func": len, "inp": [1], "Tout": tf.int64},
        tf.strings.format: lambda: {"template": "{}", "inputs": [1]},
        tf.assert_rank: lambda: {"x": X, "rank": 2},
        tf.assert_rank_at_least: lambda: {"x": X, "rank": 2},
        tf.check_numerics: lambda: {"tensor": X, "message": "m"},
        tf.verify_tensor_all_finite: lambda: {"t": X, "msg": "m"},
        tf.assign: lambda: {"ref": _variable(), "value": [3.0, 4.0]},
        tf.assign_add: lambda: {"ref": _variable(), "value": [3.0, 4.0]},
        tf.assign_sub: lambda: {"ref": _variable(), "value": [3.0, 4.0]},
        **{
            getattr(tf, f"scatter_{kind}"): lambda: {
                "ref": _variable(),
                "indices": [0],
                "updates": [3.0],
            }
            for kind in _SCATTERS.split()
        },
        **{
            getattr(tf, f"scatter_nd_{kind}"): lambda: {
                "ref": _variable(),
                "indices": [[0]],
                "updates": [3.0],
            }
            for kind in ("update", "add", "sub")
        },
        **{
            getattr(tf, f"tensor_scatter_nd_{kind}"): lambda: {
                "tensor": X,
                "indices": [[0]],
                "updates": [[3.0, 4.0]],
            }
            for kind in ("update", "add", "sub")
        },
        tf.scatter_nd: lambda: {"indices": [[0]], "updates": [3.0], "shape": [2]},
        tf.gather_nd: lambda: {"params": X, "indices": [[0]]},
        tf.batch_gather: lambda: {"params": X, "indices": [[0], [1]]},
        tf.batch_scatter_update: lambda: {
            "ref": _variable(),
            "indices": [0],
            "updates": [3.0],
        },
        tf.count_up_to: lambda: {"ref": tf.Variable(0), "limit": 3},
        tf.report_uninitialized_variables: dict,
        tf.broadcast_static_shape: lambda: {"shape_x": [1], "shape_y": [2]},
        tf.cast: lambda: {"x": X, "dtype": tf.int32},
        tf.case: lambda: {"pred_fn_pairs": [(tf.constant(True), lambda: 1)]},
        tf.cond: lambda: {"pred": tf.constant(True), "true_fn": lambda: 1, "false_fn": lambda: 2},
        tf.switch_case: lambda: {"branch_index": 0, "branch_fns": [lambda: 1]},
        tf.while_loop: lambda: {
            "cond": lambda i: i < 3, "body": lambda i: i + 1, "loop_vars": [0]
        },
        tf.clip_by_global_norm: lambda: {"t_list": [X], "clip_norm": 1.0},
        tf.clip_by_average_norm: lambda: {"t": X, "clip_norm": 1.0},
        tf.clip_by_norm: lambda: {"t": X, "clip_norm": 1.0},
        tf.clip_by_value: lambda: {"t": X, "clip_value_min": 0.0, "clip_value_max": 1.0},
        tf.colocate_with: lambda: {"op": tf.no_op()},
        tf.concat: lambda: {"values": [X, X], "axis": 0},
        tf.constant: lambda: {"value": X},
        tf.constant_initializer: dict,
        tf.container: lambda: {"container_name": "c"},
        tf.control_dependencies: lambda: {"control_inputs": [tf.no_op()]},
        tf.convert_to_tensor: lambda: {"value": X},
        tf.convert_to_tensor_or_indexed_slices: lambda: {"value": X},
        tf.convert_to_tensor_or_sparse_tensor: lambda: {"value": X},
        tf.device: lambda: {"device_name_or_function": "/cpu:0"},
        tf.DType: lambda: {"type_enum": 1},
        tf.DeviceSpec: dict,
        tf.Dimension: lambda: {"value": 3},
        tf.dimension_at_index: lambda: {"shape": [3], "index": 0},
        tf.dimension_value: lambda: {"dimension": 3},
        tf.expand_dims: lambda: {"input": X, "axis": 0},
        tf.make_template: lambda: {"name_": "t", "func_": lambda: None},
        tf.fixed_size_partitioner: lambda: {"num_shards": 2},
        tf.min_max_variable_partitioner: dict,
        tf.variable_axis_size_partitioner: lambda: {"max_shard_bytes": 8},
        tf.TensorArray: lambda: {"dtype": tf.float32, "size": 2},
        tf.map_fn: lambda: {"fn": lambda x: x, "elems": tf.constant(X)},
        tf.foldl: lambda: {"fn": lambda a, x: a + x, "elems": tf.constant(X)},
        tf.foldr: lambda: {"fn": lambda a, x: a + x, "elems": tf.constant(X)},
        tf.scan: lambda: {"fn": lambda a, x: a + x, "elems": tf.constant(X)},
        tf.fill: lambda: {"dims": [2], "value": 1.0},
        tf.gather: lambda: {"params": X, "indices": [0]},
        tf.get_collection: lambda: {"key": "a"},
        tf.get_local_variable: lambda: {"name": "v", "shape": [2]},
        tf.get_seed: lambda: {"op_seed": 1},
        tf.get_variable: lambda: {"name": "v", "shape": [2]},
        tf.global_norm: lambda: {"t_list": [X]},
        tf.glorot_normal_initializer: dict,
        tf.glorot_uniform_initializer: dict,
        tf.assert_rank_in: lambda: {"x": X, "ranks": [2]},
        tf.eye: lambda: {"num_rows": 2},
        tf.is_non_decreasing: lambda: {"x": [1, 2]},
        tf.is_strictly_increasing: lambda: {"x": [1, 2]},
        tf.log_sigmoid: lambda: {"x": X},
        tf.math.polyval: lambda: {"coeffs": [1.0], "x": X},
        tf.math.reduce_std: lambda: {"input_tensor": X},
        tf.math.reduce_variance: lambda: {"input_tensor": X},
        tf.matrix_transpose: lambda: {"a": X},
        tf.meshgrid: dict,
        tf.random_crop: lambda: {"value": X, "size": [1, 1]},
        tf.multinomial: lambda: {"logits": X, "num_samples": 2, "output_dtype": tf.int32},
        tf.random.categorical: lambda: {"logits": X, "num_samples": 2, "dtype": tf.int32},
        tf.random.stateless_categorical: lambda: {
            "logits": X, "num_samples": 2, "seed": [1, 2], "dtype": tf.int32,
        },
        tf.random.stateless_multinomial: lambda: {
            "logits": X, "num_samples": 2, "seed": [1, 2], "output_dtype": tf.int32,
        },
        tf.sparse_tensor_to_dense: lambda: {
            "sp_input": tf.SparseTensor([[0]], [1.0], [2]), "default_value": 2.0,
        },
        tf.sparse_to_dense: lambda: {
            "sparse_indices": [0], "output_shape": [2], "sparse_values": [1.0],
            "default_value": 2.0,
        },
        tf.string_join: lambda: {"inputs": ["a", "b"], "separator": "-"},
        tf.reverse: lambda: {"tensor": X, "axis": [0]},
        tf.reverse_sequence: lambda: {"input": X, "seq_lengths": [1, 1], "seq_axis": 1},
        tf.sequence_mask: lambda: {"lengths": [1, 2]},
        **{
            getattr(tf, f"unsorted_segment_{name}"): lambda: {
                "data": X, "segment_ids": [0, 1], "num_segments": 2,
            }
            for name in ("mean", "sqrt_n", "sum")
        },
        tf.RegisterGradient: lambda: {"op_type": "ArgumentTypes"},
        tf.NotDifferentiable: lambda: {"op_type": f"ArgumentTypes{next(_NUMBERS)}"},
        tf.custom_gradient: lambda: {"f": lambda x: (x, lambda dy: dy)},
        tf.grad_pass_through: lambda: {"f": tf.round},
        tf.gradients: lambda: {"ys": [tf.constant(1.0)], "xs": [tf.constant(1.0)]},
        tf.matrix_inverse: lambda: {"input": [[2.0]]},
        tf.matrix_determinant: lambda: {"input": [[2.0]]},
        tf.linalg.slogdet: lambda: {"input": [[2.0]]},
        tf.hessians: lambda: {"ys": (x := tf.constant(X)) * x, "xs": [x]},
        tf.import_graph_def: lambda: {"graph_def": tf.GraphDef(), "return_elements": []},
        tf.IndexedSlices: lambda: {"values": tf.ones([1, 2]), "indices": tf.constant([0])},
        tf.SparseTensor: lambda: {"indices": [[0, 1]], "values": [1.0], "dense_shape": [2, 2]},
        tf.is_variable_initialized: lambda: {"variable": _variable()},
        tf.dynamic_partition: lambda: {"data": X, "partitions": [0, 1], "num_partitions": 2},
        tf.dynamic_stitch: lambda: {"indices": [[0]], "data": [[1.0]]},
        tf.unique: lambda: {"x": [1, 1]},
        tf.make_ndarray: lambda: {"tensor": tf.make_tensor_proto(1.0)},
        tf.make_tensor_proto: lambda: {"values": X},
        tf.matmul: lambda: {"a": X, "b": X},
        tf.name_scope: lambda: {"name": "s"},
        tf.no_op: dict,
        tf.norm: lambda: {"tensor": X},
        tf.one_hot: lambda: {"indices": [0], "depth": 2},
        tf.ones: lambda: {"shape": [2]},
        tf.ones_initializer: dict,
        tf.orthogonal_initializer: dict,
        tf.ones_like: lambda: {"tensor": X},
        tf.op_scope: lambda: {"values": [tf.constant(1.0)], "name": "s"},
        tf.pad: lambda: {"tensor": X, "paddings": [[0, 0], [1, 1]]},
        tf.placeholder: lambda: {"dtype": tf.float32},
        tf.placeholder_with_default: lambda: {"input": X, "shape": [2, 2]},
        tf.random_normal: lambda: {"shape": [2]},
        tf.random_normal_initializer: dict,
        tf.random_uniform: lambda: {"shape": [2]},
        tf.random_uniform_initializer: dict,
        tf.range: lambda: {"start": 1, "limit": 3},
        tf.rank: lambda: {"input": X},
        tf.reshape: lambda: {"tensor": X, "shape": [4]},
        tf.saturate_cast: lambda: {"value": X, "dtype": tf.uint8},
        **{
            getattr(tf.math, name): lambda: {"x": X, "y": X}
            for name in ("multiply_no_nan", "xdivy", "xlogy")
        },
        tf.math.nextafter: lambda: {"x1": X, "x2": X},
        tf.polygamma: lambda: {"a": 1.0, "x": X},
        tf.zeta: lambda: {"x": 2.0, "q": X},
        tf.scalar_mul: lambda: {"scalar": 2.0, "x": tf.constant(X)},
        tf.Session: dict,
        tf.InteractiveSession: dict,
        tf.set_random_seed: lambda: {"seed": 1},
        tf.shape: lambda: {"input": X},
        tf.shape_n: lambda: {"input": [X]},
        tf.size: lambda: {"input": X},
        tf.slice: lambda: {"input_": X, "begin": [0, 0], "size": [1, 1]},
        tf.split: lambda: {"value": X, "num_or_size_splits": 2},
        tf.squeeze: lambda: {"input": [X]},
        tf.stack: lambda: {"values": [X, X]},
        tf.strided_slice: lambda: {"input_": tf.constant(X), "begin": [0, 0], "end": [1, 1]},
        tf.tables_initializer: dict,
        tf.tensordot: lambda: {"a": X, "b": X, "axes": 1},
        tf.TensorShape: lambda: {"dims": [1]},
        **{
            getattr(tf.bitwise, name): lambda: {"x": [1], "y": [2]}
            for name in (
                "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"
            )
        },
        tf.bitwise.invert: lambda: {"x": [1]},
        tf.complex: lambda: {"real": X, "imag": X},
        tf.conj: lambda: {"x": [1j]},
        **{getattr(tf, name): lambda: {"input": [1j]} for name in ("real", "imag", "angle")},
        tf.broadcast_to: lambda: {"input": X, "shape": [2, 2]},
        tf.cumsum: lambda: {"x": X},
        tf.cumprod: lambda: {"x": X},
        tf.tile: lambda: {"input": X, "multiples": [1, 2]},
        tf.transpose: lambda: {"a": X},
        tf.truncated_normal: lambda: {"shape": [2]},
        tf.truncated_normal_initializer: dict,
        tf.tuple: lambda: {"tensors": [tf.constant(1.0)]},
        tf.uniform_unit_scaling_initializer: dict,
        tf.unstack: lambda: {"value": X},
        tf.Variable: lambda: {"initial_value": X},
        tf.variable_op_scope: lambda: {"values": [tf.constant(1.0)], "name_or_scope": "s"},
        tf.variable_scope: lambda: {"name_or_scope": "s"},
        tf.VariableScope: lambda: {"reuse": False},
        tf.variables_initializer: lambda: {"var_list": [_variable()]},
        tf.variable_creator_scope: lambda: {"variable_creator": lambda make, **kwargs: make()},
        tf.variance_scaling_initializer: dict,
        tf.where: lambda: {"condition": [[True, False]] * 2, "x": X, "y": X},
        tf.zeros: lambda: {"shape": [2]},
        tf.zeros_initializer: dict,
        tf.zeros_like: lambda: {"tensor": X},
        tf.contrib.opt.ExternalOptimizerInterface: lambda: {
            "loss": tf.constant(1.0),
            "var_list": [_variable()],
        },
        tf.initializers.he_normal: dict,
        tf.initializers.he_uniform: dict,
        tf.initializers.identity: dict,
        tf.initializers.lecun_normal: dict,
        tf.initializers.lecun_uniform: dict,
        tf.sparse_placeholder: lambda: {"dtype": tf.float32},
        **calls_of_files(),
        **calls_of_checkpoints(),
        **calls_of_columns(),
        **calls_of_inputs(),
        **calls_of_images(),
        **calls_of_library(),
        **calls_of_linear_operators(),
        **calls_of_programs(),
        **calls_of_sessions(),
        **calls_of_signals(),
        **calls_of_networks(),
    }  # fmt: skip
    for name in ("bfloat16", "complex128", "complex64", "double", "float", "int32", "int64"):
        table[getattr(tf, f"to_{name}")] = lambda: {"x": X}
    return table


TABLE = _table()

# What takes any object, is made by the package alone, or has a test of its own.
_TAKE_ANYTHING = {
    tf.test.TestCase, tf.test.is_gpu_available, tf.test.main, tf.test.Benchmark,
    tf.test.StubOutForTesting, tf.train.experimental.LossScale,
    tf.flags.Error, tf.flags.DuplicateFlagError, tf.flags.IllegalFlagValueError,
    tf.flags.ValidationError, tf.flags.UnrecognizedFlagError,
    tf.add_to_collection, tf.get_collection_ref, tf.get_static_value, tf.is_tensor,
    tf.is_numeric_tensor, tf.no_regularizer, tf.compat.as_str_any, tf.compat.path_to_str,
    tf.logging.TaskLevelStatusMessage, tf.IndexedSlicesValue,
    tf.FixedLenFeature, tf.FixedLenSequenceFeature, tf.SparseFeature, tf.VarLenFeature,
    tf.SparseTensorValue, tf.Operation, tf.Tensor, tf.OpError,
    tf.VariableAggregation, tf.VariableSynchronization, tf.UnconnectedGradients,
    tf.initializers.Initializer,
    tf.train.Optimizer, tf.group, tf.summary.FileWriterCache, tf.summary.initialize,
    tf.load_op_library,
    tf.debugging.enable_check_numerics, tf.debugging.replay, tf.QueueBase, tf.nest.is_nested,
    tf.ConditionalAccumulatorBase,
    tf.nest.map_structure,
    tf.nest.flatten, tf.nest.pack_sequence_as, tf.nest.assert_same_structure,
    tf.nn.rnn_cell.LSTMStateTuple,
    tf.train.Coordinator, tf.train.LooperThread, tf.train.QueueRunner, tf.train.add_queue_runner,
    tf.train.start_queue_runners,
    tf.train.SessionRunArgs, tf.train.SessionRunValues, tf.train.SessionRunContext,
    tf.train.NanLossDuringTrainingError, tf.RaggedTensor,
}  # fmt: skip
# Arguments that may be any object, or whose truth alone counts.
_ANY: dict[str, set[Any]] = {
    "value": {tf.add_to_collections},
    "key": {tf.get_collection},
    "condition": {tf.logging.log_if},
    "msg": {tf.logging.log, tf.logging.log_every_n, tf.logging.log_first_n, tf.logging.log_if},
}
# Settings of variables that change nothing yet, or are read as those of `tf.device`.
_SETTINGS = {"caching_device", "partitioner", "use_resource"}
_TRUTHS = {
    "at_end", "fail_on_nan_loss", "is_chief", "show_dataflow", "show_memory",
    "back_prop", "case_sensitive", "required",
    "colocate_with_first_write_call", "dynamic_size", "infer_shape",
    "add_regularization_losses", "adjoint_a", "adjoint_b", "allow_broadcast", "aminusb",
    "create_scope_now_", "already_sorted", "conjugate_rhs", "expand_nonconcat_dim",
    "expand_nonconcat_dims", "normalize", "partial_pivoting", "replace_control_characters",
    "replace_global", "skip_empty", "transpose_rhs", "use_quote_delim",
    "compute_full_loss",
    "auxiliary_name_scope", "center", "cycle", "fused", "is_training", "scale", "use_bias",
    "zero_debias", "centered", "scale_after_normalization",
    "colocate_gradients_with_ops", "ignore_existing", "keep_dims", "keepdims", "trainable",
    "transpose_a", "transpose_b", "use_nesterov", "validate_shape", "verify_shape", "use_locking",
    "as_text", "allow_empty", "checkpoint", "clear_devices", "clear_extraneous_savers",
    "strip_default_attrs", "conjugate", "defer_build", "pad_step_number",
    "reshape", "restore_sequentially", "save_relative_paths", "sharded", "staircase", "stateful",
    "overwrite", "in_order", "exclusive", "strict", "return_same_structure",
    "reverse", "validate_indices", "shuffle", "enqueue_many", "dynamic_pad",
    "allow_smaller_final_batch",
    "asynchronous", "pin_variables_on_cpu",
    "remove_accidental_hits", "sorted", "unique",
    "compute_uv", "fast", "full_matrices", "validate_args",
    "pad_end", "periodic", "preserve_short_sequences", "supports_serialize",
    "state_is_tuple", "use_peepholes", "variational_recurrent", "time_major", "swap_memory",
}  # fmt: skip


def unused(function: Any) -> set[str]:
    """Parameters of which the docstring says that they are not used, or hints."""
    found: set[str] = set()
    names: list[str] = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if re.fullmatch(r"[A-Za-z_, 0-9]+", line):
            names = names + line.split(",") if names and names[-1] == "" else line.split(",")
            names = [name.strip() for name in names]
        elif re.match(r"    .*([Nn]ot used|[Nn]ot implemented yet|hint)", line):
            found.update(names)
    return found


def cases() -> Iterator[Any]:
    """Every function of the table with each of its arguments that has a type."""
    for name, function in public_callables():
        if function not in TABLE:
            continue
        for parameter in inspect.signature(function).parameters.values():
            key = parameter.name
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            if (
                key in _TRUTHS | _SETTINGS
                or key in unused(function)
                or function in _ANY.get(key, set())
            ):
                continue
            if key not in unused(function) and key not in ("_sentinel", "self"):
                yield pytest.param(function, key, id=f"{name}-{key}")


def _call(function: Any, arguments: dict[str, Any]) -> None:
    rest = arguments.pop("*", [])
    made = function(*arguments.values(), *rest) if rest else function(**arguments)
    if isinstance(made, tf.InteractiveSession):
        made.close()
    elif inspect.isgenerator(made):
        list(made)
    elif hasattr(made, "__enter__"):
        with made:
            pass


@pytest.mark.parametrize(("function", "parameter"), cases())
def test_wrong_type_is_refused_with_the_arguments_name(function: Any, parameter: str) -> None:
    with tf.Graph().as_default(), tf.Session():
        arguments = {**TABLE[function](), parameter: Wrong()}
        with pytest.raises((TypeError, ValueError)) as caught:
            _call(function, arguments)
    assert re.search(rf"\b{parameter.rstrip('_')}_?\b", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("function", TABLE, ids=lambda function: function.__name__)
def test_the_call_with_right_types_works(function: Any) -> None:
    if function is tf.app.run:
        with pytest.raises(SystemExit):
            function(**TABLE[function]())
        return
    with tf.Graph().as_default(), tf.Session():
        _call(function, TABLE[function]())


def test_group_takes_operations_and_tensors() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="inputs: expected operations"):
        tf.group(tf.no_op(), Wrong())


def test_every_public_function_is_in_the_table() -> None:
    left = [
        name
        for name, function in public_callables()
        if function not in TABLE
        and function not in _TAKE_ANYTHING
        and inspect.signature(function).parameters
        and not (inspect.isclass(function) and issubclass(function, tf.OpError))
    ]
    assert left == []
