"""Feeds of steps from the rows of a dataset of Ray Data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FLAG, INTEGER, MAPPING, Kind, or_none, takes

_SHARD = Kind("rows of Ray Data", lambda value: hasattr(value, "iter_batches"))


@public("cluster.ray.feeds")
@takes(
    shard=_SHARD,
    columns=MAPPING,
    batch_size=INTEGER,
    epochs=or_none(INTEGER),
    drop_remainder=FLAG,
)
def feeds(
    shard: Any,
    columns: Mapping[Any, str],
    batch_size: int,
    epochs: int | None = 1,
    drop_remainder: bool = False,
) -> Iterator[dict[Any, Any]]:
    """Give what steps are fed with, batch by batch, from rows of Ray Data.

    A worker that `run` has given its part of a dataset trains with it so::

        def train(task, shard):
            images = tf.placeholder(tf.float32, [None, 784])
            labels = tf.placeholder(tf.int64, [None])
            ...
            with tf.train.MonitoredTrainingSession(task.target, task.is_chief, ...) as session:
                columns = {images: "image", labels: "label"}
                for feed in tf.cluster.ray.feeds(shard, columns, batch_size=100, epochs=5):
                    session.run(step, feed)

    Parameters
    ----------
    shard
        A dataset or a data iterator of Ray Data.
    columns
        The name of the column that feeds each placeholder.
    batch_size
        How many rows a step gets.
    epochs
        How often all rows are given; None: without an end.
    drop_remainder
        Whether rows at the end of an epoch that do not fill a batch are left out.

    Returns
    -------
    Iterator
        The ``feed_dict`` of each step.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind, or the rows have no such column, or they fill no batch and
        there is no end.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size: expected at least 1, got {batch_size}")
    if epochs is not None and epochs < 0:
        raise ValueError(f"epochs: expected at least 0 or None, got {epochs}")
    schema = shard.schema()
    # Of a dataset without rows none may be known.
    known = [] if schema is None else sorted(schema.names)
    if known and (missing := sorted(set(columns.values()) - set(known))):
        raise ValueError(f"columns: expected some of {known}, got {missing}")
    return _feeds(shard, columns, batch_size, epochs, drop_remainder)


def _feeds(
    shard: Any,
    columns: Mapping[Any, str],
    batch_size: int,
    epochs: int | None,
    drop_remainder: bool,
) -> Iterator[dict[Any, Any]]:
    epoch = 0
    while epochs is None or epoch < epochs:
        is_empty = True
        for batch in shard.iter_batches(
            batch_size=batch_size, batch_format="numpy", drop_last=drop_remainder
        ):
            is_empty = False
            yield {tensor: batch[column] for tensor, column in columns.items()}
        if is_empty and epochs is None:
            raise ValueError(f"shard: expected a batch of {batch_size} rows at least, got none")
        epoch += 1
