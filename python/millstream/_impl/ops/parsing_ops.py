"""Examples, which are messages in strings, as tensors of their features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, Kind, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import sparse_places
from millstream._impl.ops.features import (
    Columns,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    columns_of,
)
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes

_FEATURES = Kind("a dictionary of features", lambda value: isinstance(value, Mapping))
_OF_EXAMPLES = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)
_OF_CONTEXTS = (VarLenFeature, FixedLenFeature)
_OF_LISTS = (VarLenFeature, FixedLenSequenceFeature)


def _listed(outputs: Any) -> list[Tensor]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


class _Outputs:
    """The outputs of an op, taken one after the other."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        self._left = [tensor for output in outputs for tensor in _listed(output)]

    def take(self, count: int) -> list[Tensor]:
        """The next outputs."""
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    def features(self, columns: Columns) -> dict[str, Any]:
        """The tensors of the next columns: sparse ones, then dense ones."""
        count = len(columns.sparse)
        parts = zip(self.take(count), self.take(count), self.take(count), strict=True)
        sparse = {
            key: SparseTensor(*tensors) for key, tensors in zip(columns.sparse, parts, strict=True)
        }
        dense = self.take(len(columns.dense))
        named = {column.key: each for column, each in zip(columns.dense, dense, strict=True)}
        return {**sparse, **named}


