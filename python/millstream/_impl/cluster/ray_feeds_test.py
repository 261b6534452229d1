"""Feeds from the rows of Ray Data, which a list of rows stands for."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

ROWS = 5


class Rows:
    """What `feeds` uses of a dataset of Ray."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns

    def schema(self) -> Any:
        """The names of the columns; nothing is known where there are none."""
        return types.SimpleNamespace(names=list(self._columns)) if self._columns else None

    def iter_batches(
        self, batch_size: int, batch_format: str, drop_last: bool
    ) -> Iterator[dict[str, Any]]:
        """The rows in batches."""
        assert batch_format == "numpy"
        rows = len(next(iter(self._columns.values()), ()))
        end = rows - rows % batch_size if drop_last else rows
        for begin in range(0, end, batch_size):
            yield {
                name: column[begin : begin + batch_size] for name, column in self._columns.items()
            }


def _rows() -> Rows:
    return Rows(x=np.arange(ROWS), y=2 * np.arange(ROWS), other=np.zeros(ROWS))


def _placeholder() -> Any:
    return tf.placeholder(tf.float32, [None])


def _firsts(shard: Rows, **options: Any) -> Iterator[list[int]]:
    """The values of the column ``x`` in each batch."""
    x = _placeholder()
    for feed in tf.cluster.ray.feeds(shard, {x: "x"}, batch_size=2, **options):
        yield feed[x].tolist()


def test_a_step_is_fed_with_the_columns_of_its_placeholders() -> None:
    x, y = _placeholder(), _placeholder()
    total = tf.reduce_sum(x * y)
    with tf.Session() as session:
        totals = [
            session.run(total, feed)
            for feed in tf.cluster.ray.feeds(_rows(), {x: "x", y: "y"}, batch_size=3)
        ]
    assert totals == [10.0, 50.0]


def test_all_rows_are_given_once_an_epoch() -> None:
    epoch = [[0, 1], [2, 3], [4]]
    assert list(_firsts(_rows())) == epoch
    assert list(_firsts(_rows(), epochs=2)) == [*epoch, *epoch]
    assert list(_firsts(_rows(), epochs=0)) == []
    assert list(_firsts(_rows(), drop_remainder=True)) == epoch[:2]
    assert list(itertools.islice(_firsts(_rows(), epochs=None), 4)) == [*epoch, epoch[0]]


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected some of \['other', 'x', 'y'\], got \['z'\]"):
        tf.cluster.ray.feeds(_rows(), {_placeholder(): "z"}, batch_size=2)


# A worker whose part has no rows would wait for its first batch for ever.
def test_rows_that_fill_no_batch_are_no_end_of_batches() -> None:
    cases: list[tuple[Rows, dict[str, Any]]] = [
        (Rows(), {}),
        (Rows(x=np.zeros(1)), {"drop_remainder": True}),
    ]
    for shard, options in cases:
        assert list(_firsts(shard, **options)) == []
        with pytest.raises(ValueError, match="expected a batch of 2 rows at least, got none"):
            next(_firsts(shard, epochs=None, **options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected at least 1, got 0"),
        ({"epochs": -1}, "epochs: expected at least 0 or None, got -1"),
    ],
)
def test_numbers_out_of_range_are_named(arguments: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"batch_size": 1, **arguments}
    with pytest.raises(ValueError, match=message):
        tf.cluster.ray.feeds(_rows(), {_placeholder(): "x"}, **call)


def test_what_is_no_dataset_is_refused() -> None:
    with pytest.raises(TypeError, match="shard"):
        tf.cluster.ray.feeds([1, 2], {}, batch_size=1)
