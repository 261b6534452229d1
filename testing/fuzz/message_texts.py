"""Texts of messages by what is wrong with them, or unusual: graphs, tensors, values and options."""

from __future__ import annotations

from millstream import _runtime

_X = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } '
_T = 'attr { key: "T" value { type: DT_FLOAT } } '

# Graphs by what is wrong with them, or unusual.
GRAPHS = {
    "empty": "",
    "two_of_a_name": _X + _X,
    "self_loop": 'node { name: "a" op: "Identity" input: "a" ' + _T + "}",
    "self_control": 'node { name: "a" op: "NoOp" input: "^a" }',
    "cycle": "".join(
        f'node {{ name: "{a}" op: "Neg" input: "{b}" {_T}}} ' for a, b in ("ab", "bc", "ca")
    ),
    "missing_input": 'node { name: "a" op: "Neg" input: "nobody" ' + _T + "}",
    "missing_control": 'node { name: "a" op: "NoOp" input: "^nobody" }',
    "control_of_nothing": 'node { name: "a" op: "NoOp" input: "^" }',
    "control_with_index": _X + 'node { name: "a" op: "NoOp" input: "^x:0" }',
    "control_first": _X + 'node { name: "a" op: "Neg" input: "^x" input: "x" ' + _T + "}",
    "index_too_large": _X + 'node { name: "a" op: "Neg" input: "x:99999999999" ' + _T + "}",
    "index_out_of_range": _X + 'node { name: "a" op: "Neg" input: "x:1" ' + _T + "}",
    "index_negative": _X + 'node { name: "a" op: "Neg" input: "x:-1" ' + _T + "}",
    "index_empty": _X + 'node { name: "a" op: "Neg" input: "x:" ' + _T + "}",
    "name_empty": 'node { op: "NoOp" }',
    "name_with_zero": 'node { name: "a\\000b" op: "NoOp" }',
    "name_with_space": 'node { name: "a b" op: "NoOp" }',
    "op_unknown": 'node { name: "a" op: "NoSuchOp" attr { key: "T" value { i: 1 } } }',
    "op_empty": 'node { name: "a" }',
    "attr_of_another_kind": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { s: "float" } } }',
    "attr_missing": 'node { name: "a" op: "Placeholder" }',
    "attr_unknown": 'node { name: "a" op: "NoOp" attr { key: "size" value { i: 1 } } }',
    "attr_unset": 'node { name: "a" op: "Placeholder" attr { key: "dtype" value { } } }',
    "attr_placeholder": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { placeholder: "T" } } }',
    "attr_of_two_kinds": 'node { name: "a" op: "NoOp" '
    'attr { key: "_x" value { list { i: 1 f: 2 } } } }',
    "type_of_references": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT_REF } } }',
    "shape_negative": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: -5 } } } } }',
    "shape_overflows": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 4611686018427387904 } '
    "dim { size: 4611686018427387904 } } } } }",
    "split_in_many": 'node { name: "d" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } '
    'attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } } '
    + _X
    + 'node { name: "a" op: "Split" input: "d" input: "x" '
    + _T
    + 'attr { key: "num_split" value { i: 1000000 } } }',
    "add_of_too_many": 'node { name: "a" op: "AddN" '
    + _T
    + 'attr { key: "N" value { i: 4611686018427387904 } } }',
    "library_of_two": 'library { function { signature { name: "f" } } '
    'function { signature { name: "f" description: "another" } } }',
    "library_calls_itself": 'library { function { signature { name: "f" } '
    'node_def { name: "call" op: "f" } } }',
    "consumers": "versions { producer: 134 min_consumer: 2000000000 }",
    "bad_consumers": "versions { producer: 134 bad_consumers: 134 }",
    "loop": 'node { name: "e" op: "Enter" input: "x" '
    + _T
    + 'attr { key: "frame_name" value { s: "f" } } } '
    'node { name: "m" op: "Merge" input: "e" input: "n" '
    + _T
    + 'attr { key: "N" value { i: 2 } } } node { name: "n" op: "NextIteration" input: "m" '
    + _T
    + "} "
    + _X,
    "loop_of_shapes": 'node { name: "m" op: "Merge" input: "n" input: "n" '
    + _T
    + 'attr { key: "N" value { i: 2 } } attr { key: "_output_shapes" value { list { '
    "shape { dim { size: 3 } } shape { } } } } } "
    'node { name: "n" op: "NextIteration" input: "m" ' + _T + "}",
    "references": 'node { name: "v" op: "VariableV2" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 2 } } } } } '
    + _X
    + 'node { name: "a" op: "Assign" input: "v" input: "x" input: "^r" '
    + _T
    + 'attr { key: "validate_shape" value { b: false } } } '
    'node { name: "r" op: "RefIdentity" input: "v" input: "^x" '
    + _T
    + '} node { name: "s" op: "AddN" input: "v" input: "a" input: "r" '
    + _T
    + 'attr { key: "N" value { i: 3 } } }',
    "reference_expected": _X + 'node { name: "a" op: "Assign" input: "x" input: "x" ' + _T + "}",
}

