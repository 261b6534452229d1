"""Layers that read columns: their examples side by side, and a linear model of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.feature_columns.column import (
    CategoricalColumn,
    Column,
    DenseColumn,
    Features,
    SequenceColumn,
    VariableOptions,
    checked_columns,
)
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FLAG, INTEGER, ITEMS, TEXT, Kind, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.sparse_lookup import safe_embedding_lookup_sparse
from millstream._impl.ops import array_join, array_ops, check_ops, math_ops
from millstream._impl.ops.sparse_layout import sparse_reshape
from millstream._impl.values import dtypes
from millstream._impl.variables.initializers import Zeros
from millstream._impl.variables.variable_scope import (
    get_variable,
    get_variable_scope,
    variable_scope,
)

_FEATURES = Kind("a dictionary of features", lambda value: isinstance(value, Mapping))
# What a layer notes for its caller.
_NOTES = or_none(Kind("a dictionary", lambda value: isinstance(value, dict)))
_COLLECTIONS = or_none(ITEMS)


def _options(weight_collections: Any, trainable: bool) -> VariableOptions:
    """The collections that the variables of a layer join."""
    collections = list(weight_collections or [])
    for always in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES):
        if always not in collections:
            collections.append(always)
    return VariableOptions(collections, trainable)


def _own_variables(name: str = "") -> list[Any]:
    """The variables in the current scope whose names start with `name`."""
    return get_default_graph().get_collection(
        GraphKeys.GLOBAL_VARIABLES, f"{get_variable_scope().name}/{name}"
    )


def _check_batches(tensors: Sequence[Tensor], columns: Sequence[Column]) -> None:
    """ValueError when columns have batches of different sizes, as far as known."""
    first: int | None = None
    for at, tensor in enumerate(tensors):
        size = tensor.shape[0].value
        if size is None:
            continue
        if first is None:
            first = at
        elif size != tensors[first].shape[0].value:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({columns[first].name}, {columns[at].name}): "
                f"({tensors[first].shape[0].value}, {size})"
            )


def _flat(tensor: Tensor, size: int) -> Tensor:
    """The examples of a column as vectors."""
    flat: Tensor = gen_ops.reshape(tensor, array_join.stack([array_ops.shape(tensor)[0], size]))
    return flat


def _size(column: Any) -> int:
    return int(column.variable_shape.num_elements())


@public("feature_column.input_layer")
@takes(
    features=_FEATURES,
    weight_collections=_COLLECTIONS,
    trainable=FLAG,
    cols_to_vars=_NOTES,
    cols_to_output_tensors=_NOTES,
)
def input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """The examples of dense columns side by side, in the order of the columns' names.

    Variables are in the scope ``input_layer``, each in that of its column.

    Parameters
    ----------
    features
        Tensors by name, such as `tf.parse_example` gives.
    feature_columns
        Dense columns: of numbers or of buckets, embeddings, indicators.
    weight_collections
        Further collections that the variables join.
    trainable
        Whether optimizers change the variables.
    cols_to_vars, cols_to_output_tensors
        Dictionaries that get the variables and the output of each column.

    Raises
    ------
    ValueError
        A column is not dense, two have one name, or a feature is missing.

    Examples
    --------
    >>> columns = [tf.feature_column.numeric_column("b"), tf.feature_column.numeric_column("a")]
    >>> tf.feature_column.input_layer({"a": [1.0, 2.0], "b": [3.0, 4.0]}, columns).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column!r}"
            )
    options = _options(weight_collections, trainable)
    outputs = []
    with variable_scope(None, "input_layer"):
        batch = Features(features)
        for column in columns:
            assert isinstance(column, DenseColumn)
            with variable_scope(None, column.scope_name):
                output = _flat(column.dense_tensor(batch, options), _size(column))
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = _own_variables()
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        _check_batches(outputs, columns)
        return array_join.concat(outputs, 1)


