"""Frames of signals, which may overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import NUMBER, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_layout, math_ops, reductions
from millstream._impl.ops.fourier_ops import pad_to
from millstream._impl.values import dtypes


def known_integer(value: Any, name: str) -> Any:
    """An int if the scalar is known, else a tensor of int32."""
    tensor = convert_to_tensor(value, dtypes.int32, name)
    tensor.shape.assert_has_rank(0)
    known = constant_value(tensor)
    return tensor if known is None else int(known)


def known_step(frame_step: Any) -> Any:
    """The distance of two frames, an int above 0 if it is known, else a tensor of int32."""
    step = known_integer(frame_step, "frame_step")
    if isinstance(step, int) and step < 1:
        raise ValueError(f"frame_step: expected 1 or more, got {step}")
    return step


def size_of(tensor: Tensor, axis: int = -1) -> Any:
    """The size of a dimension: an int if it is known, else a tensor of int32."""
    known = tensor.shape[axis].value if tensor.shape.ndims is not None else None
    return gen_ops.shape(tensor)[axis] if known is None else int(known)


def at_least(value: Any, least: int) -> Any:
    return max(value, least) if isinstance(value, int) else gen_ops.maximum(value, least)


def vector(values: list[Any]) -> Any:
    """Integers, some of which may be tensors, as one vector."""
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int32)
    return array_join.stack([convert_to_tensor(value, dtypes.int32) for value in values])


@public("signal.frame")
@takes(signal=TENSOR, frame_length=NUMBER, frame_step=NUMBER, pad_value=TENSOR, axis=NUMBER)
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Frames of a signal that may overlap.

    Parameters
    ----------
    signal
        The signal.
    frame_length
        Samples of a frame.
    frame_step
        From the start of a frame to that of the next.
    pad_end
        Whether there is a frame at every step within the signal, and the last ones are filled.
        By default there are whole ones alone.
    pad_value
        What they are filled with.
    axis
        The dimension of the samples.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Two dimensions in the place of `axis`: frames, and samples of each.

    Examples
    --------
    >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).eval().tolist()
    [[1, 2, 3], [3, 4, 5]]
    >>> tf.signal.frame([1, 2, 3, 4], 3, 2, pad_end=True).eval().tolist()
    [[1, 2, 3], [3, 4, 0]]
    """
    with scopes.name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]) as scope:
        samples = convert_to_tensor(signal, name="signal")
        samples.shape.with_rank_at_least(1)
        length = known_integer(frame_length, "frame_length")
        step = known_step(frame_step)
        place = known_integer(axis, "axis")
        size = size_of(samples, place) if isinstance(place, int) else gen_ops.shape(samples)[place]
        if pad_end:
            count = at_least(-((-size) // step), 0)
            missing = at_least(length + step * (count - 1) - size, 0)
            samples = _pad_behind(samples, place, missing, pad_value)
        else:
            count = at_least(1 + (size - length) // step, 0)
        starts = gen_ops.expand_dims(gen_ops.range(0, count, 1) * step, 1)
        indices = starts + gen_ops.expand_dims(gen_ops.range(0, length, 1), 0)
        return gen_ops.gather_v2(samples, indices, place, name=scope)


def _pad_behind(tensor: Tensor, axis: Any, count: Any, value: Any) -> Tensor:
    rank = tensor.shape.ndims
    if rank is not None and isinstance(axis, int) and isinstance(count, int):
        pairs: Any = [[0, 0] for _ in range(rank)]
        pairs[axis] = [0, count]
        return array_layout.pad(
            tensor, pairs, constant_values=convert_to_tensor(value, tensor.dtype)
        )
    every = gen_ops.rank(tensor)
    is_place = gen_ops.equal(gen_ops.range(0, every, 1), gen_ops.floor_mod(axis, every))
    behind = math_ops.cast(is_place, dtypes.int32) * count
    pairs = array_join.stack([gen_ops.zeros_like(behind), behind], 1)
    filler = convert_to_tensor(value, tensor.dtype)
    return array_layout.pad(tensor, pairs, constant_values=filler)


@public("signal.overlap_and_add")
@takes(signal=TENSOR, frame_step=NUMBER)
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The signal of frames that overlap, which are added up.

    Parameters
    ----------
    signal
        Frames, shape [..., frames, frame length].
    frame_step
        From the start of a frame to that of the next.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Shape [..., frame step * (frames - 1) + frame length].

    Examples
    --------
    >>> tf.signal.overlap_and_add([[1, 2, 3], [10, 20, 30]], 2).eval().tolist()
    [1, 2, 13, 20, 30]
    """
    with scopes.name_scope(name, "overlap_and_add", [signal, frame_step]):
        frames = convert_to_tensor(signal, name="signal")
        frames.shape.with_rank_at_least(2)
        step_tensor = convert_to_tensor(frame_step, name="frame_step")
        if not step_tensor.dtype.is_integer:
            raise ValueError(
                f"frame_step: frame_step must be an integer. Got {step_tensor.dtype.name}"
            )
        step = known_step(math_ops.cast(step_tensor, dtypes.int32))
        count, length = size_of(frames, -2), size_of(frames, -1)
        # Frames in parts of `step` samples: part s of frame f goes to place f + s. In rows of
        # count + parts - 1 elements instead of count + parts, each part begins one place later
        # than the part before, which is where it goes.
        parts = -((-length) // step)
        batch = _leading(frames, 2)
        frames = pad_to(frames, vector([count + parts, parts * step]), 2)
        cut = gen_ops.reshape(frames, _joined(batch, [count + parts, parts, step]))
        by_part = _swap(cut, batch)
        flat = gen_ops.reshape(by_part, _joined(batch, [parts * (count + parts) * step]))
        row = (count + parts - 1) * step
        rows = gen_ops.reshape(flat[..., : parts * row], _joined(batch, [parts, row]))
        total = reductions.reduce_sum(rows, -2)
        return total[..., : step * (count - 1) + length]


def _leading(tensor: Tensor, last: int) -> Any:
    """The sizes of all but the last dimensions."""
    known = tensor.shape.as_list()[:-last] if tensor.shape.ndims is not None else [None]
    if None in known:
        return gen_ops.shape(tensor)[:-last]
    return np.array(known, np.int32)


def _joined(batch: Any, sizes: list[Any]) -> Any:
    rest = vector(sizes)
    if isinstance(batch, np.ndarray) and isinstance(rest, np.ndarray):
        return np.concatenate([batch, rest])
    return array_join.concat([batch, rest], 0)


def _swap(tensor: Tensor, batch: Any) -> Tensor:
    """[..., a, b, c] as [..., b, a, c]."""
    if isinstance(batch, np.ndarray):
        rank = len(batch)
        return gen_ops.transpose(tensor, [*range(rank), rank + 1, rank, rank + 2])
    rank = gen_ops.rank(tensor) - 3
    order = array_join.concat([gen_ops.range(0, rank, 1), rank + np.array([1, 0, 2], np.int32)], 0)
    return gen_ops.transpose(tensor, order)
