"""Strings: the case of letters, parts between separators, fields of records, encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    INTEGER,
    INTEGERS,
    LIST,
    TENSOR,
    TEXT,
    one_of,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes


@public("strings.lower")
@takes(input=TENSOR, encoding=TEXT)
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Each string with small letters.

    Parameters
    ----------
    input
        The strings.
    encoding
        "" for the letters of ASCII alone, or "utf-8" for all.
    name
        Name of the result.

    Examples
    --------
    >>> tf.strings.lower(["Abc"]).eval().tolist()
    [b'abc']
    """
    return gen_ops.string_lower(input, encoding, name)


@public("strings.upper")
@takes(input=TENSOR, encoding=TEXT)
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:  # noqa: A002
    """Each string with capital letters.

    Parameters
    ----------
    input
        The strings.
    encoding
        "" for the letters of ASCII alone, or "utf-8" for all.
    name
        Name of the result.

    Examples
    --------
    >>> tf.strings.upper(["Abc", "ß"], encoding="utf-8").eval().tolist()
    [b'ABC', b'SS']
    """
    return gen_ops.string_upper(input, encoding, name)


unsorted_segment_join = public("strings.unsorted_segment_join")(gen_ops.unsorted_segment_join)


@public("string_split")
@takes(source=TENSOR, sep=TEXT, delimiter=TEXT, result_type=TEXT)
def string_split(
    source: Any,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of strings between single characters.

    Parameters
    ----------
    source
        A vector of strings.
    sep
        The characters, each of which separates parts; by default a space. Every byte is a part if
        there are none.
    skip_empty
        Leave empty parts out.
    delimiter
        Old name of `sep`.
    result_type
        "SparseTensor" or "RaggedTensor".
    name
        Name of the result.

    Returns
    -------
    SparseTensor or RaggedTensor
        A row of parts for each string.

    Examples
    --------
    >>> tf.string_split(["a b", "c"]).values.eval().tolist()
    [b'a', b'b', b'c']
    """
    separators = one_of(sep, delimiter, "sep", "delimiter")
    _check_result_type(result_type)
    parts = gen_ops.string_split(
        source, " " if separators is None else separators, bool(skip_empty), name
    )
    if result_type == "SparseTensor":
        return SparseTensor(*parts)
    from millstream._impl.ops import string_rows  # lazy: ragged tensors, which few programs use

    return string_rows.rows_of_parts(SparseTensor(*parts))


@public("strings.split")
@takes(input=TENSOR, sep=TEXT, maxsplit=INTEGER, result_type=TEXT, source=TENSOR)
def split(
    input: Any = None,  # noqa: A002
    sep: str | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The parts of strings between separators.

    Parameters
    ----------
    input
        A vector of strings, or a single one; with "RaggedTensor" a tensor of any known rank.
    sep
        What separates parts; by default any space.
    maxsplit
        How often a string is split at most; not limited if it is negative.
    result_type
        "SparseTensor".
    source
        Other name of `input`.
    name
        Name of the result.

    Returns
    -------
    SparseTensor
        A row of parts for each string.

    Examples
    --------
    >>> tf.strings.split(["a<>b", "c"], sep="<>").values.eval().tolist()
    [b'a', b'b', b'c']
    >>> rows = tf.strings.split(["a b", "c"], result_type="RaggedTensor")
    >>> tf.get_default_session().run(rows).to_list()
    [[b'a', b'b'], [b'c']]
    """
    strings = one_of(input, source, "input", "source")
    if strings is None:
        raise ValueError("input: expected the strings")
    _check_result_type(result_type)
    separator = "" if sep is None else sep
    tensor = convert_to_tensor(strings, dtypes.string, "input")
    if tensor.shape.ndims == 0:
        tensor = gen_ops.reshape(tensor, [1])
    if result_type == "SparseTensor":
        return SparseTensor(*gen_ops.string_split_v2(tensor, separator, maxsplit, name))
    from millstream._impl.ops import string_rows  # lazy: ragged tensors, which few programs use

    return string_rows.split_in_rows(tensor, separator, maxsplit, name)


def _check_result_type(result_type: str) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(
            f"result_type: expected 'SparseTensor' or 'RaggedTensor', got {result_type!r}"
        )


unicode_script = public("strings.unicode_script")(gen_ops.unicode_script)


@public("strings.unicode_transcode")
@takes(
    input=TENSOR,
    input_encoding=TEXT,
    output_encoding=TEXT,
    errors=TEXT,
    replacement_char=INTEGER,
)
def unicode_transcode(
    input: Any,  # noqa: A002
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    r"""Strings in another encoding.

    Parameters
    ----------
    input
        The strings.
    input_encoding
        Their encoding, such as "UTF-8" or "ISO-8859-1".
    output_encoding
        "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors
        What becomes of bytes that are no character: "replace", "ignore", or "strict" for an error.
    replacement_char
        The code point that replaces them.
    replace_control_characters
        Whether characters below 32 are replaced, or left out, as well.
    name
        Name of the result.

    Examples
    --------
    >>> tf.strings.unicode_transcode(["é"], "UTF-8", "UTF-16-BE").eval().tolist()
    [b'\x00\xe9']
    """
    return gen_ops.unicode_transcode(
        input,
        input_encoding,
        output_encoding,
        errors,
        replacement_char,
        bool(replace_control_characters),
        name,
    )


@public("decode_csv", "io.decode_csv")
@takes(
    records=TENSOR,
    record_defaults=LIST,
    field_delim=TEXT,
    na_value=TEXT,
    select_cols=or_none(INTEGERS),
)
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of records that a character separates.

    Parameters
    ----------
    records
        The records, strings of any shape.
    record_defaults
        For each field a list with what an empty field is, which also says the type: float32,
        float64, int32, int64 or string. A field whose list is empty must be there.
    field_delim
        The character between fields.
    use_quote_delim
        Whether fields may be quoted.
    name
        Name of the results.
    na_value
        A text that is an empty field too.
    select_cols
        The numbers of the fields, in ascending order; by default all.

    Returns
    -------
    list of Tensor
        The values of each field, in the shape of `records`.

    Examples
    --------
    >>> numbers, words = tf.decode_csv(["1,a", ",b"], [[7], [""]])
    >>> numbers.eval().tolist(), words.eval().tolist()
    ([1, 7], [b'a', b'b'])
    """
    if not record_defaults:
        raise ValueError("record_defaults: expected a value for each field, got none")
    defaults = [convert_to_tensor(value, name="record_defaults") for value in record_defaults]
    kinds = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
    for value in defaults:
        if value.dtype not in kinds:
            raise TypeError(f"record_defaults: there are no fields of {value.dtype.name}")
    columns = [] if select_cols is None else [int(column) for column in select_cols]
    fields = gen_ops.decode_csv(
        records, defaults, field_delim, bool(use_quote_delim), na_value, columns, name
    )
    return list(fields)


@public("edit_distance")
@takes(hypothesis=TENSOR, truth=TENSOR)
def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """How many insertions, deletions and changes make one sequence of another.

    Parameters
    ----------
    hypothesis, truth
        Sparse tensors of one rank and type. The last dimension is that of the sequences.
    normalize
        Whether to divide by the length of the truth.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A float32 for each sequence.

    Examples
    --------
    >>> a = tf.SparseTensor([[0, 0], [0, 1]], ["x", "y"], [1, 2])
    >>> b = tf.SparseTensor([[0, 0], [0, 1]], ["x", "z"], [1, 2])
    >>> tf.edit_distance(a, b, normalize=False).eval().tolist()
    [1.0]
    """
    parts: list[Any] = []
    for argument, value in (("hypothesis", hypothesis), ("truth", truth)):
        if not isinstance(value, SparseTensor) and not isinstance(value, tuple):
            raise TypeError(f"{argument}: expected a SparseTensor, got {value!r}")
        sparse = SparseTensor.from_value(value)
        parts += [sparse.indices, sparse.values, sparse.dense_shape]
    return gen_ops.edit_distance(*parts, bool(normalize), name)