def _merged(features: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The features by name: a `SparseFeature` is made of its places and its values."""
    result = {}
    for key, feature in features.items():
        if not isinstance(feature, SparseFeature):
            result[key] = found[key]
            continue
        several = isinstance(feature.index_key, (list, tuple))
        ids = [found[each] for each in feature.index_key] if several else found[feature.index_key]
        result[key] = sparse_places.sparse_merge(
            ids,
            found[feature.value_key],
            vocab_size=feature.size,
            already_sorted=bool(feature.already_sorted),
        )
    return result


def _names(example_names: Any) -> Tensor:
    given = [] if example_names is None else example_names
    return convert_to_tensor(given, dtypes.string, "names")


def _no_features(*features: Any) -> None:
    if not any(features):
        raise ValueError("Missing features.")


@public("parse_example", "io.parse_example")
@takes(serialized=TENSOR, features=or_none(_FEATURES), example_names=or_none(TENSOR))
def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The features of a batch of examples.

    Parameters
    ----------
    serialized
        A vector of strings, each an ``Example`` message.
    features
        By name, each a `FixedLenFeature`, `VarLenFeature`, `SparseFeature` or
        `FixedLenSequenceFeature`.
    name
        Name of the scope.
    example_names
        A vector of names of the examples, for messages.

    Returns
    -------
    dict
        By name, a `SparseTensor` of a `VarLenFeature` or `SparseFeature`, else a tensor. The first
        dimension is that of `serialized`.

    Raises
    ------
    ValueError
        There are no features, or one lacks something.
    InvalidArgumentError
        In a step: a string is no message, a feature that must be there is not, or it has another
        type or number of values.

    Examples
    --------
    >>> from millstream.train import Example, Feature, Features, Int64List
    >>> n = Feature(int64_list=Int64List(value=[5]))
    >>> text = Example(features=Features(feature={"n": n})).SerializeToString()
    >>> tf.parse_example([text, text], {"n": tf.FixedLenFeature([], tf.int64)})["n"].eval().tolist()
    [5, 5]
    """
    _no_features(features)
    columns = columns_of(features, _OF_EXAMPLES, batched=True)
    with scopes.name_scope(name, "ParseExample", [serialized, example_names]):
        outputs = gen_ops.parse_example(
            convert_to_tensor(serialized, dtypes.string, "serialized"),
            _names(example_names),
            list(columns.sparse),
            [column.key for column in columns.dense],
            [column.default_tensor() for column in columns.dense],
            sparse_types=list(columns.sparse.values()),
            dense_shapes=[column.shape for column in columns.dense],
            name="ParseExample",
        )
        return _merged(features, _Outputs(outputs).features(columns))


@public("parse_single_example", "io.parse_single_example")
@takes(serialized=TENSOR, features=or_none(_FEATURES), example_names=or_none(TENSOR))
def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The features of one example.

    Parameters
    ----------
    serialized
        A string, an ``Example`` message.
    features, name
        As for `parse_example`.
    example_names
        The name of the example, for messages.

    Returns
    -------
    dict
        As of `parse_example`, without the first dimension.

    Raises
    ------
    ValueError, InvalidArgumentError
        As of `parse_example`.

    Examples
    --------
    >>> from millstream.train import BytesList, Example, Feature, Features
    >>> words = Feature(bytes_list=BytesList(value=[b"a", b"b"]))
    >>> text = Example(features=Features(feature={"words": words})).SerializeToString()
    >>> found = tf.parse_single_example(text, {"words": tf.VarLenFeature(tf.string)})
    >>> found["words"].values.eval().tolist()
    [b'a', b'b']
    """
    _no_features(features)
    if example_names is not None:
        return _one_of_a_batch(serialized, features, name, example_names)
    columns = columns_of(features, _OF_EXAMPLES, batched=True)
    with scopes.name_scope(name, "ParseSingleExample", [serialized]):
        outputs = gen_ops.parse_single_example(
            convert_to_tensor(serialized, dtypes.string, "serialized"),
            [column.default_tensor() for column in columns.dense],
            num_sparse=len(columns.sparse),
            sparse_keys=list(columns.sparse),
            dense_keys=[column.key for column in columns.dense],
            sparse_types=list(columns.sparse.values()),
            dense_shapes=[column.shape for column in columns.dense],
            name="ParseSingleExample",
        )
        return _merged(features, _Outputs(outputs).features(columns))


def _one_of_a_batch(serialized: Any, features: Any, name: str | None, example_name: Any) -> Any:
    """The features of an example with a name, which a batch alone can have."""
    with scopes.name_scope(name, "ParseSingleExample", [serialized, example_name]):
        one = convert_to_tensor(serialized, dtypes.string, "serialized")
        name_of_one = convert_to_tensor(example_name, dtypes.string, "example_names")
        batch = parse_example(
            gen_ops.expand_dims(one, 0),
            features,
            example_names=gen_ops.expand_dims(name_of_one, 0),
        )
        return {key: _without_batch(value) for key, value in batch.items()}


def _without_batch(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
    return gen_ops.squeeze(value, [0])


@public("parse_single_sequence_example", "io.parse_single_sequence_example")
@takes(
    serialized=TENSOR,
    context_features=or_none(_FEATURES),
    sequence_features=or_none(_FEATURES),
    example_name=or_none(TENSOR),
)
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of an example with sequences: those of the whole, and those of each step.

    Parameters
    ----------
    serialized
        A string, a ``SequenceExample`` message.
    context_features
        Features of the whole by name, each a `FixedLenFeature` or `VarLenFeature`.
    sequence_features
        Features of steps by name, each a `FixedLenSequenceFeature` or `VarLenFeature`.
    example_name
        The name of the example, for messages.
    name
        Name of the scope.

    Returns
    -------
    tuple of dict
        The features of the whole, and those of the steps, which have a dimension for these. Of a
        `VarLenFeature` it is a `SparseTensor`.

    Raises
    ------
    ValueError, InvalidArgumentError
        As of `parse_example`.

    Examples
    --------
    >>> from millstream.train import Feature, FeatureList, FeatureLists, Int64List, SequenceExample
    >>> steps = [Feature(int64_list=Int64List(value=[value])) for value in (3, 4)]
    >>> lists = FeatureLists(feature_list={"steps": FeatureList(feature=steps)})
    >>> text = SequenceExample(feature_lists=lists).SerializeToString()
    >>> spec = {"steps": tf.FixedLenSequenceFeature([], tf.int64)}
    >>> tf.parse_single_sequence_example(text, None, spec)[1]["steps"].eval().tolist()
    [3, 4]
    """
    _no_features(context_features, sequence_features)
    context = columns_of(context_features, _OF_CONTEXTS, batched=False)
    lists = columns_of(sequence_features, _OF_LISTS, batched=False)
    with scopes.name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        outputs = gen_ops.parse_single_sequence_example(
            convert_to_tensor(serialized, dtypes.string, "serialized"),
            convert_to_tensor(_may_miss(lists), dtypes.string),
            list(context.sparse),
            [column.key for column in context.dense],
            list(lists.sparse),
            [column.key for column in lists.dense],
            [column.default_tensor() for column in context.dense],
            "" if example_name is None else example_name,
            **_sequence_attrs(context, lists),
            name="ParseSingleSequenceExample",
        )
        taken = _Outputs(outputs)
        return taken.features(context), taken.features(lists)


def _may_miss(lists: Columns) -> list[str]:
    return [column.key for column in lists.dense if column.may_miss]


def _sequence_attrs(context: Columns, lists: Columns) -> dict[str, Any]:
    """The attributes that both ops on sequences have."""
    return {
        "context_sparse_types": list(context.sparse.values()),
        "context_dense_shapes": [column.shape for column in context.dense],
        "feature_list_dense_types": [column.dtype for column in lists.dense],
        "feature_list_sparse_types": list(lists.sparse.values()),
        "feature_list_dense_shapes": [column.shape for column in lists.dense],
    }


@public("io.parse_sequence_example")
@takes(
    serialized=TENSOR,
    context_features=or_none(_FEATURES),
    sequence_features=or_none(_FEATURES),
    example_names=or_none(TENSOR),
)
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """The features of a batch of examples with sequences.

    Parameters
    ----------
    serialized
        A vector of strings, each a ``SequenceExample`` message.
    context_features, sequence_features, name
        As for `parse_single_sequence_example`.
    example_names
        A vector of names of the examples, for messages.

    Returns
    -------
    tuple of dict
        As of `parse_single_sequence_example`, with a dimension for the batch in front. Dense
        features of steps are padded with zeros; the third dictionary has how many steps each
        example has.

    Raises
    ------
    ValueError, InvalidArgumentError
        As of `parse_example`.

    Examples
    --------
    >>> from millstream.train import Feature, FeatureList, FeatureLists, Int64List, SequenceExample
    >>> steps = [Feature(int64_list=Int64List(value=[value])) for value in (3, 4)]
    >>> lists = FeatureLists(feature_list={"steps": FeatureList(feature=steps)})
    >>> text = SequenceExample(feature_lists=lists).SerializeToString()
    >>> spec = {"steps": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    >>> _, found, lengths = tf.io.parse_sequence_example([text, b""], None, spec)
    >>> found["steps"].eval().tolist(), lengths["steps"].eval().tolist()
    ([[3, 4], [0, 0]], [2, 0])
    """
    _no_features(context_features, sequence_features)
    context = columns_of(context_features, _OF_CONTEXTS, batched=False)
    lists = columns_of(sequence_features, _OF_LISTS, batched=False)
    with scopes.name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        outputs = gen_ops.parse_sequence_example(
            convert_to_tensor(serialized, dtypes.string, "serialized"),
            _names(example_names),
            [column.default_tensor() for column in context.dense],
            feature_list_dense_missing_assumed_empty=_may_miss(lists),
            context_sparse_keys=list(context.sparse),
            context_dense_keys=[column.key for column in context.dense],
            feature_list_sparse_keys=list(lists.sparse),
            feature_list_dense_keys=[column.key for column in lists.dense],
            Ncontext_sparse=len(context.sparse),
            Ncontext_dense=len(context.dense),
            Nfeature_list_sparse=len(lists.sparse),
            Nfeature_list_dense=len(lists.dense),
            **_sequence_attrs(context, lists),
            name="ParseSequenceExample",
        )
        taken = _Outputs(outputs)
        of_whole, of_steps = taken.features(context), taken.features(lists)
        lengths = taken.take(len(lists.dense))
        return (
            of_whole,
            of_steps,
            {column.key: each for column, each in zip(lists.dense, lengths, strict=True)},
        )
