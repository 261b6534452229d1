"""Where the channels of images are, and how windows slide over them."""

from __future__ import annotations

from typing import Any

import numpy as np


def image_format(data_format: str | None) -> str:
    """Where a format of any number of dimensions has its channels: "NHWC" or "NCHW".

    Raises
    ------
    ValueError
        It is none.
    """
    if data_format is None or (data_format.startswith("N") and data_format.endswith("C")):
        return "NHWC"
    if data_format.startswith("NC"):
        return "NCHW"
    raise ValueError(f"data_format: expected N...C or NC..., got {data_format!r}")


def window_of(value: Any, count: int, first: bool, name: str) -> list[int]:
    """One number for each dimension of a batch that `count` windows slide over.

    Parameters
    ----------
    value
        One number for all sizes, one for each, or one for each dimension; None for 1.
    count
        How many sizes there are.
    first
        Whether the channels are the second dimension rather than the last.
    name
        The argument, for the error.

    Raises
    ------
    ValueError
        There is another number of them.
    """
    items = [int(item) for item in np.ravel(1 if value is None else value)]
    if len(items) == count + 2:
        return items
    if len(items) not in (1, count):
        expected = f"1, {count} or {count + 2}" if count > 1 else f"1 or {count + 2}"
        raise ValueError(f"{name}: expected {expected} numbers, got {value!r}")
    sizes = items if len(items) == count else items * count
    return [1, 1, *sizes] if first else [1, *sizes, 1]
