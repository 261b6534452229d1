"""The definitions of the registered ops, and what tests derive from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import millstream as tf
from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base.op_source import snake_case
from millstream._impl.ops import gen_ops

_FLOAT = tf.float32.as_datatype_enum
_VARIABLES = {tf.resource.as_datatype_enum, tf.variant.as_datatype_enum}


@cache
def registered_ops() -> dict[str, Any]:
    """The OpDef messages of the ops that the runtime knows, by name."""
    listed = protos.message_class("OpList").FromString(_runtime.op_list())
    return {op.name: op for op in listed.op}


def is_wanted(op: str) -> bool:
    """Whether a test of every op shall run this one: all, or those that `TESTED_OPS` is a part of.

    `tools/try_new_ops` adds ops to a copy of the tree, where the others have been tested already.
    """
    return os.environ.get("TESTED_OPS", "") in op


@cache
def differentiable_ops() -> frozenset[str]:
    """The names of the ops that have a gradient."""
    return frozenset(_runtime.differentiable_ops().splitlines())


def function_of(op: str) -> Callable[..., Any]:
    """The generated function that applies an op."""
    function: Callable[..., Any] = getattr(gen_ops, snake_case(op))
    return function


def _arguments(op: Any) -> list[Any]:
    return [*op.input_arg, *op.output_arg]


def _float_types(op: Any) -> Iterator[Any]:
    """The type attributes that may be float32."""
    for attr in op.attr:
        if attr.type in ("type", "list(type)"):
            allowed = attr.allowed_values.list.type
            if not allowed or _FLOAT in allowed:
                yield attr


def takes_floats(op: Any) -> bool:
    """Whether an op may take or give floating-point numbers."""
    fixed = any(argument.type == _FLOAT for argument in _arguments(op))
    return fixed or any(True for _ in _float_types(op))


def float_dtypes_of(op: str) -> tuple[tf.DType, ...]:
    """Those of float32, float64 and float16 that the first tensor of an op may be of."""
    attr = next(attr for attr in _float_types(registered_ops()[op]))
    allowed = attr.allowed_values.list.type
    dtypes = (tf.float32, tf.float64, tf.float16)
    return tuple(dtype for dtype in dtypes if not allowed or dtype.as_datatype_enum in allowed)


def moves_elements(op: Any) -> bool:
    """Whether an op can compute no floating-point number.

    Tensors that may be of floating-point numbers may be of strings too. An op on variables says
    itself what it does with them.
    """
    fixed = any(argument.type in {_FLOAT, *_VARIABLES} for argument in _arguments(op))
    on_variables = fixed or any(argument.is_ref for argument in _arguments(op))
    return not on_variables and all(not attr.allowed_values.list.type for attr in _float_types(op))


def is_unary(op: Any) -> bool:
    """Whether an op makes one tensor of numbers of another one, and needs nothing else."""
    if len(op.input_arg) != 1 or len(op.output_arg) != 1:
        return False
    x, y = _arguments(op)
    if not x.type_attr or x.type_attr != y.type_attr or x.number_attr or x.is_ref:
        return False
    needed = [attr for attr in op.attr if not attr.HasField("default_value")]
    return [attr.name for attr in needed] == [x.type_attr] and any(
        attr.name == x.type_attr and attr.allowed_values.list.type for attr in _float_types(op)
    )
