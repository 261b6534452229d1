"""Where the channels of images are."""

from __future__ import annotations


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
