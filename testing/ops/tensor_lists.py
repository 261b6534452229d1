"""Tensor lists, which variant tensors hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.registry import NotTested, Property, define_tests

_HELD = NotTested("a list is no array: core/structural/tensor_lists_test.cc compares its elements")
_KEEPS = NotTested("keeps elements, and computes nothing")

_NO_LIST = {Property.NAMED_ARGUMENT: "no random case has a list: the error is about its type"}

_ROWS = spread("x", 3, 2)
_ROW = spread("y", 2)


def _empty(like: Any) -> Any:
    """A list for tensors like this one."""
    return gen_ops.empty_tensor_list(-1, -1, element_dtype=like.dtype)


def _pop(handle: Any, like: Any) -> tuple[Any, Any]:
    rest, element = gen_ops.tensor_list_pop_back(handle, -1, element_dtype=like.dtype)
    return rest, element


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


def _slope(x: Any, y: Any) -> Any:
    """A gradient through a list of elements of several shapes, to differentiate again."""
    handle = gen_ops.tensor_list_push_back(gen_ops.tensor_list_from_tensor(x, -1), x * x)
    last = _get(handle, 3, x)
    rest, popped = _pop(handle, x)
    rows = _stack(rest, x)
    return tf.gradients(last * popped * rows, x)[0] * y


_PUSHED = [
    Check(_pushed_and_popped, (_ROWS, _ROW)),
    Check(_lists_of_lists, (_ROWS, _ROW)),
    Check(_slope, (_ROWS, _ROW)),
]


def _from(x: Any) -> Any:
    """The rows of a tensor as a list that does not know their shape."""
    return gen_ops.tensor_list_from_tensor(x, -1)


def _stack(handle: Any, like: Any, shape: Any = -1, **attrs: int) -> Any:
    return gen_ops.tensor_list_stack(handle, shape, element_dtype=like.dtype, **attrs)


def _get(handle: Any, index: int, like: Any, shape: Any = -1) -> Any:
    return gen_ops.tensor_list_get_item(handle, index, shape, element_dtype=like.dtype)


def _gather(handle: Any, indices: Any, like: Any, shape: Any = -1) -> Any:
    return gen_ops.tensor_list_gather(handle, indices, shape, element_dtype=like.dtype)


def _stacked(x: Any) -> list[Any]:
    handle = _from(x)
    return [_stack(handle, x) * x, _stack(handle, x, [2], num_elements=3) * 2.0]


def _one_by_one(x: Any, y: Any) -> list[Any]:
    """Elements that are read twice, replaced, and never set."""
    handle = gen_ops.tensor_list_set_item(_from(x), 1, y)
    reserved = gen_ops.tensor_list_reserve([2], 4, element_dtype=x.dtype)
    reserved = gen_ops.tensor_list_set_item(reserved, 2, y * y)
    found = [_get(handle, 0, x) * y, _get(handle, 0, x), _get(handle, 1, x) * y]
    return [*found, _get(reserved, 2, x), _get(reserved, 3, x), _stack(reserved, x)]


def _resized(x: Any) -> list[Any]:
    longer = gen_ops.tensor_list_resize(_from(x), 5)
    shorter = gen_ops.tensor_list_resize(longer, 2)
    return [_stack(longer, x, [2]) * 2.0, _stack(shorter, x) * _stack(shorter, x)]


def _gathered(x: Any, y: Any) -> list[Any]:
    handle = gen_ops.tensor_list_push_back(_from(x), y)
    return [_gather(handle, [0, 3], x) * y, _gather(handle, [1], x, [2])]


def _scattered(x: Any, y: Any) -> list[Any]:
    handle = gen_ops.tensor_list_scatter(x, [4, 0, 2], -1)
    second = gen_ops.tensor_list_scatter_v2(x * 2.0, [1, 2, 0], [2], 5)
    return [_get(handle, 4, x) * y, _gather(handle, [0, 2], x), _stack(second, x) * y]


def _scattered_into(x: Any, y: Any) -> list[Any]:
    rows = tf.stack([y, y * y])
    handle = gen_ops.tensor_list_scatter_into_existing_list(_from(x), rows, [1, 4])
    return [_gather(handle, [0, 1, 2, 4], x) * y, _get(handle, 3, x, [2])]


def _joined(x: Any, y: Any) -> list[Any]:
    handle = gen_ops.tensor_list_push_back(_empty(x), x)
    handle = gen_ops.tensor_list_push_back(handle, tf.stack([y, y]))
    first = gen_ops.tensor_list_concat(handle, element_dtype=x.dtype)[0]
    rows = gen_ops.tensor_list_concat_v2(handle, [-1, 2], [], element_dtype=x.dtype)[0]
    unset = gen_ops.tensor_list_resize(handle, 3)
    zeros = gen_ops.tensor_list_concat_v2(unset, -1, [0, 0, 2], element_dtype=x.dtype)[0]
    return [first * first, rows * y, zeros * y]


def _split(x: Any) -> list[Any]:
    handle = gen_ops.tensor_list_split(x, [-1, 2], [2, 0, 1])
    first = _get(handle, 0, x)
    return [first * first, _get(handle, 1, x), _get(handle, 2, x) * 3.0]


define_tests(["EmptyTensorList", "TensorListReserve"], reference=_HELD, determinism=_KEEPS)
define_tests(["TensorListElementShape", "TensorListLength"], reference=_HELD, exceptions=_NO_LIST)
define_tests(
    ["TensorListConcatLists", "TensorListPushBackBatch"],
    reference=_HELD,
    determinism=_KEEPS,
    exceptions=_NO_LIST,
)
_OF_ROWS: list[tuple[list[str], Callable[..., Any], tuple[Array, ...]]] = [
    (["TensorListFromTensor"], _stacked, (_ROWS,)),
    (["TensorListScatter", "TensorListScatterV2"], _scattered, (_ROWS, _ROW)),
    (["TensorListSplit"], _split, (_ROWS,)),
]
for _ops, _build, _inputs in _OF_ROWS:
    define_tests(_ops, reference=_HELD, gradient=[Check(_build, _inputs)], determinism=_KEEPS)
_OF_LISTS: list[tuple[list[str], Callable[..., Any], tuple[Array, ...]]] = [
    (["TensorListStack"], _stacked, (_ROWS,)),
    (["TensorListGetItem", "TensorListSetItem"], _one_by_one, (_ROWS, _ROW)),
    (["TensorListGather"], _gathered, (_ROWS, _ROW)),
    (["TensorListScatterIntoExistingList"], _scattered_into, (_ROWS, _ROW)),
    (["TensorListConcat", "TensorListConcatV2"], _joined, (_ROWS, _ROW)),
]
for _ops, _build, _inputs in _OF_LISTS:
    define_tests(
        _ops,
        reference=_HELD,
        gradient=[Check(_build, _inputs)],
        determinism=_KEEPS,
        exceptions=_NO_LIST,
    )
define_tests(
    "TensorListResize",
    reference=_HELD,
    gradient=[Check(_resized, (_ROWS,))],
    exceptions=_NO_LIST,
)
define_tests(
    ["TensorListPopBack", "TensorListPushBack"],
    reference=_HELD,
    gradient=_PUSHED,
    determinism=_KEEPS,
    exceptions=_NO_LIST,
)
