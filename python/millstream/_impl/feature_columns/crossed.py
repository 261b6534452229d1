"""Columns of categories in all combinations."""

from __future__ import annotations

import dataclasses
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.feature_columns.categorical import HashedColumn
from millstream._impl.feature_columns.column import CategoricalColumn, Features
from millstream._impl.graph.arguments import INTEGER, ITEMS, or_none, takes
from millstream._impl.ops.features import VarLenFeature
from millstream._impl.ops.sparse_cross import cross_hashed
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """The column that `crossed_column` makes."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    def leaf_keys(self) -> list[Any]:
        """The names and columns that are crossed; those of a cross are its own."""
        found: list[Any] = []
        for key in self.keys:
            found += [key] if isinstance(key, str) else key.leaf_keys()
        return found

    @property
    def name(self) -> str:
        """The names of what is crossed, in order."""
        names = (key if isinstance(key, str) else key.name for key in self.leaf_keys())
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of what is crossed."""
        found: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                found[key] = VarLenFeature(dtypes.string)
            else:
                found.update(key.parse_example_spec)
        return found

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        """The hashes of all combinations in each example."""
        found = []
        for key in self.leaf_keys():
            if isinstance(key, str):
                found.append(features.get(key))
                continue
            ids, weights = key.numbers(features)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {key.name}"
                )
            found.append(ids)
        return cross_hashed(found, self.hash_bucket_size, self.hash_key)


@public("feature_column.crossed_column")
@takes(keys=ITEMS, hash_bucket_size=INTEGER, hash_key=or_none(INTEGER))
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column of all combinations of categories, one of each of several features.

    Parameters
    ----------
    keys
        Two or more, each the name of a feature of texts or integers, or a column of categories that
        has no hashes itself.
    hash_bucket_size
        How many hashes there are for combinations.
    hash_key
        What hashes begin with.

    Raises
    ------
    ValueError
        There are not two keys, or one of them cannot be crossed.

    Examples
    --------
    >>> place = tf.feature_column.crossed_column(["city", "street"], 100)
    >>> place.name, place.num_buckets
    ('city_X_street', 100)
    """
    found = tuple(keys)
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if len(found) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in found:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key!r}"
            )
        if isinstance(key, HashedColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key!r}"
            )
    return CrossedColumn(found, int(hash_bucket_size), hash_key)
