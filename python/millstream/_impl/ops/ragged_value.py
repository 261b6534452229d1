"""The values of ragged tensors in a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.base.public import public


@public("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The value of a `RaggedTensor` in a step.

    Parameters
    ----------
    values
        An array, or the value of the rows inside of these rows.
    row_splits
        Where rows begin and end, one more than there are rows.

    Examples
    --------
    >>> value = tf.get_default_session().run(tf.ragged.constant([[1, 2], [], [3]]))
    >>> value.to_list(), value.row_splits.tolist()
    ([[1, 2], [], [3]], [0, 2, 2, 3])
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        if not (isinstance(row_splits, np.ndarray) and row_splits.dtype in (np.int64, np.int32)):
            raise TypeError(
                f"row_splits must be a 1D int32 or int64 numpy array, got {row_splits!r}"
            )
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError(f"values must be a numpy array or a RaggedTensorValue, got {values!r}")
        self._values = values
        self._row_splits = row_splits

    @property
    def values(self) -> Any:
        """What the rows are made of."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where rows begin and end."""
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The array inside of all rows."""
        values = self._values
        return values.flat_values if isinstance(values, RaggedTensorValue) else values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """Where the rows of each dimension begin and end, outermost first."""
        values = self._values
        inner = values.nested_row_splits if isinstance(values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions have rows of different lengths."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its sizes, None along ragged dimensions."""
        rows = self._row_splits.shape[0] - 1
        return (rows, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Its rows as nested lists."""
        inner = self._values
        items = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        pairs = zip(self._row_splits[:-1], self._row_splits[1:], strict=True)
        return [items[begin:end] for begin, end in pairs]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"


def value_of_parts(make: Any, parts: list[Any]) -> Any:
    """What `make` makes of flat values, then splits, outermost first."""
    result = parts[0]
    for splits in reversed(parts[1:]):
        result = make(result, splits)
    return result
