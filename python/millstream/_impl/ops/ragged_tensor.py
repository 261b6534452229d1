"""Ragged tensors: tensors whose rows have different lengths."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.stacks import session_or_default
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, check_ops, math_ops, ragged_slicing, reductions
from millstream._impl.ops.ragged_operators import RaggedArithmetic
from millstream._impl.ops.ragged_splits import are_nested, even, lengths_before, running
from millstream._impl.ops.ragged_value import RaggedTensorValue, value_of_parts
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


def _splits_tensor(value: Any, name: str) -> Tensor:
    """Integers as int64, or as int32 where they are."""
    tensor = convert_to_tensor(
        value, None if isinstance(value, (TensorLike, np.ndarray)) else dtypes.int64, name
    )
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name}: {name} must have dtype int32 or int64, got {tensor.dtype.name}")
    tensor.shape.assert_has_rank(1)
    return tensor


def _with_values(values: Any) -> Any:
    return values if isinstance(values, RaggedTensor) else convert_to_tensor(values, name="values")


def row_count(values: Any, dtype: DType) -> Any:
    """How many rows a tensor or a ragged tensor has."""
    if isinstance(values, RaggedTensor):
        return values.nrows(dtype)
    known = values.shape[0].value if values.shape.ndims else None
    return gen_ops.shape(values, out_type=dtype)[0] if known is None else known


def _checked(splits: Tensor, values: Any, validate: bool) -> Tensor:
    """The splits; a step fails where they do not fit the values."""
    if not validate:
        return splits
    known = constant_value(splits)
    if known is not None and (known.size == 0 or known[0] != 0 or (np.diff(known) < 0).any()):
        raise ValueError(
            f"row_splits: expected sorted integers that begin with 0, got {known.tolist()}"
        )
    rows = row_count(values, splits.dtype)
    checks = [
        check_ops.assert_equal(
            splits[0], 0, message="Arguments to from_row_splits do not form a valid RaggedTensor"
        ),
        check_ops.assert_non_negative(
            splits[1:] - splits[:-1],
            message="Arguments to from_row_splits do not form a valid RaggedTensor",
        ),
        check_ops.assert_equal(
            splits[-1],
            convert_to_tensor(rows, splits.dtype),
            message="Arguments to from_row_splits do not form a valid RaggedTensor",
        ),
    ]
    with scopes.control_dependencies([check for check in checks if check is not None]):
        return gen_ops.identity(splits)


@public("RaggedTensor")
class RaggedTensor(RaggedArithmetic):
    """A tensor whose rows have different lengths.

    It is made by its class methods and by the functions of `tf.ragged`, fetched as a
    `tf.ragged.RaggedTensorValue`, and fed with one. Arithmetic operators work element by element.

    Parameters
    ----------
    values, row_splits
        What the rows are made of, and where they begin and end.
    cached_row_lengths, cached_value_rowids, cached_nrows
        Not used.
    internal
        True, which only the package says: others use the class methods.

    Examples
    --------
    >>> x = tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
    >>> tf.get_default_session().run(x * 10).to_list()
    [[10, 20], [], [30]]
    >>> x[0].eval().tolist(), x.to_tensor().eval().tolist()
    ([1, 2], [[1, 2], [0, 0], [3, 0]])
    """

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        self._values = _with_values(values)
        self._row_splits = _splits_tensor(row_splits, "row_splits")

    # ---- Made of parts ----

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin and end at the splits, one more than there are rows.

        Parameters
        ----------
        values
            A tensor or a ragged tensor: what the rows are made of.
        row_splits
            Sorted integers from 0 to the number of values.
        name
            Name of the result.
        validate
            Whether a step checks the splits.
        """
        with scopes.name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            inner = _with_values(values)
            splits = _splits_tensor(row_splits, "row_splits")
            return cls(inner, _checked(splits, inner, validate), internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of these lengths. See `from_row_splits`."""
        with scopes.name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            lengths = _splits_tensor(row_lengths, "row_lengths")
            return cls.from_row_splits(values, running(lengths), validate=validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin at these values; the last one ends at the end. See `from_row_splits`."""
        with scopes.name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            inner = _with_values(values)
            starts = _splits_tensor(row_starts, "row_starts")
            last = convert_to_tensor(row_count(inner, starts.dtype), starts.dtype)
            splits = array_join.concat([starts, gen_ops.reshape(last, [1])], 0)
            return cls.from_row_splits(inner, splits, validate=validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that end at these values; the first one begins at 0. See `from_row_splits`."""
        with scopes.name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            limits = _splits_tensor(row_limits, "row_limits")
            splits = array_join.concat([convert_to_tensor([0], limits.dtype), limits], 0)
            return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of values whose numbers of rows are given, in order.

        Parameters
        ----------
        values
            A tensor or a ragged tensor.
        value_rowids
            Of each value the row that it is in.
        nrows
            How many rows there are; by default one more than the last number.
        name, validate
            See `from_row_splits`.
        """
        with scopes.name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            rowids = _splits_tensor(value_rowids, "value_rowids")
            checks = []
            if validate:
                checks.append(
                    check_ops.assert_non_negative(
                        rowids[1:] - rowids[:-1],
                        message="Arguments to from_value_rowids do not form a valid RaggedTensor",
                    )
                )
            if nrows is None:
                none = convert_to_tensor([-1], rowids.dtype)
                count = reductions.reduce_max(array_join.concat([none, rowids[-1:]], 0)) + 1
            else:
                count = math_ops.cast(nrows, rowids.dtype)
            with scopes.control_dependencies([check for check in checks if check is not None]):
                lengths = gen_ops.unsorted_segment_sum(gen_ops.ones_like(rowids), rowids, count)
            return cls.from_row_splits(values, running(lengths), validate=validate)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the splits of each dimension, outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the lengths of each dimension, outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows of rows, by the row of each value, outermost first."""
        counts = nested_nrows or [None] * len(nested_value_rowids)
        if len(counts) != len(nested_value_rowids):
            raise ValueError(
                "nested_nrows: nested_nrows must have the same length as nested_value_rowids"
            )
        with scopes.name_scope(name, "RaggedFromNestedValueRowIds"):
            result = flat_values
            for rowids, count in zip(nested_value_rowids[::-1], counts[::-1], strict=True):
                result = cls.from_value_rowids(result, rowids, count, validate=validate)
            return _ragged(result)

    @classmethod
    def _nested(
        cls, make: Any, flat_values: Any, nested: Any, name: str | None, validate: bool
    ) -> RaggedTensor:
        if isinstance(nested, TensorLike):
            raise TypeError(f"expected a list of tensors, one for each dimension, got {nested!r}")
        with scopes.name_scope(name, "RaggedFromNested"):
            result = flat_values
            for part in reversed(nested):
                result = make(result, part, validate=validate)
            return _ragged(result)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> RaggedTensor:
        """The rows of a tensor.

        Parameters
        ----------
        tensor
            A tensor of rank `ragged_rank` + 1 or more.
        lengths
            How many elements of each row are taken; by default all. A list of vectors has those of
            several dimensions, outermost first.
        padding
            What rows end with that is left out, in place of `lengths`.
        ragged_rank
            How many dimensions have rows.
        name
            Name of the result.
        row_splits_dtype
            int32 or int64.
        """
        dtype = dtypes.as_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if ragged_rank < 1:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        with scopes.name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            whole = convert_to_tensor(tensor, name="tensor")
            if are_nested(lengths):
                if ragged_rank not in (1, len(lengths)):
                    raise ValueError(
                        "lengths: If lengths is a tuple of row_lengths, then ragged_rank must be "
                        f"len(lengths), got {ragged_rank}"
                    )
                return cls._within(whole, lengths, dtype)
            whole.shape.with_rank_at_least(ragged_rank + 1)
            shape = gen_ops.shape(whole, out_type=dtype)
            inner = _joined_dims(whole, shape, ragged_rank)
            rows, columns = gen_ops.shape(inner, out_type=dtype)[0], shape[ragged_rank]
            if padding is not None:
                lengths = lengths_before(inner, padding, columns)
            if lengths is None:
                flat = _joined_dims(whole, shape, ragged_rank + 1)
                result = cls(flat, even(rows, columns), internal=True)
            else:
                given = math_ops.cast(convert_to_tensor(lengths, name="lengths"), dtype)
                taken = gen_ops.maximum(
                    gen_ops.minimum(given, columns), convert_to_tensor(0, dtype)
                )
                places = gen_ops.range(
                    convert_to_tensor(0, dtype), columns, convert_to_tensor(1, dtype)
                )
                mask = gen_ops.less(places, gen_ops.expand_dims(taken, 1))
                flat = gen_ops.gather_nd(inner, gen_ops.where(mask))
                result = cls(flat, running(taken), internal=True)
            for axis in range(ragged_rank - 1, 0, -1):
                count = gen_ops.prod(shape[:axis], [0])
                result = cls(result, even(count, shape[axis]), internal=True)
            return result

    @classmethod
    def _within(cls, whole: Tensor, lengths: Any, splits_dtype: DType) -> RaggedTensor:
        """The elements of a tensor that are within rows of nested lengths."""
        whole.shape.with_rank_at_least(len(lengths) + 1)
        rows = [math_ops.cast(_splits_tensor(one, "lengths"), splits_dtype) for one in lengths]
        inside = gen_ops.fill(
            gen_ops.reshape(reductions.reduce_sum(rows[-1]), [1]), convert_to_tensor(True)
        )
        mask = cls.from_nested_row_lengths(inside, rows, validate=False)
        found = gen_ops.gather_nd(whole, gen_ops.where(mask.to_tensor()))
        result: RaggedTensor = mask.with_flat_values(found)
        return result

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """The rows of a sparse matrix, whose elements are at the beginnings of rows.

        Parameters
        ----------
        st_input
            A `SparseTensor` of rank 2. A step fails where a row has a gap.
        name
            Name of the result.
        row_splits_dtype
            int32 or int64.
        """
        dtype = dtypes.as_dtype(row_splits_dtype)
        if not isinstance(st_input, SparseTensor):
            raise TypeError(f"st_input: Expected SparseTensor, got {type(st_input).__name__}")
        with scopes.name_scope(name, "RaggedFromSparse", [st_input.values]):
            st_input.shape.with_rank(2)
            rowids = math_ops.cast(st_input.indices[:, 0], dtype)
            count = math_ops.cast(st_input.dense_shape[0], dtype)
            result = cls.from_value_rowids(st_input.values, rowids, count)
            size = gen_ops.size(rowids, out_type=dtype)
            numbers = gen_ops.range(convert_to_tensor(0, dtype), size, convert_to_tensor(1, dtype))
            columns = numbers - gen_ops.gather_v2(result.row_splits, rowids, 0)
            check = check_ops.assert_equal(
                columns,
                math_ops.cast(st_input.indices[:, 1], dtype),
                message="SparseTensor is not right-ragged",
            )
            with scopes.control_dependencies([] if check is None else [check]):
                return cls(gen_ops.identity(result.values), result.row_splits, internal=True)

    # ---- Other forms ----

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """A tensor of the rows, which are filled to the length of the longest one.

        Parameters
        ----------
        default_value
            What they are filled with; by default zero or the empty text.
        name
            Name of the result.
        """
        with scopes.name_scope(name, "RaggedToTensor") as scope:
            if default_value is None:
                default_value = b"" if self.dtype == dtypes.string else False
                if self.dtype != dtypes.bool and self.dtype != dtypes.string:
                    default_value = 0
            filler = convert_to_tensor(default_value, self.dtype, "default_value")
            splits = list(self.nested_row_splits)
            return gen_ops.ragged_tensor_to_tensor(
                convert_to_tensor(-1, dtypes.int64), self.flat_values, filler, splits,
                ["ROW_SPLITS"] * len(splits), scope,
            )  # fmt: skip

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A sparse tensor of the elements."""
        with scopes.name_scope(name, "RaggedToSparse"):
            found = gen_ops.ragged_tensor_to_sparse(list(self.nested_row_splits), self.flat_values)
            return SparseTensor(*found)

    def to_list(self) -> NoReturn:
        """Raise ValueError: a tensor of a graph has no values."""
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
            "RaggedTensor first and then use RaggedTensorValue.to_list()"
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in one step, a `RaggedTensorValue`.

        Parameters
        ----------
        feed_dict
            Values of placeholders, as for `Session.run`.
        session
            The session, by default the default one.
        """
        return session_or_default(session, self.graph, "RaggedTensor.eval()").run(self, feed_dict)

    def as_tensor(self) -> NoReturn:
        """Raise TypeError: functions that take ragged tensors say so."""
        raise TypeError(
            f"{self!r} is ragged; a dense tensor is expected here\n"
            "  hint: to_tensor() makes one, tf.ragged.map_flat_values works on the elements"
        )

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values!r}, row_splits={self._row_splits!r})"

    # ---- As a structure, and what a session makes of it ----

    def _composite_parts(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _with_composite_parts(self, parts: list[Any]) -> RaggedTensor:
        return value_of_parts(RaggedTensor._of_parts, parts)

    @staticmethod
    def _of_parts(values: Any, splits: Any) -> RaggedTensor:
        return RaggedTensor(values, splits, internal=True)

    def _fed_parts(self, value: Any) -> list[Any]:
        """The values of its parts that a fed value has."""
        if not isinstance(value, RaggedTensorValue) or value.ragged_rank != self.ragged_rank:
            raise ValueError(
                f"feed_dict: expected a RaggedTensorValue of ragged rank {self.ragged_rank} for "
                f"{self!r}, got {value!r}"
            )
        return [value.flat_values, *value.nested_row_splits]

    def _fetched(self, parts: list[Any]) -> Any:
        return value_of_parts(RaggedTensorValue, parts)

    def __getitem__(self, key: Any) -> Any:
        return ragged_slicing.slice_ragged(self, key)


def _joined_dims(tensor: Tensor, shape: Tensor, count: int) -> Tensor:
    """A tensor with its first dimensions, so many, as one. They may be empty."""
    known = tensor.shape.as_list()[:count] if tensor.shape.ndims is not None else [None]
    if None in known:
        size = gen_ops.prod(shape[:count], [0], keep_dims=True)
    else:
        size = convert_to_tensor([math.prod(known)], shape.dtype)
    return gen_ops.reshape(tensor, array_join.concat([size, shape[count:]], 0))


def _ragged(result: Any) -> RaggedTensor:
    if not isinstance(result, RaggedTensor):
        raise ValueError("expected one ragged dimension or more, got none")
    return result
