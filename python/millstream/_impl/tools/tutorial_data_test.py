"""Images of the tutorials: files, batches, epochs."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from millstream._impl.tools import tutorial_data


def write_idx(path: Path, values: np.ndarray) -> None:
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(head + values.tobytes()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, count in (("train", 7), ("t10k", 3)):
        pixels = np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2)
        write_idx(tmp_path / f"{kind}-images-idx3-ubyte.gz", pixels)
        write_idx(tmp_path / f"{kind}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8))
    return tmp_path


def test_the_images_are_divided(folder: Path) -> None:
    data = tutorial_data.read_data_sets(folder, one_hot=True, validation_size=2)
    pixels = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert [part.num_examples for part in data] == [5, 2, 3]
    assert data.train.images.dtype == np.float32
    assert data.validation.images.tolist() == (pixels / np.float32(255)).tolist()
    assert data.train.labels.shape == (5, 10)
    assert data.train.labels.argmax(1).tolist() == [2, 3, 4, 5, 6]


def test_images_keep_their_bytes_and_shape_when_told_to(folder: Path) -> None:
    data = tutorial_data.read_data_sets(folder, dtype="uint8", reshape=False, validation_size=0)
    assert data.train.images.shape == (7, 2, 2, 1)
    assert data.train.images.dtype == np.uint8
    assert data.test.labels.tolist() == [0, 1, 2]


def test_a_batch_goes_on_in_the_next_epoch(folder: Path) -> None:
    train = tutorial_data.read_data_sets(folder, validation_size=0).train
    first = train.next_batch(5, shuffle=False)[1]
    second = train.next_batch(5, shuffle=False)[1]
    assert (first.tolist(), second.tolist()) == ([0, 1, 2, 3, 4], [5, 6, 0, 1, 2])
    assert train.epochs_completed == 1
    assert train.next_batch(16, shuffle=False)[1].tolist() == [3, 4, 5, 6, *range(7), *range(5)]
    assert train.epochs_completed == 3


def test_each_epoch_has_all_images_with_their_labels(folder: Path) -> None:
    train = tutorial_data.read_data_sets(folder, dtype="uint8", validation_size=0, seed=1).train
    for _ in range(3):
        images, labels = train.next_batch(7)
        assert sorted(labels.tolist()) == list(range(7))
        assert (images[:, 0] == labels * 4).all()


def test_false_data_are_ones(folder: Path) -> None:
    data = tutorial_data.read_data_sets(folder, fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(2)
    assert images == [[1.0] * 784] * 2
    assert labels == [[1.0, *[0.0] * 9]] * 2


def test_without_files_the_package_of_debian_is_read(tmp_path: Path) -> None:
    data = tutorial_data.read_data_sets(tmp_path / "nothing")
    assert [part.num_examples for part in data] == [55000, 5000, 10000]
    assert data.train.images.shape == (55000, 784)


def test_files_that_are_cut_are_refused(folder: Path) -> None:
    path = folder / "train-images-idx3-ubyte.gz"
    whole = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(whole[:-1]))
    with pytest.raises(ValueError, match=r"declares the shape \(7, 2, 2\), has 27 elements"):
        tutorial_data.read_data_sets(folder, validation_size=0)
    path.write_bytes(gzip.compress(whole[:6]))
    with pytest.raises(ValueError, match="expected an IDX file of bytes with 3 dimensions"):
        tutorial_data.read_data_sets(folder, validation_size=0)


def test_bad_arguments_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="validation_size: expected 0 to 7, got 8"):
        tutorial_data.read_data_sets(folder, validation_size=8)
    empty = tutorial_data.read_data_sets(folder, validation_size=7).train
    with pytest.raises(ValueError, match="batch_size: expected 0, there are no images, got 1"):
        empty.next_batch(1)
    with pytest.raises(TypeError, match="dtype: expected uint8 or float32, got float64"):
        tutorial_data.read_data_sets(folder, dtype="float64", validation_size=0)
