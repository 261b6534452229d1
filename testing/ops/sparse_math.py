"""Arithmetic on sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.products import multiplied
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, positive, spread, with_arguments
from testing.ops.support.inputs import INDEX_TYPES, normalized
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    checked_size,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
    ulps,
)
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.sparse import (
    Index,
    drawn_shape,
    read_sparse,
    sparse_inputs,
    sparse_outputs,
)

_COUNTED = {Property.STATIC_SHAPE: "elements are counted in the step"}
_ONE_THREAD = NotTested("computes each element, on one thread")
_INDEX = ([[0, 1], [0, 3], [2, 0], [2, 2]], [[0, 1], [1, 0], [2, 2]])
_A, _B = (np.array(places, np.int64) for places in _INDEX)
_SHAPE: Array = np.array([3, 4], np.int64)
_COMPUTED = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    *number_types.INTEGERS,
)


def _type(source: Source, op: Any) -> str:
    dtype = pick_type(source, op, "T")
    return dtype if dtype in _COMPUTED else "int32"


def _stored(values: Any, case: Case, i: int = 1) -> Array:
    """Numbers as a tensor of the type of an input."""
    dtype = case.inputs[i].dtype
    with np.errstate(all="ignore"):
        return number_types.from_numbers(np.asarray(values), dtype)


# ---- SparseAdd, SparseAddGrad, SparseSparseMaximum, SparseSparseMinimum ----


def _merged(a: list[Index], b: list[Index]) -> list[tuple[int, int]]:
    """The elements of two lists that are in order, in pairs; -1 where one has none."""
    pairs, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        first = j == len(b) or (i < len(a) and a[i] <= b[j])
        second = i == len(a) or (j < len(b) and b[j] <= a[i])
        pairs.append((i if first else -1, j if second else -1))
        i, j = i + first, j + second
    return pairs


def _make_pair(source: Source, op: Any) -> Case:
    dtype = _type(source, op)
    shape = drawn_shape(source)
    other = shape if source.chance(0.95) else (*shape[:-1], shape[-1] + 1)
    style = source.pick(("small", "plain"))
    inputs = sparse_inputs(source, dtype, shape, style, faults=0.05)
    inputs += sparse_inputs(source, dtype, other, style, faults=0.05)
    attrs = {"T": type_attr(dtype)}
    if op.name == "SparseAdd":
        real = number_types.real_type(dtype)
        if source.chance(0.03):
            real = "float32" if real != "float32" else "float64"
        least = np.array(source.pick((0, 0, 1, 3)), number_types.stored_type(real))
        inputs.append(Input(real, number_types.from_numbers(least, real)))
        attrs["Treal"] = type_attr(real)
    return Case(op.name, inputs, attrs)


def _pair(case: Case, *, bounded: bool = False) -> Any:
    a = read_sparse(case, 0, "a_", in_order=False, bounded=bounded)
    b = read_sparse(case, 3, "b_", in_order=False, bounded=bounded)
    refuse_unless(a.shape == b.shape, "b_shape")
    return a, b


def _places(a: Any, b: Any, pairs: list[tuple[int, int]]) -> list[Index]:
    return [a.indices[i] if i >= 0 else b.indices[j] for i, j in pairs]


def _add(case: Case) -> Outcome:
    a, b = _pair(case)
    real = number_types.real_type(case.inputs[1].dtype)
    refuse_unless(case.inputs[6].dtype == real, "thresh")
    x, y, least = numbers(case, 1), numbers(case, 4), numbers(case, 6)
    kept, sums = [], []
    with np.errstate(all="ignore"):
        for i, j in _merged(a.indices, b.indices):
            if i < 0 or j < 0:
                total = x[i] if i >= 0 else y[j]
            else:
                whole = _stored(np.add(x[i : i + 1], y[j : j + 1]), case)
                total = number_types.as_numbers(whole, case.inputs[1].dtype)[0]
                if np.abs(total) < least[()]:
                    continue
            kept.append((i, j))
            sums.append(total)
    values = _stored(np.array(sums, x.dtype).reshape(len(sums)), case)
    return sparse_outputs(_places(a, b, kept), values, a.shape)


def _extreme(case: Case) -> Outcome:
    a, b = _pair(case, bounded=True)
    x, y = numbers(case, 1), numbers(case, 4)
    pairs = _merged(a.indices, b.indices)
    zero = np.zeros((), x.dtype)
    left = np.array([x[i] if i >= 0 else zero for i, _ in pairs], x.dtype)
    right = np.array([y[j] if j >= 0 else zero for _, j in pairs], x.dtype)
    function = np.maximum if case.op == "SparseSparseMaximum" else np.minimum
    values = _stored(function(left, right).reshape(len(pairs)), case)
    return sparse_outputs(_places(a, b, pairs), values, a.shape)[:2]


def _extreme_checks(op: str) -> list[Check]:
    return [
        Check(
            lambda a, b: function_of(op)(*(_A, a, _SHAPE), *(_B, b, _SHAPE))[1],
            (spread("a", 4), spread("b", 3)),
        )
    ]


def _make_ordered_pair(source: Source, op: Any) -> Case:
    case = _make_pair(source, op)
    if case.inputs[1].dtype.startswith("complex"):
        case.inputs[1], case.inputs[4] = (
            Input("float32", source.values("float32", np.shape(case.array(i)), "small"))
            for i in (1, 4)
        )
        case.attrs["T"] = type_attr("float32")
    return case


define_tests(
    "SparseAdd",
    cases=_make_pair,
    reference=_add,
    gradient=[
        Check(
            lambda a, b: gen_ops.sparse_add(*(_A, a, _SHAPE), *(_B, b, _SHAPE), np.float64(0))[1],
            (spread("a", 4), spread("b", 3)),
        )
    ],
    determinism=_ONE_THREAD,
    exceptions=_COUNTED,
)
define_tests(
    ["SparseSparseMaximum", "SparseSparseMinimum"],
    cases=_make_ordered_pair,
    reference=_extreme,
    gradient=_extreme_checks,
    determinism=_ONE_THREAD,
    exceptions=_COUNTED,
)


def _make_add_grad(source: Source, op: Any) -> Case:
    dtype = _type(source, op)
    shape = drawn_shape(source)
    places = [sparse_inputs(source, dtype, shape, faults=0.05)[0] for _ in range(2)]
    known = {tuple(row) for one in places for row in np.asarray(one.value).tolist()}
    total = sorted(index for index in known if source.chance(0.8))
    sums: Array = np.array(total, np.int64).reshape(len(total), len(shape))
    count = len(total) + int(source.chance(0.05))
    gradient = Input(dtype, source.values(dtype, (count,)))
    return Case(op.name, [gradient, *places, Input("int64", sums)], {"T": type_attr(dtype)})


def _add_grad(case: Case) -> Outcome:
    gradient, sums = case.array(0), [tuple(row) for row in case.array(3).tolist()]
    refuse_unless(gradient.shape == (len(sums),), "backprop_val_grad")
    found = []
    for i in (1, 2):
        places = [tuple(row) for row in case.array(i).tolist()]
        result = np.zeros(len(places), gradient.dtype)
        for k, j in _merged(places, sums):
            if k >= 0 and j >= 0:
                result[k] = gradient[j]
        found.append(result)
    return found


_UNION: Array = np.array([[0, 1], [0, 3], [1, 0], [2, 0], [2, 2]], np.int64)
define_tests(
    "SparseAddGrad",
    cases=_make_add_grad,
    reference=_add_grad,
    gradient=[
        # The sum may lack places where two values add up to little.
        Check(
            lambda dy, places=places: list(gen_ops.sparse_add_grad(dy, _A, _B, places)),
            (spread("sums", len(places)),),
        )
        for places in (_UNION, _UNION[1:])
    ],
    determinism=_ONE_THREAD,
)

# ---- With dense tensors ----


def _make_dense_add(source: Source, op: Any) -> Case:
    dtype, index = _type(source, op), source.pick(INDEX_TYPES)
    shape = drawn_shape(source)
    places, values, sizes = sparse_inputs(
        source, dtype, shape, "small", index_type=index, in_order=False, faults=0.08
    )
    assert sizes.value is not None
    sizes = Input(index, sizes.value.astype(index))
    dense = Input(dtype, source.values(dtype, shape if source.chance(0.95) else (2,), "small"))
    attrs = {"T": type_attr(dtype), "Tindices": type_attr(index)}
    return Case(op.name, [places, values, sizes, dense], attrs)


def _dense_add(case: Case) -> Outcome:
    places, values, sizes = case.array(0), numbers(case, 1), case.array(2)
    dense = numbers(case, 3)
    refuse_unless(tuple(int(size) for size in sizes) == dense.shape, "a_shape")
    refuse_unless(places.shape == (len(values), dense.ndim), "a_indices")
    result = dense.copy()
    with np.errstate(all="ignore"):
        for row, value in zip(places.tolist(), values, strict=True):
            inside = all(0 <= i < size for i, size in zip(row, dense.shape, strict=True))
            refuse_unless(inside, "a_indices")
            result[tuple(row)] += value
    return [_stored(result, case)]


define_tests(
    "SparseTensorDenseAdd",
    cases=_make_dense_add,
    reference=_dense_add,
    gradient=[
        Check(
            lambda v, d: gen_ops.sparse_tensor_dense_add(_A, v, _SHAPE, d),
            (spread("v", 4), spread("d", 3, 4)),
        )
    ],
    determinism=_ONE_THREAD,
)


def _make_cwise(source: Source, op: Any) -> Case:
    dtype = _type(source, op)
    shape = drawn_shape(source)
    own = tuple(1 if source.chance(0.3) else size for size in shape)
    own = own[source.integer(0, len(own)) if source.chance(0.3) else 0 :]
    if source.chance(0.05):
        own = (2, *own)
    dense = source.values(dtype, own, "small")
    if op.name == "SparseDenseCwiseDiv" and source.chance(0.8):
        shown = number_types.as_numbers(dense, dtype)
        dense = number_types.from_numbers(np.where(shown == 0, 1, shown).astype(shown.dtype), dtype)
    inputs = sparse_inputs(source, dtype, shape, "small", faults=0.06)
    return Case(op.name, [*inputs, Input(dtype, dense)], {"T": type_attr(dtype)})


def _quotient(x: Array, y: Array) -> Array:
    if np.issubdtype(x.dtype, np.inexact):
        return np.divide(x, y)
    refuse_unless((y != 0).all(), "dense")
    sizes = np.floor_divide(np.abs(x.astype(object)), np.abs(y.astype(object)))
    signs = np.sign(x.astype(object)) * np.sign(y.astype(object))
    return np.array(sizes * signs, object).reshape(x.shape).astype(x.dtype)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "SparseDenseCwiseAdd": np.add,
    "SparseDenseCwiseMul": np.multiply,
    "SparseDenseCwiseDiv": _quotient,
}


def _cwise(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "sp_", in_order=False)
    dense = numbers(case, 3)
    fits = dense.ndim <= len(sparse.shape) and all(
        size in (1, whole)
        for size, whole in zip(dense.shape[::-1], sparse.shape[::-1], strict=False)
    )
    refuse_unless(fits, "dense")
    whole = np.broadcast_to(dense, sparse.shape)
    taken = np.array([whole[index] for index in sparse.indices], dense.dtype)
    x, dtype = numbers(case, 1), case.inputs[1].dtype
    with np.errstate(all="ignore"):
        taken = taken.reshape(len(x))
        if dtype.startswith("complex"):
            exact = _FUNCTIONS[case.op](longer(x), longer(taken))
            return [Near(exact, np.abs(exact) * 8 * number_types.epsilon(dtype),
                         ~np.isfinite(exact))]  # fmt: skip
        return [_stored(_FUNCTIONS[case.op](x, taken).astype(x.dtype), case)]


def _cwise_checks(op: str) -> list[Check]:
    function = function_of(op)
    return [
        Check(lambda v, d: function(_A, v, _SHAPE, d), (spread("v", 4), positive("d", *shape)))
        for shape in ((3, 4), (4,), (3, 1), ())
    ]


define_tests(
    list(_FUNCTIONS),
    cases=_make_cwise,
    reference=_cwise,
    gradient=_cwise_checks,
    determinism=_ONE_THREAD,
)

# ---- Products ----


def _make_product(source: Source, op: Any) -> Case:
    dtype = source.pick(
        ("float32", "float64", "float16", "bfloat16", "int32", "complex64", "complex128")
    )
    index = source.pick(INDEX_TYPES)
    rows, inner, columns = (source.size(5) for _ in range(3))
    adjoint = [source.chance(0.5) for _ in range(2)]
    shape = (inner, rows) if adjoint[0] else (rows, inner)
    dense: tuple[int, ...] = (columns, inner) if adjoint[1] else (inner, columns)
    if source.chance(0.05):
        dense = source.pick(((inner + 1, columns), (inner,), (1, inner, columns)))
    style = source.pick(("small", "plain"))
    inputs = sparse_inputs(
        source, dtype, shape, style, index_type=index, in_order=False, faults=0.08
    )
    inputs.append(Input(dtype, source.values(dtype, dense, style)))
    attrs = {
        "T": type_attr(dtype),
        "Tindices": type_attr(index),
        "adjoint_a": attr_text(adjoint[0]),
        "adjoint_b": attr_text(adjoint[1]),
    }
    return Case(op.name, inputs, attrs)


def _product(case: Case) -> Outcome:
    places, values, sizes, b = case.array(0), numbers(case, 1), case.array(2), numbers(case, 3)
    shape = checked_size([int(size) for size in sizes], "a_shape")
    refuse_unless(len(shape) == 2, "a_shape")
    refuse_unless(places.shape == (len(values), 2), "a_indices")
    refuse_unless(b.ndim == 2, "b")
    dtype = case.inputs[1].dtype
    exact = number_types.is_inexact(dtype)
    a = np.zeros(shape, longer(values).dtype if exact else values.dtype)
    scale = np.zeros(shape, a.dtype)
    for (row, column), value in zip(places.tolist(), values, strict=True):
        refuse_unless(0 <= row < shape[0] and 0 <= column < shape[1], "a_indices")
        a[row, column] += value
        scale[row, column] += np.abs(value)
    left = [np.conj(x).T if case.attr("adjoint_a") else x for x in (a, scale)]
    right = np.conj(b).T if case.attr("adjoint_b") else b
    refuse_unless(left[0].shape[1] == right.shape[0], "b")
    if not exact:
        return [np.matmul(left[0], right)]
    near = multiplied(left[0], longer(right), dtype)
    bound = np.matmul(np.abs(left[1]), np.abs(longer(right)))
    return [summed(near.value, bound, 2 * len(values) + 4, dtype)]


def _product_checks(op: str) -> list[Check]:
    found = []
    for adjoint_a in (False, True):
        for adjoint_b in (False, True):
            inner = 3 if adjoint_a else 4
            shape = (2, inner) if adjoint_b else (inner, 2)

            def product(
                v: Any, b: Any, adjoint_a: bool = adjoint_a, adjoint_b: bool = adjoint_b
            ) -> Any:
                return gen_ops.sparse_tensor_dense_mat_mul(_A, v, _SHAPE, b, adjoint_a, adjoint_b)

            found.append(Check(product, (spread("v", 4), spread("b", *shape))))
    return found


def _large_products(values: Values) -> Any:
    rows = np.random.RandomState(3).randint(0, 300, (5000, 2)).astype(np.int64)
    v, b = values.of(5000), values.of(300, 200)
    size = np.array([300, 300], np.int64)
    return [
        gen_ops.sparse_tensor_dense_mat_mul(rows, v, size, b, adjoint) for adjoint in (False, True)
    ]


define_tests(
    "SparseTensorDenseMatMul",
    cases=_make_product,
    reference=_product,
    gradient=_product_checks,
    determinism=LargeCase(_large_products, FLOAT32_AND_64),
)

# ---- Reductions ----


def _make_reduce(source: Source, op: Any) -> Case:
    dtype = _type(source, op)
    shape = drawn_shape(source)
    axes = [source.axis(len(shape), 0.97) for _ in range(source.integer(0, len(shape)))]
    places: Array = np.array(axes, np.int32).reshape(len(axes))
    if len(axes) == 1 and source.chance(0.5):
        places = places.reshape(())
    style = source.pick(("small", "plain"))
    inputs = sparse_inputs(source, dtype, shape, style, in_order=False, faults=0.06)
    attrs = {"T": type_attr(dtype), "keep_dims": attr_text(source.chance(0.5))}
    return Case(op.name, [*inputs, Input("int32", places)], attrs)


def _reduce(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "input_", in_order=False)
    rank, dtype = len(sparse.shape), case.inputs[1].dtype
    axes = {normalized(int(axis), rank, "reduction_axes") for axis in case.array(3).reshape(-1)}
    keep = case.attr("keep_dims")

    def reduced(index: Index, one: int) -> Index:
        pairs = ((d, one if d in axes else number) for d, number in enumerate(index))
        return tuple(number for d, number in pairs if keep or d not in axes)

    groups: dict[Index, list[Any]] = {}
    for index, value in zip(sparse.indices, numbers(case, 1), strict=True):
        groups.setdefault(reduced(index, 0), []).append(value)
    shape = reduced(sparse.shape, 1)
    places = sorted(groups) if case.op.endswith("Sparse") else list(np.ndindex(*shape))
    values = [_combined(case, groups.get(place, []), dtype) for place in places]
    size = (len(places),) if case.op.endswith("Sparse") else shape
    near: Any
    if "Sum" in case.op and number_types.is_inexact(dtype):
        kind = np.clongdouble if dtype.startswith("complex") else np.longdouble
        totals = np.array([total for total, _ in values], kind).reshape(size)
        scale = np.array([scale for _, scale in values], np.longdouble).reshape(size)
        near = summed(totals, scale, 40, dtype)
    else:
        near = _stored(np.array(values, numbers(case, 1).dtype).reshape(size), case)
    if not case.op.endswith("Sparse"):
        return [near]
    return sparse_outputs(places, near, shape)


def _combined(case: Case, values: list[Any], dtype: str) -> Any:
    with np.errstate(all="ignore"):
        array = np.array(values, numbers(case, 1).dtype)
        if "Max" in case.op:
            return array.max() if values else array.dtype.type(0)
        if not number_types.is_inexact(dtype):
            return array.sum(dtype=array.dtype)
        wide = array.astype(np.clongdouble if np.iscomplexobj(array) else np.longdouble)
        return wide.sum(), np.abs(wide).sum()


def _reduce_checks(op: str) -> list[Check]:
    def reduced(values: Any, axes: Any, keep: bool) -> Any:
        result = function_of(op)(_A, values, _SHAPE, axes, keep)
        return result[1] if op.endswith("Sparse") else result

    return [
        Check(with_arguments(reduced, axes, keep), (spread("v", 4),))
        for axes, keep in (([0], False), ([1], True), ([0, 1], False), (-1, False))
    ]


define_tests(
    "SparseReduceSum",
    cases=_make_reduce,
    reference=_reduce,
    gradient=_reduce_checks,
    determinism=NotTested("adds up on one thread"),
)
define_tests(
    "SparseReduceMax",
    cases=_make_reduce,
    reference=_reduce,
    gradient=_reduce_checks,
    determinism=_ONE_THREAD,
)
define_tests(
    ["SparseReduceSumSparse", "SparseReduceMaxSparse"],
    cases=_make_reduce,
    reference=_reduce,
    gradient=_reduce_checks,
    determinism=_ONE_THREAD,
    exceptions=_COUNTED,
)

# ---- SparseSoftmax ----


def _make_softmax(source: Source, op: Any) -> Case:
    dtype = source.pick(("float32", "float64"))
    shape = drawn_shape(source, 2)
    if source.chance(0.04):
        shape = shape[:1]
    return Case(op.name, sparse_inputs(source, dtype, shape, "plain"), {"T": type_attr(dtype)})


def _softmax(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "sp_", in_order=False, bounded=False)
    refuse_unless(len(sparse.shape) >= 2, "sp_shape")
    x = numbers(case, 1).astype(np.longdouble)
    result = np.zeros(x.shape, np.longdouble)
    begin = 0
    while begin < len(x):
        end = begin + 1
        while end < len(x) and sparse.indices[end][:-1] == sparse.indices[begin][:-1]:
            end += 1
        powers = np.exp(x[begin:end] - x[begin:end].max())
        result[begin:end] = powers / powers.sum()
        begin = end
    # The difference is rounded before exp.
    dtype = case.inputs[1].dtype
    spread_of = np.abs(x).max(initial=0) * 2
    return [ulps(result, dtype, 16 + 4 * float(spread_of))]


define_tests(
    "SparseSoftmax",
    cases=_make_softmax,
    reference=_softmax,
    gradient=[
        Check(lambda v: gen_ops.sparse_softmax(_A, v, _SHAPE), (spread("softmax", 4),)),
    ],
    determinism=_ONE_THREAD,
)