@public("feature_column.linear_model")
@takes(
    features=_FEATURES,
    units=INTEGER,
    sparse_combiner=TEXT,
    weight_collections=_COLLECTIONS,
    trainable=FLAG,
    cols_to_vars=_NOTES,
)
def linear_model(
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """A sum of the columns' examples, each with weights, and a bias.

    Variables are in the scope ``linear_model``: ``bias_weights``, and ``weights`` in the scope of
    each column.

    Parameters
    ----------
    features
        Tensors by name, such as `tf.parse_example` gives.
    feature_columns
        Columns, dense ones or of categories.
    units
        How many sums there are.
    sparse_combiner
        How the weights of an example's categories become one: "sum", "mean" or "sqrtn".
    weight_collections
        Further collections that the variables join.
    trainable
        Whether optimizers change the variables.
    cols_to_vars
        A dictionary that gets the variables of each column, and those of ``"bias"``.

    Raises
    ------
    ValueError
        A column is of another kind, two have one name, or a feature is missing.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 7)
    >>> tf.feature_column.linear_model({"day": [[2], [6]]}, [day]).shape.as_list()
    [2, 1]
    >>> [v.name for v in tf.trainable_variables()]
    ['linear_model/day/weights:0', 'linear_model/bias_weights:0']
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                f"Given: {column!r}"
            )
    options = _options(weight_collections, trainable)
    names = [_scope_outside(column) for column in columns]
    sums = []
    with variable_scope(None, "linear_model"):
        batch = Features(features)
        for column, name in zip(columns, names, strict=True):
            with variable_scope(name):
                sums.append(_weighted_sum(column, batch, units, sparse_combiner, options))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _own_variables()
        _check_batches(sums, columns)
        bias = _weights("bias_weights", [units], options)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _own_variables("bias_weights")
        total = math_ops.add_n(sums, name="weighted_sum_no_bias")
        result: Tensor = gen_ops.bias_add(total, bias, name="weighted_sum")
        return result


def _scope_outside(column: Column) -> str:
    """The name of a column's scope, made unique outside of the model, as checkpoints have it."""
    with variable_scope(None, column.scope_name, auxiliary_name_scope=False) as scope:
        return scope.name.rpartition("/")[2]


def _weights(name: str, shape: list[int], options: VariableOptions) -> Any:
    return get_variable(
        name,
        shape,
        dtypes.float32,
        Zeros(),
        trainable=options.trainable,
        collections=options.collections,
    )


def _weighted_sum(
    column: Column, batch: Features, units: int, combiner: str, options: VariableOptions
) -> Tensor:
    """The sum of a column's examples, each with its weights."""
    if not isinstance(column, CategoricalColumn):
        assert isinstance(column, DenseColumn)
        size = _size(column)
        weights = _weights("weights", [size, units], options)
        flat = _flat(column.dense_tensor(batch, options), size)
        found: Tensor = gen_ops.mat_mul(flat, weights, name="weighted_sum")
        return found
    ids, counts = column.numbers(batch)
    table = _weights("weights", [column.num_buckets, units], options)
    shape = array_join.stack([ids.dense_shape[0], -1])
    return safe_embedding_lookup_sparse(
        table,
        sparse_reshape(ids, shape),
        None if counts is None else sparse_reshape(counts, shape),
        combiner,
        name="weighted_sum",
    )


@public("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """The features that columns read of examples, as `tf.parse_example` takes them.

    Parameters
    ----------
    feature_columns
        The columns.

    Raises
    ------
    ValueError
        One is no column, or two read one feature in different ways.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 7)
    >>> tf.feature_column.make_parse_example_spec([day])
    {'day': VarLenFeature(dtype=tf.int64)}
    """
    found: dict[str, Any] = {}
    if not isinstance(feature_columns, Iterable):
        raise ValueError(f"feature_columns: expected a list of columns, got {feature_columns!r}")
    for column in feature_columns:
        if not isinstance(column, Column):
            raise ValueError(
                f"All feature_columns must be _FeatureColumn instances. Given: {column!r}"
            )
        for key, feature in column.parse_example_spec.items():
            if found.setdefault(key, feature) != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {feature} and {found[key]}"
                )
    return found


@public("contrib.feature_column.sequence_input_layer")
@takes(features=_FEATURES, weight_collections=_COLLECTIONS, trainable=FLAG)
def sequence_input_layer(
    features: Any, feature_columns: Any, weight_collections: Any = None, trainable: bool = True
) -> tuple[Tensor, Tensor]:
    """The examples of columns that have steps side by side, and how many steps each has.

    Variables are in the scope ``sequence_input_layer``, each in that of its column.

    Parameters
    ----------
    features, feature_columns, weight_collections, trainable
        As for `tf.feature_column.input_layer`; columns are `sequence_numeric_column`, and
        embeddings and indicators of sequence_categorical_column_with_*.

    Returns
    -------
    tuple
        A tensor of shape [batch, steps, ...], and the number of steps of each example.

    Examples
    --------
    >>> heat = tf.feature_column.sequence_numeric_column("heat")
    >>> given = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
    >>> layer, steps = tf.contrib.feature_column.sequence_input_layer({"heat": given}, [heat])
    >>> layer.eval().tolist(), steps.eval().tolist()
    ([[[1.0], [2.0]], [[3.0], [0.0]]], [2, 1])
    """
    columns = checked_columns(feature_columns)
    options = _options(weight_collections, trainable)
    outputs, lengths = [], []
    with variable_scope(None, "sequence_input_layer"):
        batch = Features(features)
        for column in columns:
            if not isinstance(column, SequenceColumn):
                raise ValueError(
                    "All feature_columns must be of type _SequenceDenseColumn. Given (type "
                    f"{type(column).__name__}): {column!r}"
                )
            with variable_scope(None, column.scope_name):
                tensor, steps = column.sequence_tensor(batch, options)
                sizes = array_ops.shape(tensor)
                shape = array_join.stack([sizes[0], sizes[1], _size(column)])
                outputs.append(gen_ops.reshape(tensor, shape))
                lengths.append(steps)
        _check_batches(outputs, columns)
        checks = [
            check_ops.assert_equal(lengths[0], other, message="Columns have different steps.")
            for other in lengths[1:]
        ]
        with scopes.control_dependencies(checks):
            return array_join.concat(outputs, 2), array_ops.identity(lengths[0])
