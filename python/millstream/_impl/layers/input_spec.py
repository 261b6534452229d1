"""What a layer takes."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, MAPPING, SHAPE, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import as_shape


@public("layers.InputSpec")
class InputSpec:
    """What a layer takes.

    Parameters
    ----------
    dtype
        The data type, or None for any.
    shape
        The shape, with None for dimensions of any size, or None for any.
    ndim, max_ndim, min_ndim
        The rank, the greatest, the least.
    axes
        Sizes of some dimensions, by dimension.

    Examples
    --------
    >>> tf.layers.InputSpec(min_ndim=2, axes={-1: 3})
    InputSpec(min_ndim=2, axes={-1: 3})
    """

    @takes(dtype=DTYPE, shape=SHAPE, ndim=INTEGER, max_ndim=INTEGER, min_ndim=INTEGER, axes=MAPPING)
    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Any = None,
    ) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(key): size for key, size in (axes or {}).items()}

    def __repr__(self) -> str:
        given = [f"{key}={value}" for key, value in vars(self).items() if value not in (None, {})]
        return f"InputSpec({', '.join(given)})"

    def check(self, layer: str, value: Tensor) -> None:
        """Raise ValueError when a layer of this name does not take the tensor."""
        start = f"Input 0 of layer {layer} is incompatible with the layer: "
        rank, shape = value.shape.ndims, value.shape
        if self.dtype is not None and value.dtype.base_dtype.name != self.dtype:
            raise ValueError(f"{start}expected dtype={self.dtype}, found {value.dtype.name}")
        if rank is None:
            if (self.ndim, self.min_ndim, self.max_ndim) == (None, None, None):
                return
            raise ValueError(f"{start}its rank is undefined, but the layer requires a defined rank")
        found = f"found ndim={rank}. Full shape received: {shape.as_list()}"
        if self.ndim is not None and rank != self.ndim:
            raise ValueError(f"{start}expected ndim={self.ndim}, {found}")
        if self.max_ndim is not None and rank > self.max_ndim:
            raise ValueError(f"{start}expected max_ndim={self.max_ndim}, {found}")
        if self.min_ndim is not None and rank < self.min_ndim:
            raise ValueError(f"{start}expected min_ndim={self.min_ndim}, {found}")
        for axis, size in self.axes.items():
            if size is not None and shape.as_list()[axis] not in (size, None):
                raise ValueError(
                    f"{start}expected axis {axis} of input shape to have value {size} but "
                    f"received input with shape {shape.as_list()}"
                )
        if self.shape is not None and not shape.is_compatible_with(as_shape(self.shape)):
            raise ValueError(f"{start}expected shape={self.shape}, found shape={shape.as_list()}")
