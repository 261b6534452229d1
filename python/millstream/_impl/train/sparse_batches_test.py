"""Batches of sparse tensors, and files that are looked for once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


@contextlib.contextmanager
def _running(session: tf.Session) -> Iterator[None]:
    """The runners of the graph run."""
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    yield
    coord.request_stop()
    coord.join(threads)


def _all_of(session: tf.Session, fetches: Any) -> list[Any]:
    """What steps give until the input ends."""
    found = []
    with _running(session), contextlib.suppress(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(fetches))
    return found


def _numbers(epochs: int = 1, limit: int = 6) -> tf.Tensor:
    return tf.train.range_input_producer(limit, num_epochs=epochs, shuffle=False).dequeue()


# ---- Sparse tensors ----


def _sparse_number(number: tf.Tensor) -> tf.SparseTensor:
    """[number at 0, 1 at number], of size number + 1."""
    wide = tf.cast(number, tf.int64)
    places = tf.stack([tf.zeros([], tf.int64), wide])
    return tf.SparseTensor(tf.reshape(places, [2, 1]), tf.stack([number, 1]), [wide + 1])


def _dense(values: list[Any]) -> list[Any]:
    """The elements of batches of sparse vectors, by their places."""
    found = []
    for value in values:
        for row in range(value.dense_shape[0]):
            own = value.indices[:, 0] == row
            places = value.indices[own, 1].tolist()
            found.append(list(zip(places, value.values[own].tolist(), strict=True)))
    return found


def test_batches_of_sparse_tensors(session: tf.Session) -> None:
    number = _numbers()
    batch = tf.train.batch({"dense": number, "sparse": _sparse_number(number)}, batch_size=2)
    assert batch["sparse"].shape.as_list() == [None, None]
    found = _all_of(session, batch)
    assert [value["dense"].tolist() for value in found] == [[0, 1], [2, 3], [4, 5]]
    assert [value["sparse"].dense_shape.tolist() for value in found] == [[2, 2], [2, 4], [2, 6]]
    expected = [[(0, n), (n, 1)] for n in range(6)]
    assert _dense([value["sparse"] for value in found]) == expected


def test_rows_of_sparse_tensors(session: tf.Session) -> None:
    rows = tf.SparseTensor([[0, 1], [2, 0], [2, 3], [3, 2]], [5, 6, 7, 8], [4, 4])
    rows = tf.SparseTensor(tf.train.limit_epochs(rows.indices, 1), rows.values, rows.dense_shape)
    batch = tf.train.batch([rows], batch_size=2, enqueue_many=True)
    assert batch.shape.as_list() == [None, None]
    found = _all_of(session, batch)
    assert _dense(found) == [[(1, 5)], [], [(0, 6), (3, 7)], [(2, 8)]]
    assert [value.dense_shape.tolist() for value in found] == [[2, 4], [2, 4]]


def test_sparse_elements_that_are_kept(session: tf.Session) -> None:
    number = _numbers()
    odd = tf.equal(number % 2, 1)
    kept = tf.train.maybe_batch(
        _sparse_number(number), odd, batch_size=2, allow_smaller_final_batch=True
    )
    assert _dense(_all_of(session, kept)) == [[(0, n), (n, 1)] for n in (1, 3, 5)]


def test_sparse_rows_that_are_kept(session: tf.Session) -> None:
    rows = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], [5, 6, 7], [3, 2])
    rows = tf.SparseTensor(tf.train.limit_epochs(rows.indices, 1), rows.values, rows.dense_shape)
    kept = tf.train.maybe_shuffle_batch(
        [rows, tf.constant([0, 1, 2])], 2, 10, 1, [True, False, True], enqueue_many=True
    )
    [value] = _all_of(session, kept)
    assert sorted(_dense([value[0]])) == [[(0, 5)], [(0, 7)]]
    assert sorted(value[1].tolist()) == [0, 2]


def test_sparse_tensors_of_several_sources(session: tf.Session) -> None:
    sources = [[_sparse_number(tf.constant(value))] for value in (3, 13)]
    for batch in (
        tf.train.batch_join(sources, batch_size=2, allow_smaller_final_batch=True),
        tf.train.maybe_batch_join(sources, True, batch_size=2, allow_smaller_final_batch=True),
        tf.train.shuffle_batch_join(sources, 2, 20, 0, allow_smaller_final_batch=True),
    ):
        assert batch.shape.as_list() == [None, None]
    joined = tf.train.shuffle_batch_join(sources, 20, 40, 0, seed=3)
    with _running(session):
        value = session.run(joined)
    assert value.dense_shape[0] == 20
    assert all(row in ([(0, 3), (3, 1)], [(0, 13), (13, 1)]) for row in _dense([value]))


def test_sparse_components_must_be_alike() -> None:
    one = tf.SparseTensor([[0]], [1], [2])
    with pytest.raises(TypeError, match="sparse in some sources"):
        tf.train.batch_join([[one], [tf.constant(1)]], batch_size=2)
    with pytest.raises(TypeError, match=r"types to be consistent: float32 vs\. int32"):
        tf.train.batch_join([[one], [tf.SparseTensor([[0]], [1.0], [2])]], batch_size=2)
    with pytest.raises(ValueError, match=r"different ranks: \[1, 2\]"):
        tf.train.batch_join([[one], [tf.SparseTensor([[0, 0]], [1], [2, 2])]], batch_size=2)


def test_files_are_looked_for_once(session: tf.Session, tmp_path: Path) -> None:
    (tmp_path / "b.txt").touch()
    (tmp_path / "a.txt").touch()
    (tmp_path / "c.bin").touch()
    names = tf.train.match_filenames_once(f"{tmp_path}/*.txt")
    pair = tf.train.match_filenames_once([f"{tmp_path}/*.bin", f"{tmp_path}/a*"], name="pair")
    assert (names.name, pair.name) == ("matching_filenames:0", "pair:0")
    assert tf.local_variables() == [names, pair]
    producer = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    expected = [f"{tmp_path}/{name}.txt".encode() for name in "ab"]
    assert _all_of(session, producer.dequeue()) == expected
    (tmp_path / "d.txt").touch()
    assert session.run(names).tolist() == expected
    assert session.run(pair).tolist() == [
        f"{tmp_path}/{name}".encode() for name in ("a.txt", "c.bin")
    ]
    now = session.run(tf.matching_files(f"{tmp_path}/*.txt"))
    assert now.tolist() == [*expected, f"{tmp_path}/d.txt".encode()]
