"""Python's indexing of tensors as ``StridedSlice``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_argument
from millstream._impl.graph.operation import Tensor
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


class VariableSlice(Tensor):
    """A slice of a variable's value, which may be assigned to."""

    __slots__ = ("_bounds", "_masks", "_variable")

    def __init__(
        self, value: Tensor, variable: Any, bounds: list[Any], masks: dict[str, int]
    ) -> None:
        super().__init__(value.op, value.value_index, value.dtype, value.packed)
        self._variable = variable
        self._bounds = bounds
        self._masks = masks
        value.op.outputs[value.value_index] = self

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Put a value in the place of the slice.

        Parameters
        ----------
        value
            The value, of the shape of the slice.
        name
            Name of the operation.

        Returns
        -------
        Tensor
            The variable's value after the write; whatever runs it has written.

        Raises
        ------
        TypeError
            The value cannot have the variable's dtype.
        ValueError
            The value has another shape.
        """
        return self._variable._assign_slice(self._bounds, self._masks, value, name)


def _is_mask(key: Any) -> bool:
    if isinstance(key, TensorLike):
        return key.dtype.base_dtype == dtypes.bool
    return isinstance(key, np.ndarray) and key.dtype == np.bool_


def slice_by_key(tensor: Any, key: Any, name: str = "strided_slice") -> Any:
    """``tensor[key]``.

    Parameters
    ----------
    tensor
        A tensor or variable. The slice of a variable has a method ``assign``.
    key
        An index, slice, ``...``, ``tf.newaxis``, or a tuple of those; bounds may be scalar tensors.
        Or a mask: a tensor or array of booleans.
    name
        Name of the result; not of one that a mask gives.

    Raises
    ------
    TypeError
        The key holds something else.
    ValueError
        The key has more positions than the tensor, or an index beyond its end, as far as known.
    """
    graph = tensor.graph
    if _is_mask(key):
        from millstream._impl.ops.masks import boolean_mask  # lazy: few programs have masks

        with graph.as_default():
            return boolean_mask(tensor, key)
    scope = graph.op_name(name) + "/"
    with graph.as_default(), graph.enter_scope(scope):
        spec = _parse(key)
        wide = _is_wide(spec.begin + spec.end + spec.strides)
        begin = _pack(graph, spec.begin, "stack", wide)
        end = _pack(graph, spec.end, "stack_1", wide)
        strides = _pack(graph, spec.strides, "stack_2", wide)
        value = tensor.as_tensor()
    masks = {f"{which}_mask": mask for which, mask in spec.masks.items()}
    bounds = [begin, end, strides]
    taken = gen_ops.strided_slice(value, *bounds, **masks, name=scope)
    return slice_of(tensor, taken, bounds, masks)


def slice_of(whole: Any, taken: Tensor, bounds: list[Any], masks: dict[str, int]) -> Tensor:
    """The slice that was taken of a tensor or variable; of a variable, it may be assigned to."""
    if not hasattr(whole, "_assign_slice"):
        return taken
    return VariableSlice(taken, whole, bounds, masks)