# Tensors by what is wrong with them.
TENSORS = {
    "splat": "dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } float_val: 2",
    "splat_2_40": "dtype: DT_INT8 tensor_shape { dim { size: 1099511627776 } } int_val: 1",
    "splat_overflows": "dtype: DT_INT64 tensor_shape { dim { size: 4294967296 } "
    "dim { size: 4294967296 } } int64_val: 1",
    "negative": "dtype: DT_FLOAT tensor_shape { dim { size: -1 } } float_val: 1",
    "zero_and_huge": "dtype: DT_FLOAT tensor_shape { dim { size: 0 } "
    "dim { size: 9223372036854775807 } }",
    "rank_unknown": "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
    "content_short": 'dtype: DT_FLOAT tensor_shape { dim { size: 4 } } tensor_content: "1234"',
    "content_long": "dtype: DT_BOOL tensor_shape { dim { size: 4 } } "
    'tensor_content: "\\001\\377\\000\\002\\003"',
    "content": "dtype: DT_BOOL tensor_shape { dim { size: 4 } } "
    'tensor_content: "\\001\\377\\000\\002"',
    "values_many": "dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 int_val: 2",
    "value_too_large": "dtype: DT_INT8 tensor_shape { } int_val: 300",
    "complex_odd": "dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: 1",
    "complex": "dtype: DT_COMPLEX128 tensor_shape { } dcomplex_val: nan dcomplex_val: -0",
    "strings": 'dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: "a" string_val: ""',
    "strings_content": "dtype: DT_STRING tensor_shape { dim { size: 2 } } "
    'tensor_content: "\\001\\002abc"',
    "strings_huge": "dtype: DT_STRING tensor_shape { dim { size: 2 } } "
    'tensor_content: "\\377\\377\\377\\377\\017\\001a"',
    "strings_endless": "dtype: DT_STRING tensor_shape { dim { size: 1 } } "
    'tensor_content: "\\200\\200\\200\\200\\200\\200\\200"',
    "invalid": "tensor_shape { } float_val: 1",
    "reference": "dtype: DT_FLOAT_REF tensor_shape { } float_val: 1",
    "resource": "dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: 'v' }",
    "variant": "dtype: DT_VARIANT tensor_shape { } variant_val { type_name: 'x' }",
    "half": "dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 31744 half_val: 65535",
    "quantized": "dtype: DT_QINT8 tensor_shape { dim { size: 2 } } int_val: -128",
}

VALUES = {
    "int": "i: -9223372036854775808",
    "zero": "i: 0",
    "float": "f: nan",
    "string": 's: "\\000\\377"',
    "bool": "b: true",
    "type": "type: DT_BFLOAT16",
    "type_unknown": "type: DT_FLOAT8_E5M2",
    "shape": "shape { dim { size: -1 } dim { size: 9223372036854775807 } }",
    "shape_unknown": "shape { unknown_rank: true }",
    "tensor": "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 }",
    "tensor_large": "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 100000000 } } "
    "float_val: 1 }",
    "function": 'func { name: "f" attr { key: "g" value { func { name: "h" } } } }',
    "placeholder": 'placeholder: "T"',
    "unset": "",
    "list": "list { }",
    "ints": "list { i: 1 i: 2 i: 2 i: 1 }",
    "ints_extreme": "list { i: 0 i: -1 i: 9223372036854775807 i: -9223372036854775808 }",
    "floats": "list { f: 1 f: inf }",
    "strings": 'list { s: "" s: "NHWC" }',
    "types": "list { type: DT_FLOAT type: DT_STRING }",
    "shapes": "list { shape { } shape { unknown_rank: true } }",
    "tensors": "list { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } }",
    "functions": 'list { func { name: "f" } }',
    "mixed": "list { i: 1 b: true }",
    "data_format": 's: "NCHW"',
    "padding": 's: "EXPLICIT"',
    "dtype": "type: DT_FLOAT",
    "int32": "type: DT_INT32",
    "strides": "list { i: 1 i: 2147483647 i: 2147483647 i: 1 }",
    "large": "i: 2147483648",
}

OP_ATTRS = (
    ("Placeholder", "shape"),
    ("Const", "value"),
    ("Conv2D", "strides"),
    ("Split", "num_split"),
    ("AddN", "N"),
    ("AvgPool", "ksize"),
    ("IdentityN", "T"),
    ("StridedSlice", "begin_mask"),
    ("VarHandleOp", "shape"),
    ("ConcatV2", "N"),
    ("Unpack", "axis"),
    ("Squeeze", "squeeze_dims"),
)

CONFIGS = {
    "empty": "",
    "threads": "intra_op_parallelism_threads: 2 inter_op_parallelism_threads: -1",
    "threads_negative": "intra_op_parallelism_threads: -5",
    "devices": 'device_count { key: "CPU" value: 1000000000 } device_count { value: -1 }',
    "passes": "graph_options { rewrite_options { "
    "disabled_passes: 'fuse_products' remapping: OFF } }",
    "passes_unknown": "graph_options { rewrite_options { disabled_passes: 'no_such' } }",
    "forbidden": "forbidden_ops: 'files' forbidden_ops: 'Assert' max_import_expansion: -1",
    "forbidden_unknown": "forbidden_ops: 'disks'",
    "times": "operation_timeout_in_ms: -9223372036854775808",
}

RUN_OPTIONS = {
    "empty": "",
    "trace": "trace_level: FULL_TRACE output_partition_graphs: true",
    "trace_unknown": "trace_level: HARDWARE_TRACE",
    "limit": "timeout_in_ms: 1000",
    "limit_negative": "timeout_in_ms: -9223372036854775808",
    "limit_endless": "timeout_in_ms: 9223372036854775807",
    "threads": "inter_op_thread_pool: -1 experimental { use_run_handler_pool: true "
    "run_handler_pool_options { priority: 9223372036854775807 } }",
    "debugger": 'debug_options { debug_tensor_watch_opts { node_name: "y" output_slot: -1 '
    'debug_ops: "DebugIdentity" debug_urls: "file:///" } global_step: -1 }',
    "allocations": "report_tensor_allocations_upon_oom: true",
}


def binary(message: str, text: str) -> bytes:
    """The bytes of a message, by its name and its text."""
    return _runtime.message_parse_text(message, text)
