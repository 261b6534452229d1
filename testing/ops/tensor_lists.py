"""Tensor lists, which variant tensors hold."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, spread
from testing.ops.support.registry import NotTested, define_tests

_HELD = NotTested("a list is no array: core/structural/tensor_lists_test.cc compares its elements")
_KEEPS = NotTested("keeps elements, and computes nothing")

_ROWS = spread("x", 3, 2)
_ROW = spread("y", 2)


def _empty(like: Any) -> Any:
    """A list for tensors like this one."""
    return gen_ops.empty_tensor_list(-1, -1, element_dtype=like.dtype)


def _pop(handle: Any, like: Any) -> tuple[Any, Any]:
    rest, last = gen_ops.tensor_list_pop_back(handle, -1, element_dtype=like.dtype)
    return rest, last


def _pushed_and_popped(x: Any, y: Any) -> list[Any]:
    """Elements of different shapes, of which one is read twice."""
    both = gen_ops.tensor_list_push_back(gen_ops.tensor_list_push_back(_empty(x), x), y)
    rest, last = _pop(both, x)
    _, first = _pop(rest, x)
    _, again = _pop(both, x)
    return [last * y, first * first, again]


def _lists_of_lists(x: Any, y: Any) -> list[Any]:
    inner = gen_ops.tensor_list_push_back(gen_ops.tensor_list_push_back(_empty(x), x), y)
    outer = gen_ops.empty_tensor_list(-1, -1, element_dtype=tf.variant)
    outer = gen_ops.tensor_list_push_back(outer, inner)
    rest, last = gen_ops.tensor_list_pop_back(
        gen_ops.tensor_list_push_back(outer, inner), [], element_dtype=tf.variant
    )
    _, first = gen_ops.tensor_list_pop_back(rest, [], element_dtype=tf.variant)
    found, y_again = _pop(last, x)
    return [y_again * 2.0, _pop(found, x)[1] * 3.0, _pop(first, x)[1] * y]


_PUSHED = [Check(_pushed_and_popped, (_ROWS, _ROW)), Check(_lists_of_lists, (_ROWS, _ROW))]

define_tests("EmptyTensorList", reference=_HELD, determinism=_KEEPS)
define_tests(
    ["TensorListPopBack", "TensorListPushBack"],
    reference=_HELD,
    gradient=_PUSHED,
    determinism=_KEEPS,
)
