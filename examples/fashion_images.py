"""Fashion-MNIST from Debian's package ``dataset-fashion-mnist``: 28 x 28 gray images of clothes."""

from __future__ import annotations

import gzip
import pathlib
import struct

import numpy as np
import numpy.typing as npt

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
UNSIGNED_BYTE = 0x08


def read_idx(path: pathlib.Path) -> npt.NDArray[np.uint8]:
    """Read a gzipped IDX file of bytes.

    The format: two zero bytes, the element type, the number of dimensions, each dimension as a
    big-endian uint32, then the elements (Y. LeCun, "The MNIST database of handwritten digits").

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    numpy.ndarray
        The array, with the dimensions that the file declares.

    Raises
    ------
    ValueError
        The file is no IDX file of bytes, or is shorter or longer than it declares.
    """
    content = gzip.decompress(path.read_bytes())
    zeros, kind, rank = struct.unpack_from(">HBB", content)
    if zeros != 0 or kind != UNSIGNED_BYTE:
        raise ValueError(f"{path}: expected an IDX file of unsigned bytes, got type {kind:#x}")
    dimensions = struct.unpack_from(f">{rank}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if values.size != np.prod(dimensions):
        raise ValueError(f"{path}: declares {dimensions}, holds {values.size} elements")
    return values.reshape(dimensions)


class Images:
    """Images in [0, 1] with their classes.

    Attributes
    ----------
    pixels
        float32, one flattened image a row.
    classes
        int32, from 0 to 9.
    """

    def __init__(self, folder: pathlib.Path, kind: str) -> None:
        raw = read_idx(folder / f"{kind}-images-idx3-ubyte.gz")
        self.pixels = raw.reshape(len(raw), -1).astype(np.float32) / np.float32(255)
        self.classes = read_idx(folder / f"{kind}-labels-idx1-ubyte.gz").astype(np.int32)

    def batch(
        self, step: int, size: int, seed: int = 0
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Return the batch of a step.

        Every epoch visits all images in an order of its own, which depends on the seed and the
        epoch alone: step N has the same batch whether or not training was interrupted before it.

        Parameters
        ----------
        step
            Number of the step, from 0.
        size
            Images in a batch.
        seed
            Of the order.

        Returns
        -------
        tuple
            Pixels and classes.
        """
        steps_in_epoch = len(self.pixels) // size
        epoch, position = divmod(step, steps_in_epoch)
        if getattr(self, "_epoch", None) != (epoch, seed):
            self._epoch = (epoch, seed)
            self._order = np.random.RandomState([seed, epoch]).permutation(len(self.pixels))
        rows = self._order[position * size : (position + 1) * size]
        return self.pixels[rows], self.classes[rows]


def load(folder: pathlib.Path = FOLDER) -> tuple[Images, Images]:
    """Return the 60,000 training and the 10,000 test images.

    Parameters
    ----------
    folder
        Where the four gzipped IDX files are.

    Returns
    -------
    tuple
        Training and test images.
    """
    return Images(folder, "train"), Images(folder, "t10k")
