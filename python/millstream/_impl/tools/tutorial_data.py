"""Images of the tutorials: what ``tensorflow.examples.tutorials.mnist.input_data`` has.

The files are those of MNIST, in the IDX format (Y. LeCun, "The MNIST database of handwritten
digits"), gzipped. Nothing is downloaded. Where the given folder has no such files, those of
Debian's package ``dataset-fashion-mnist`` are taken, which have the same sizes and show clothes.
"""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from millstream._impl.program import logging
from millstream._impl.values import dtypes

DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
_UNSIGNED_BYTE = 0x08
_NUM_CLASSES = 10


def _read_idx(file: Any, rank: int) -> Any:
    """The array of bytes in a gzipped IDX file.

    Raises
    ------
    ValueError
        It is none, of another rank, or has more or fewer elements than it declares.
    """
    name = getattr(file, "name", file)
    with gzip.open(file) as stream:
        content = stream.read()
    if len(content) < 4 + 4 * rank or content[:4] != bytes([0, 0, _UNSIGNED_BYTE, rank]):
        raise ValueError(f"{name}: expected an IDX file of bytes with {rank} dimensions")
    shape = struct.unpack_from(f">{rank}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if values.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{name}: declares the shape {shape}, has {values.size} elements")
    return values.reshape(shape)


def extract_images(f: Any) -> Any:
    """Images of an IDX file: bytes of the shape [number, height, width, 1].

    Parameters
    ----------
    f
        The gzipped file, open for bytes, or its path.
    """
    return _read_idx(f, 3)[..., np.newaxis]


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Labels as rows of `num_classes` numbers, 1 at the label and 0 elsewhere."""
    return np.eye(num_classes)[np.asarray(labels_dense).ravel()]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _NUM_CLASSES) -> Any:
    """Labels of an IDX file: bytes, or rows with one 1 each.

    Parameters
    ----------
    f
        The gzipped file, open for bytes, or its path.
    one_hot
        Whether to give rows.
    num_classes
        Numbers in a row.
    """
    labels = _read_idx(f, 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images with labels, in batches.

    Parameters
    ----------
    images
        Bytes of the shape [number, height, width, 1].
    labels
        One of each image.
    fake_data
        Whether batches hold ones and zeros, for tests.
    one_hot
        Whether labels of false data are rows.
    dtype
        float32, for numbers from 0 to 1, or uint8.
    reshape
        Whether an image becomes a row of height times width numbers.
    seed
        Of the order of the images.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = dtypes.as_dtype(dtype).base_dtype
        if kind not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"dtype: expected uint8 or float32, got {kind.name}")
        self._random = np.random.RandomState(seed)
        self._fake_data, self._one_hot = fake_data, one_hot
        self._epochs_completed = self._position = 0
        if fake_data:
            self._num_examples = 10000
            self._images: Any = None
            self._labels: Any = None
            return
        if len(images) != len(labels):
            raise ValueError(f"images: there are {len(images)}, but {len(labels)} labels")
        if reshape:
            images = images.reshape(len(images), math.prod(images.shape[1:]))
        if kind == dtypes.float32:
            images = images.astype(np.float32) / np.float32(255)
        self._num_examples = len(images)
        self._images, self._labels = images, labels

    @property
    def images(self) -> Any:
        """All images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels, in the same order."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many images there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often all images have been given out."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """The next images and labels.

        A batch at an epoch's end holds what is left of it and the first images of the next.

        Parameters
        ----------
        batch_size
            Images in the batch.
        fake_data
            Whether to give ones and zeros.
        shuffle
            Whether an epoch has an order of its own.
        """
        if fake_data or self._fake_data:
            label = [1.0] + [0.0] * (_NUM_CLASSES - 1) if self._one_hot else 0
            return [[1.0] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        if batch_size > 0 and not self._num_examples:
            raise ValueError(f"batch_size: expected 0, there are no images, got {batch_size}")
        parts = []
        wanted = batch_size
        while True:
            if self._position == 0 and shuffle:
                order = self._random.permutation(self._num_examples)
                self._images, self._labels = self._images[order], self._labels[order]
            taken = slice(self._position, self._position + wanted)
            parts.append((self._images[taken], self._labels[taken]))
            wanted -= len(parts[-1][0])
            if wanted == 0:
                self._position = taken.stop
                break
            self._epochs_completed += 1
            self._position = 0
        if len(parts) == 1:
            return parts[0]
        images, labels = zip(*parts, strict=True)
        return np.concatenate(images), np.concatenate(labels)


class Datasets(NamedTuple):
    """Images for training, for decisions during training, and for the final test."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = "",
) -> Datasets:
    """Images and labels of a folder, or of Debian's package.

    Parameters
    ----------
    train_dir
        The folder with the four files of MNIST.
    fake_data, one_hot, dtype, reshape, seed
        As for `DataSet`.
    validation_size
        How many of the images for training are for decisions.
    source_url
        Not used: nothing is downloaded.

    Raises
    ------
    FileNotFoundError
        Neither folder has the files.
    ValueError
        `validation_size` is larger than the number of images.
    """
    options: dict[str, Any] = {
        "fake_data": fake_data,
        "one_hot": one_hot,
        "dtype": dtype,
        "reshape": reshape,
        "seed": seed,
    }
    if fake_data:
        return Datasets(*(DataSet([], [], **options) for _ in range(3)))
    folder = _folder(Path(train_dir))
    images, labels = _read(folder, "train", one_hot)
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"validation_size: expected 0 to {len(images)}, got {validation_size}")
    parts = (
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        _read(folder, "t10k", one_hot),
    )
    return Datasets(*(DataSet(*part, **options) for part in parts))


def _read(folder: Path, kind: str, one_hot: bool) -> tuple[Any, Any]:
    images = extract_images(folder / f"{kind}-images-idx3-ubyte.gz")
    return images, extract_labels(folder / f"{kind}-labels-idx1-ubyte.gz", one_hot)


def _folder(wanted: Path) -> Path:
    """The folder of the files: the wanted one, or that of Debian's package."""
    first = "train-images-idx3-ubyte.gz"
    if (wanted / first).exists():
        return wanted
    if not (DEBIAN_FOLDER / first).exists():
        raise FileNotFoundError(
            f"{wanted / first}: there is no such file, and Debian's package dataset-fashion-mnist "
            "is not installed"
        )
    logging.warning(
        "%s has no %s: images of clothes are read from %s", wanted, first, DEBIAN_FOLDER
    )
    return DEBIAN_FOLDER
