"""Arrays of tensors, which live as long as a step."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, NotCompared, spread
from testing.ops.support.registry import NotTested, Property, define_tests

_OF_A_STEP = NotTested(
    "gives nothing on its own: core/structural/tensor_arrays_test.cc compares what comes out"
)
_MOVES = NotTested("keeps and passes on tensors, and computes nothing")
_ROWS = spread("rows", 3, 2)


def _array(size: int, **arguments: Any) -> tf.TensorArray:
    return tf.TensorArray(tf.float64, size=size, **arguments)


def _written_and_read(x: tf.Tensor) -> Any:
    """Of two elements one is read twice, so that its gradients add up, and one never."""
    array = _array(3, clear_after_read=False)
    for i in range(3):
        array = array.write(i, x[i] * x[i])
    return array.read(0) * array.read(2) + array.read(0)


def _scattered_and_gathered(x: tf.Tensor) -> Any:
    array = _array(4, clear_after_read=False).scatter([3, 0, 1], x * x)
    return array.gather([0, 3]) * array.gather([3, 3])


def _split_and_joined(x: tf.Tensor) -> Any:
    array = _array(2, infer_shape=False).split(x, [1, 2])
    return array.concat() * x


def _of_second_version(x: tf.Tensor) -> Any:
    name = gen_ops.tensor_array_v2(3, tf.float64, clear_after_read=False)
    flow = gen_ops.tensor_array_scatter_v2(name, [0, 1], x[:2] * x[:2], tf.constant(0.0))
    flow = gen_ops.tensor_array_write_v2(name, 2, x[2], flow)
    rows = gen_ops.tensor_array_gather_v2(name, [2, 0], flow, tf.float64)
    return rows * gen_ops.tensor_array_read_v2(name, 1, flow, tf.float64)


def _pieces_of_second_version(x: tf.Tensor) -> Any:
    name = gen_ops.tensor_array_v2(2, tf.float64)
    flow = gen_ops.tensor_array_split_v2(name, x * x, [2, 1], tf.constant(0.0))
    return gen_ops.tensor_array_concat_v2(name, flow, tf.float64)[0]


def _written_and_read_once(x: tf.Tensor) -> Any:
    """Through operations of both versions, of which none reads an element again."""
    array = _array(3)
    for i in range(3):
        array = array.write(i, x[i] * x[i])
    rows = _array(3).scatter([2, 0, 1], x * x)
    name = gen_ops.tensor_array_v2(3, tf.float64)
    flow = gen_ops.tensor_array_scatter_v2(name, [0, 1], x[:2] * x[:2], tf.constant(0.0))
    flow = gen_ops.tensor_array_write_v2(name, 2, x[2], flow)
    second = gen_ops.tensor_array_gather_v2(name, [2, 0], flow, tf.float64)
    last = gen_ops.tensor_array_read_v2(name, 1, flow, tf.float64)
    return [array.read(0) * array.read(2), rows.gather([0, 2]) * second, last * x[0]]


_ADDED_UP = NotCompared("gradients that were added up in an array have no gradients, as in 1.15")
_CHECKS = {
    ("TensorArrayReadV3", "TensorArrayWriteV3"): _written_and_read,
    ("TensorArrayGatherV3", "TensorArrayScatterV3"): _scattered_and_gathered,
    ("TensorArrayConcatV3", "TensorArraySplitV3"): _split_and_joined,
    (
        "TensorArrayGatherV2",
        "TensorArrayReadV2",
        "TensorArrayScatterV2",
        "TensorArrayWriteV2",
    ): _of_second_version,
    ("TensorArrayConcatV2", "TensorArraySplitV2"): _pieces_of_second_version,
}

for _ops, _function in _CHECKS.items():
    _reads_again = _function in (_written_and_read, _scattered_and_gathered)
    _added_up = _ADDED_UP if _reads_again else None
    define_tests(
        _ops,
        reference=_OF_A_STEP,
        gradient=[
            Check(_function, (_ROWS,), no_second_order=_added_up),
            Check(_written_and_read_once, (_ROWS,)),
        ],
        determinism=_MOVES,
    )
define_tests(
    [
        "TensorArrayGradV2",
        "TensorArrayGradV3",
        "TensorArrayGradWithShape",
        "TensorArraySizeV2",
        "TensorArraySizeV3",
        "TensorArrayV3",
    ],
    reference=_OF_A_STEP,
    determinism=_MOVES,
)
define_tests(["TensorArrayCloseV2", "TensorArrayCloseV3"], reference=_OF_A_STEP)
_AS_OF_SECOND_VERSION = NotTested(
    "runs as the op of the second version: core/import/import_ref_loops_test.cc runs it"
)
define_tests(
    [
        "TensorArrayConcat",
        "TensorArrayGather",
        "TensorArrayGrad",
        "TensorArrayRead",
        "TensorArrayScatter",
        "TensorArraySize",
        "TensorArraySplit",
        "TensorArrayWrite",
    ],
    reference=_AS_OF_SECOND_VERSION,
    determinism=_MOVES,
)
define_tests("TensorArrayClose", reference=_AS_OF_SECOND_VERSION)

_NAMES = {Property.SAME_BITS: "no two arrays have one name"}
define_tests("TensorArray", reference=_AS_OF_SECOND_VERSION, determinism=_MOVES, exceptions=_NAMES)
define_tests("TensorArrayV2", reference=_OF_A_STEP, exceptions=_NAMES)
