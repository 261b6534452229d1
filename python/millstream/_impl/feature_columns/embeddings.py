"""Dense columns of categories: rows of a table that is learned, or a number for each category."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.feature_columns.categorical import WeightedColumn
from millstream._impl.feature_columns.column import (
    CategoricalColumn,
    DenseColumn,
    Features,
    Numbers,
    SequenceColumn,
    VariableOptions,
)
from millstream._impl.feature_columns.steps import (
    SequenceCategoricalColumn,
    lengths_of_steps,
    numbers_of_steps,
)
from millstream._impl.graph.arguments import (
    FLAG,
    FUNCTION,
    INTEGER,
    ITEMS,
    NUMBER,
    PATH,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.sparse_lookup import safe_embedding_lookup_sparse
from millstream._impl.ops import array_creation, reductions
from millstream._impl.ops.sparse_ops import sparse_tensor_to_dense
from millstream._impl.ops.sparse_places import sparse_merge
from millstream._impl.train.checkpoint_reader import init_from_checkpoint
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape
from millstream._impl.variables.initializers import TruncatedNormal
from millstream._impl.variables.variable_scope import get_variable


def _check_no_steps(name: str, column: CategoricalColumn) -> None:
    """ValueError where examples have steps and the layer has none."""
    if isinstance(column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {name}: categorical_column must not be of type _SequenceCategoricalColumn. "
            "Suggested fix A: If you wish to use input_layer, use a non-sequence "
            "categorical_column_with_*. Suggested fix B: If you wish to create sequence input, use "
            f"sequence_input_layer instead of input_layer. Given: {column!r}"
        )


def _numbers_of_steps(name: str, column: CategoricalColumn, features: Features) -> Numbers:
    """The numbers of a column whose examples have steps."""
    if not isinstance(column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {name}: categorical_column must be of type _SequenceCategoricalColumn to use "
            "sequence_input_layer. Suggested fix: Use one of sequence_categorical_column_with_*. "
            f"Given: {column!r}"
        )
    return numbers_of_steps(column, features)


@dataclasses.dataclass(frozen=True)
class _Table:
    """How a table is made, and how its rows are combined."""

    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    def variable(self, rows: int, scope: VariableOptions) -> Any:
        """The table, in the current scope of variables."""
        table = get_variable(
            "embedding_weights",
            [rows, self.dimension],
            dtypes.float32,
            self.initializer,
            trainable=self.trainable and scope.trainable,
            collections=scope.collections,
        )
        self.load(table)
        return table

    def load(self, table: Any) -> None:
        """Have it take its first value from a checkpoint, if there is one."""
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {str(self.tensor_name_in_ckpt): table})

    def rows(self, table: Any, numbers: Numbers, name: str) -> Tensor:
        """The rows of each example, combined."""
        return safe_embedding_lookup_sparse(
            table,
            numbers.ids,
            numbers.weights,
            self.combiner,
            name=f"{name}_weights",
            max_norm=self.max_norm,
        )


class _TableColumn(DenseColumn, SequenceColumn):
    """A column whose examples are rows of a table."""

    categorical_column: CategoricalColumn
    table: _Table

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A row."""
        return TensorShape([self.table.dimension])

    @property
    def dimension(self) -> int:
        """The size of a row."""
        return self.table.dimension

    def transform(self, features: Features) -> Any:
        """The numbers of the categories."""
        return features.get(self.categorical_column)

    def dense_tensor(self, features: Features, scope: VariableOptions) -> Tensor:
        """The rows of each example, combined to one."""
        _check_no_steps(f"embedding_column: {self.name}", self.categorical_column)
        numbers = self.categorical_column.numbers(features)
        return self._looked_up(numbers, scope)

    def sequence_tensor(self, features: Features, scope: VariableOptions) -> tuple[Tensor, Tensor]:
        """The rows of each step of each example, combined to one."""
        column = self.categorical_column
        numbers = _numbers_of_steps(f"embedding_column: {self.name}", column, features)
        return self._looked_up(numbers, scope), lengths_of_steps(numbers.ids)

    def _looked_up(self, numbers: Numbers, scope: VariableOptions) -> Tensor:
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(_TableColumn):
    """The column that `embedding_column` makes."""

    categorical_column: CategoricalColumn
    table: _Table

    @property
    def name(self) -> str:
        """The name of the categories, and what is done to them."""
        return f"{self.categorical_column.name}_embedding"

    def _looked_up(self, numbers: Numbers, scope: VariableOptions) -> Tensor:
        table = self.table.variable(self.categorical_column.num_buckets, scope)
        return self.table.rows(table, numbers, self.name)


