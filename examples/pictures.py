"""Many small gray images side by side, as a PNG file and in TensorBoard."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

import millstream as tf

SIDE = 28  # pixels of an image


def grid(rows: npt.NDArray[np.float32], columns: int) -> npt.NDArray[np.float32]:
    """Return one picture of flattened square images, `columns` of them in a row.

    Parameters
    ----------
    rows
        An image a row, in [0, 1]. Their number is a multiple of `columns`.
    columns
        How many stand side by side.

    Returns
    -------
    numpy.ndarray
        The picture, of shape [1, height, width, 1], as `tf.summary.image` takes it.
    """
    images = rows.reshape(-1, columns, SIDE, SIDE)
    return images.transpose(0, 2, 1, 3).reshape(1, -1, columns * SIDE, 1)


class PictureWriter:
    """Writes pictures into the event files of a folder, and the last one as a PNG file.

    Parameters
    ----------
    folder
        Where they go.
    name
        Of the pictures in TensorBoard, and of the PNG file.
    """

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self.path = folder / f"{name}.png"
        self._picture = tf.placeholder(tf.float32, [1, None, None, 1])
        # Pixels are levels of gray: a float image would be scaled by its own largest value.
        levels = tf.cast(self._picture * 255.0, tf.uint8)
        self._summary = tf.summary.image(name, levels)
        self._writer = tf.summary.FileWriter(str(folder))

    def add(self, session: Any, picture: npt.NDArray[np.float32], step: int) -> None:
        """Add the picture of a step."""
        text = session.run(self._summary, {self._picture: picture})
        self._writer.add_summary(text, step)
        self._writer.flush()
        self.path.write_bytes(tf.Summary.FromString(text).value[0].image.encoded_image_string)
