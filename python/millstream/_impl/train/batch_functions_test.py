"""Input that threads read, shuffle and put together into batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
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


def test_strings_come_epoch_after_epoch(session: tf.Session) -> None:
    names = tf.train.string_input_producer(["a", "b"], num_epochs=2, shuffle=False)
    assert _all_of(session, names.dequeue()) == [b"a", b"b", b"a", b"b"]


def test_each_epoch_has_each_string_once(session: tf.Session) -> None:
    words = [f"w{i}" for i in range(20)]
    names = tf.train.string_input_producer(words, num_epochs=2, seed=1)
    found = [word.decode() for word in _all_of(session, names.dequeue())]
    assert sorted(found[:20]) == sorted(found[20:]) == sorted(words)
    assert found[:20] != words
    assert found[:20] != found[20:]


def test_a_producer_of_no_strings_is_refused(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="requires a non-null input tensor"):
        tf.train.string_input_producer([])
    fed = tf.placeholder_with_default(np.array([], object), [None])
    tf.train.string_input_producer(fed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-null input tensor"):
        session.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops[0])


def test_rows_of_several_tensors_stay_together(session: tf.Session) -> None:
    images = np.arange(12).reshape(6, 2)
    image, label = tf.train.slice_input_producer([images, range(6)], num_epochs=1, seed=2)
    found = _all_of(session, (image, label))
    assert sorted(int(label) for _, label in found) == list(range(6))
    assert all(image.tolist() == images[label].tolist() for image, label in found)
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.slice_input_producer([])


def test_an_input_of_unknown_shape_needs_that_of_its_rows() -> None:
    rows = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="`element_shape` must be specified"):
        tf.train.input_producer(rows)
    queue = tf.train.input_producer(rows, element_shape=[3])
    assert queue.dequeue().shape.as_list() == [3]
    with pytest.raises(ValueError, match="num_epochs must be > 0 not 0"):
        tf.train.limit_epochs(rows, 0)


def test_batches_have_all_elements(session: tf.Session) -> None:
    number = _numbers()
    batch = tf.train.batch({"n": number, "square": number * number}, 2)
    found = _all_of(session, batch)
    assert [each["n"].tolist() for each in found] == [[0, 1], [2, 3], [4, 5]]
    assert [each["square"].tolist() for each in found] == [[0, 1], [4, 9], [16, 25]]
    assert tf.get_collection(tf.GraphKeys.SUMMARIES)


def test_the_last_batch_may_be_smaller(session: tf.Session) -> None:
    # The batch of a list of one tensor is a tensor.
    batch = tf.train.batch([_numbers()], 4, allow_smaller_final_batch=True, name="rest")
    assert batch.op.name == "rest"
    assert batch.shape.as_list() == [None]
    assert [each.tolist() for each in _all_of(session, batch)] == [[0, 1, 2, 3], [4, 5]]


def test_elements_are_padded_to_the_largest(session: tf.Session) -> None:
    row = tf.fill([_numbers(limit=4)], 7)
    batch = tf.train.batch(row, 2, dynamic_pad=True)
    found = [each.tolist() for each in _all_of(session, batch)]
    assert found == [[[0], [7]], [[7, 7, 0], [7, 7, 7]]]


def test_rows_may_be_elements(session: tf.Session) -> None:
    number = _numbers(limit=2)
    rows = tf.stack([number * 10, number * 10 + 1])
    batch = tf.train.batch(rows, 3, enqueue_many=True)
    assert batch.shape.as_list() == [3]
    assert [each.tolist() for each in _all_of(session, batch)] == [[0, 1, 10]]


def test_elements_of_several_sources_are_joined(session: tf.Session) -> None:
    sources = [[_numbers()], [_numbers() + 100]]
    batch = tf.train.batch_join(sources, 4)
    found = [value for each in _all_of(session, batch) for value in each.tolist()]
    assert sorted(found) == [*range(6), *range(100, 106)]


@pytest.mark.parametrize(
    ("sources", "error", "message"),
    [
        ([], ValueError, "at least one set"),
        ([[1], [1, 2]], ValueError, "as many tensors"),
        ([[1], [1.0]], TypeError, "types to be consistent"),
        ([{"a": 1}, {"b": 1}], ValueError, "dictionary keys"),
        ([{"a": 1}, [1]], ValueError, "some are dictionaries"),
    ],
)
def test_sources_that_differ_are_refused(
    sources: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tf.train.batch_join(sources, 4)


def test_batches_of_shuffled_elements_have_all(session: tf.Session) -> None:
    number = _numbers(limit=20)
    batch = tf.train.shuffle_batch(
        [number], 5, capacity=20, min_after_dequeue=8, num_threads=2, seed=4
    )
    found = [value for each in _all_of(session, batch) for value in each.tolist()]
    assert sorted(found) == list(range(20))
    assert found != list(range(20))
    assert tf.get_collection(tf.GraphKeys.SUMMARIES)[-1].op.name.endswith("over_8_of_12_full")


def test_shuffled_sources_are_joined(session: tf.Session) -> None:
    batch = tf.train.shuffle_batch_join([[_numbers()], [_numbers()]], 3, 20, 4, seed=1)
    found = [value for each in _all_of(session, batch) for value in each.tolist()]
    assert sorted(found) == sorted([*range(6), *range(6)])


def test_only_what_is_kept_is_in_a_batch(session: tf.Session) -> None:
    number = _numbers()
    batch = tf.train.maybe_batch([number], tf.equal(number % 2, 1), 3)
    assert [each.tolist() for each in _all_of(session, batch)] == [[1, 3, 5]]


def test_rows_are_kept_one_by_one(session: tf.Session) -> None:
    number = _numbers(limit=3)
    rows = tf.stack([number, number + 10])
    batch = tf.train.maybe_batch([rows], tf.greater(rows, 1), 4, enqueue_many=True)
    assert [each.tolist() for each in _all_of(session, batch)] == [[10, 11, 2, 12]]


def test_what_is_kept_may_be_shuffled(session: tf.Session) -> None:
    number = _numbers(limit=8)
    keep = tf.equal(number % 2, 0)
    one = tf.train.maybe_shuffle_batch([number], 4, 20, 3, keep, seed=1)
    found = [sorted(each.tolist()) for each in _all_of(session, one)]
    assert found == [[0, 2, 4, 6]]


def test_what_is_kept_of_several_sources_is_joined(session: tf.Session) -> None:
    one, other = _numbers(), _numbers()
    keep = tf.placeholder_with_default(True, [])
    joined = tf.train.maybe_batch_join([[one], [other]], keep, 6)
    shuffled = tf.train.maybe_shuffle_batch_join([[_numbers()]], 6, 20, 3, keep, seed=1)
    with _running(session):
        assert len(session.run(joined)) == 6
        assert sorted(session.run(shuffled).tolist()) == list(range(6))


def test_a_choice_that_does_not_fit_is_refused() -> None:
    number = tf.constant([1, 2])
    for keep, many, message in (
        ([True, False], False, "cannot be a vector"),
        ([[True]], True, "0 or 1 dimensions"),
        (tf.placeholder(tf.bool), True, "must be known"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.train.maybe_batch([number], keep, 2, enqueue_many=many)