def _checked_table(column: Any, table: _Table) -> _Table:
    """A table with its default initializer.

    Raises
    ------
    ValueError
        An argument does not fit.
    """
    if not isinstance(column, CategoricalColumn):
        raise ValueError(f"categorical_column must be a column of categories, got {column!r}")
    if table.dimension < 1:
        raise ValueError(f"Invalid dimension {table.dimension}.")
    if (table.ckpt_to_load_from is None) != (table.tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if table.initializer is not None:
        return table
    normal = TruncatedNormal(0.0, 1 / math.sqrt(table.dimension))
    return dataclasses.replace(table, initializer=normal)


@public("feature_column.embedding_column")
@takes(
    dimension=INTEGER,
    combiner=TEXT,
    initializer=FUNCTION,
    ckpt_to_load_from=or_none(PATH),
    tensor_name_in_ckpt=or_none(TEXT),
    max_norm=or_none(NUMBER),
    trainable=FLAG,
)
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """A dense column of categories: rows of a table that is learned.

    Its variable is ``embedding_weights``, in the scope of the column.

    Parameters
    ----------
    categorical_column
        The column of categories.
    dimension
        The size of a row.
    combiner
        How the rows of an example become one: "mean", "sqrtn" or "sum".
    initializer
        What the table starts from, by default truncated normal numbers of the deviation
        1 / sqrt(dimension).
    ckpt_to_load_from, tensor_name_in_ckpt
        A checkpoint, and the name of the tensor in it that the table starts from.
    max_norm
        What the norm of a row is clipped to.
    trainable
        Whether optimizers change the table.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 7)
    >>> rows = tf.feature_column.embedding_column(day, 2)
    >>> tf.feature_column.input_layer({"day": [[2], [6]]}, [rows]).shape.as_list()
    [2, 2]
    >>> tf.trainable_variables()[0].name
    'input_layer/day_embedding/embedding_weights:0'
    """
    table = _Table(
        int(dimension),
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    return EmbeddingColumn(categorical_column, _checked_table(categorical_column, table))


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(_TableColumn):
    """One of the columns that `shared_embedding_columns` makes."""

    categorical_column: CategoricalColumn
    table: _Table
    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        """The name of the categories, and what is done to them."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def scope_name(self) -> str:
        """The name of the table, which several columns have."""
        return self.shared_embedding_collection_name

    def _looked_up(self, numbers: Numbers, scope: VariableOptions) -> Tensor:
        graph = get_default_graph()
        collection = self.shared_embedding_collection_name
        found = graph.get_collection(collection)
        shape = [self.categorical_column.num_buckets, self.table.dimension]
        if len(found) > 1:
            raise ValueError(f"Collection {found} can only contain one variable.")
        if found:
            table = found[0]
            if table.shape.as_list() != shape:
                raise ValueError(
                    f"Shared embedding collection {collection} contains variable {table.name} of "
                    f"unexpected shape {table.shape}. Expected shape is {tuple(shape)}."
                )
            self.table.load(table)
        else:
            table = self.table.variable(shape[0], scope)
            graph.add_to_collection(collection, table)
        return self.table.rows(table, numbers, self.name)


@public("feature_column.shared_embedding_columns")
@takes(
    categorical_columns=ITEMS,
    dimension=INTEGER,
    combiner=TEXT,
    initializer=FUNCTION,
    shared_embedding_collection_name=or_none(TEXT),
    ckpt_to_load_from=or_none(PATH),
    tensor_name_in_ckpt=or_none(TEXT),
    max_norm=or_none(NUMBER),
    trainable=FLAG,
)
def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Dense columns of several columns of categories, which share one table.

    Parameters
    ----------
    categorical_columns
        The columns of categories, of one kind and one number of categories.
    dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
        As for `embedding_column`.
    shared_embedding_collection_name
        Name of the scope of the table and of the collection that holds it; by default made of the
        columns' names.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 7)
    >>> next_day = tf.feature_column.categorical_column_with_identity("next_day", 7)
    >>> both = tf.feature_column.shared_embedding_columns([day, next_day], 2)
    >>> features = {"day": [[2]], "next_day": [[3]]}
    >>> tf.feature_column.input_layer(features, both).shape.as_list()
    [1, 4]
    >>> [v.name for v in tf.trainable_variables()]
    ['input_layer/day_next_day_shared_embedding/embedding_weights:0']
    """
    columns = list(categorical_columns)
    if not columns:
        raise ValueError("categorical_columns must not be empty.")
    table = _Table(
        int(dimension),
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    for column in columns:
        table = _checked_table(column, table)
    kinds = {(type(_without_weights(one)), one.num_buckets) for one in columns}
    if len(kinds) > 1:
        raise ValueError(
            "To use shared_embedding_column, all categorical_columns must have the same type and "
            f"the same number of buckets. Given columns: {columns}"
        )
    names = "_".join(sorted(column.name for column in columns))
    collection = shared_embedding_collection_name or f"{names}_shared_embedding"
    return [SharedEmbeddingColumn(column, table, collection) for column in columns]


def _without_weights(column: CategoricalColumn) -> CategoricalColumn:
    return column.categorical_column if isinstance(column, WeightedColumn) else column


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(DenseColumn, SequenceColumn):
    """The column that `indicator_column` makes."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The name of the categories, and what is done to them."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A number for each category."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform(self, features: Features) -> Tensor:
        """How often each example has each category, or what it weighs."""
        return self._counted(self.categorical_column.numbers(features))

    def dense_tensor(self, features: Features, scope: VariableOptions) -> Tensor:
        """How often each example has each category, or what it weighs."""
        _check_no_steps(f"indicator_column: {self.name}", self.categorical_column)
        found: Tensor = features.get(self)
        return found

    def sequence_tensor(self, features: Features, scope: VariableOptions) -> tuple[Tensor, Tensor]:
        """How often each step of each example has each category."""
        column = self.categorical_column
        numbers = _numbers_of_steps(f"indicator_column: {self.name}", column, features)
        return self._counted(numbers), lengths_of_steps(numbers.ids)

    def _counted(self, numbers: Numbers) -> Tensor:
        count = self.categorical_column.num_buckets
        ids, weights = numbers
        if weights is None:
            places = sparse_tensor_to_dense(ids, -1)
            ones = array_creation.one_hot(places, count, 1.0, 0.0)
            return reductions.reduce_sum(ones, -2)
        weighed = sparse_merge(ids, weights, count)
        # A category without a number has the place -1, outside of the tensor.
        last = weighed.indices[:, -1]
        kept = gen_ops.where(gen_ops.greater_equal(last, array_creation.zeros_like(last)))
        places = gen_ops.gather_nd(weighed.indices, kept)
        values = gen_ops.gather_nd(weighed.values, kept)
        found: Tensor = gen_ops.scatter_nd(places, values, weighed.dense_shape)
        found.set_shape([None] * (ids.shape.ndims - 1) + [count] if ids.shape.ndims else None)
        return found


@public("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """A dense column of categories: for each category how often an example has it.

    Parameters
    ----------
    categorical_column
        The column of categories. Weights of a `weighted_categorical_column` are added up.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 3)
    >>> each = tf.feature_column.indicator_column(day)
    >>> tf.feature_column.input_layer({"day": [[2, 2, 0]]}, [each]).eval().tolist()
    [[1.0, 0.0, 2.0]]
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"categorical_column must be a column of categories, got {categorical_column!r}"
        )
    return IndicatorColumn(categorical_column)
