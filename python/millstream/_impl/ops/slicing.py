"""Python's indexing of tensors as ``StridedSlice``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_argument
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph


class _Spec:
    """Begin, end and stride of each position of a key, and the masks over the positions."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = {"begin": 0, "end": 0, "ellipsis": 0, "new_axis": 0, "shrink_axis": 0}

    def add(self, begin: Any, end: Any, stride: Any, *masks: str) -> None:
        for mask in masks:
            self.masks[mask] |= 1 << len(self.begin)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _index(item: Any) -> Any:
    """An index or a bound of a slice: an integer, or a scalar tensor of integers."""
    if isinstance(item, TensorLike):
        if not item.dtype.is_integer:
            raise TypeError(f"item: a tensor is indexed by integers, not by {item.dtype.name}")
        return item.as_tensor()
    if hasattr(item, "value") and not isinstance(item, np.generic):  # a Dimension
        item = item.value
    if isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__"):
        raise TypeError(
            "item: only integers, slices, `...`, tf.newaxis (None) and scalar integer tensors are "
            f"indices, got {item!r}"
        )
    return operator.index(item)


def _parse(key: Any) -> _Spec:
    spec = _Spec()
    for item in key if isinstance(key, (tuple, list)) else (key,):
        if item is None:
            spec.add(0, 0, 1, "new_axis")
        elif item is Ellipsis:
            if spec.masks["ellipsis"]:
                raise ValueError("item: Multiple ellipses in one slice, expected at most one")
            spec.add(0, 0, 1, "ellipsis")
        elif isinstance(item, slice):
            masks = [
                mask for mask, bound in (("begin", item.start), ("end", item.stop)) if bound is None
            ]
            spec.add(
                0 if item.start is None else _index(item.start),
                0 if item.stop is None else _index(item.stop),
                1 if item.step is None else _index(item.step),
                *masks,
            )
        else:
            begin = _index(item)
            spec.add(begin, begin + 1, 1, "shrink_axis")
    return spec


def _pack(graph: Graph, bounds: list[Any], name: str, wide: bool) -> Any:
    wanted = dtypes.int64 if wide else dtypes.int32
    if wide:
        bounds = [
            gen_ops.cast(bound, dtypes.int64)
            if isinstance(bound, TensorLike) and bound.dtype != dtypes.int64
            else bound
            for bound in bounds
        ]
    return convert_argument(graph, bounds, wanted, name)


def _is_wide(bounds: list[Any]) -> bool:
    return any(isinstance(bound, TensorLike) and bound.dtype == dtypes.int64 for bound in bounds)


def slice_by_key(tensor: Any, key: Any, name: str = "strided_slice") -> Any:
    """``tensor[key]``.

    Parameters
    ----------
    tensor
        A tensor or variable.
    key
        An index, slice, ``...``, ``tf.newaxis``, or a tuple of those; bounds may be scalar tensors.
    name
        Name of the result.

    Raises
    ------
    TypeError
        The key holds something else.
    ValueError
        The key has more positions than the tensor, or an index beyond its end, as far as known.
    """
    graph = tensor.graph
    scope = graph.op_name(name) + "/"
    with graph.as_default(), graph.enter_scope(scope):
        spec = _parse(key)
        wide = _is_wide(spec.begin + spec.end + spec.strides)
        begin = _pack(graph, spec.begin, "stack", wide)
        end = _pack(graph, spec.end, "stack_1", wide)
        strides = _pack(graph, spec.strides, "stack_2", wide)
        value = tensor.as_tensor()
    return gen_ops.strided_slice(
        value,
        begin,
        end,
        strides,
        begin_mask=spec.masks["begin"],
        end_mask=spec.masks["end"],
        ellipsis_mask=spec.masks["ellipsis"],
        new_axis_mask=spec.masks["new_axis"],
        shrink_axis_mask=spec.masks["shrink_axis"],
        name=scope,
    )
