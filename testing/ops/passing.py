"""Constants, ops that pass tensors on, checks of tensors, and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import SIZE, LargeCase
from testing.ops.support.gradient import Check, of_one_tensor, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    pick_type,
    refuse_unless,
    type_attr,
    types_among,
)
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

# ---- Constants and what passes tensors on ----


def _make_const(source: Source, op: Any) -> Case:
    dtype = source.pick(number_types.VALUES)
    value = source.values(dtype, source.small_shape())
    attrs = {"dtype": type_attr(dtype), "value": attr_text(("tensor", (dtype, value)))}
    return Case(op.name, [], attrs, {"value": value})


define_tests("Const", cases=_make_const, reference=lambda case: [case.values["value"]])


def _make_passed(source: Source, op: Any) -> Case:
    if op.name == "IdentityN":
        dtypes = [source.pick(number_types.VALUES) for _ in range(source.integer(1, 4))]
        attrs = {"T": attr_text([("type", dtype) for dtype in dtypes])}
    else:
        name = "dtype" if op.name == "PlaceholderWithDefault" else "T"
        dtypes = [pick_type(source, op, name)]
        attrs = {name: type_attr(dtypes[0])}
    inputs = [Input(dtype, source.values(dtype, source.shape())) for dtype in dtypes]
    case = Case(op.name, inputs, attrs)
    if op.name in ("PlaceholderWithDefault", "EnsureShape"):
        assert inputs[0].value is not None
        shape: Any = tuple(-1 if source.chance(0.3) else size for size in inputs[0].value.shape)
        if source.chance(0.3):
            shape = source.pick((None, source.small_shape()))
        case.attrs["shape"] = attr_text(("shape", shape))
        case.values["shape"] = shape
    return case


def _passed(case: Case) -> Outcome:
    if "shape" in case.values and case.values["shape"] is not None:
        want, got = case.values["shape"], case.array(0).shape
        fits = len(want) == len(got) and all(a in (-1, b) for a, b in zip(want, got, strict=True))
        refuse_unless(fits, "shape")
    return [case.array(i) for i in range(len(case.inputs))]


_X, _UNIT = spread("x", 2, 3, 4), spread("unit", 2, 1, 3, 1)

define_tests("Identity", cases=_make_passed, reference=_passed, gradient=of_one_tensor())
define_tests(
    "IdentityN",
    cases=_make_passed,
    reference=_passed,
    gradient=[Check(lambda a, b: gen_ops.identity_n([a, b]), (_X, _UNIT))],
)
define_tests(["StopGradient", "PreventGradient"], cases=_make_passed, reference=_passed)
define_tests(
    "PlaceholderWithDefault",
    cases=_make_passed,
    reference=_passed,
    gradient=[Check(lambda a: gen_ops.placeholder_with_default(a, shape=[2, 3, 4]), (_X,))],
    exceptions={
        Property.STATIC_SHAPE: "a step may feed anything of the shape that the attribute allows"
    },
)
define_tests("Placeholder", reference=NotTested("feeds every other case"))
define_tests("PlaceholderV2", reference=NotTested("is Placeholder under another name"))
define_tests(
    "EnsureShape",
    cases=_make_passed,
    reference=_passed,
    gradient=[Check(lambda a: gen_ops.ensure_shape(a, [2, 3, 4]), (_X,))],
)
define_tests(
    ["Snapshot", "GuaranteeConst", "DeepCopy", "Copy", "CopyHost"],
    cases=_make_passed,
    reference=_passed,
    gradient=of_one_tensor(),
)


def _make_loop_cond(source: Source, op: Any) -> Case:
    shape = () if source.chance(0.8) else source.small_shape()
    return Case(op.name, [Input("bool", source.values("bool", shape))])


def _loop_cond(case: Case) -> Outcome:
    refuse_unless(case.array(0).ndim == 0, "input")
    return [case.array(0)]


define_tests(
    "LoopCond",
    cases=_make_loop_cond,
    reference=_loop_cond,
    exceptions={
        Property.CHECKED_SHAPE: "passes on what the Switches that read it check",
    },
)
define_tests(
    ["NoOp", "ControlTrigger"],
    cases=lambda source, op: Case(op.name),
    reference=lambda case: [],
)


# ---- Checks ----


def _make_check(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    x = Input(dtype, source.values(dtype, source.shape()))
    attrs = {"T": type_attr(dtype), "message": attr_text("words")}
    return Case(op.name, [x], attrs)


def _check(case: Case) -> Outcome:
    x = number_types.as_numbers(case.array(0), case.inputs[0].dtype)
    refuse_unless(np.isfinite(x).all(), "tensor")
    return [case.array(0)]


define_tests(
    "CheckNumerics",
    cases=_make_check,
    reference=_check,
    gradient=[Check(lambda x: gen_ops.check_numerics(x, "x"), (spread("CheckNumerics", 3, 4),))],
    determinism=LargeCase(lambda values: gen_ops.check_numerics(values.of(SIZE), "numbers")),
)


def _make_assert(source: Source, op: Any) -> Case:
    condition = Input("bool", source.values("bool", () if source.chance(0.95) else (2,)))
    dtypes = [source.pick(number_types.VALUES) for _ in range(source.integer(1, 3))]
    data = [Input(dtype, source.values(dtype, source.shape())) for dtype in dtypes]
    attrs = {"T": attr_text([("type", dtype) for dtype in dtypes])}
    attrs["summarize"] = attr_text(source.pick((3, 0, -1, 1000, 2**62)))
    return Case(op.name, [condition, *data], attrs)


def _assert(case: Case) -> Outcome:
    refuse_unless(case.array(0).ndim == 0 and case.array(0).item(), "condition")
    return []


define_tests(
    "Assert",
    cases=_make_assert,
    reference=_assert,
    exceptions={Property.NAMED_ARGUMENT: "the error shows the data, in words that programs know"},
)


# ---- Cast ----


_QUANTIZED = ("qint8", "quint8", "qint16", "quint16", "qint32")


def _make_cast(source: Source, op: Any) -> Case:
    kinds = (
        *number_types.REALS,
        *number_types.INTEGERS,
        *number_types.COMPLEX,
        *_QUANTIZED,
        "bool",
    )
    from_type = source.pick(types_among(kinds, op, "SrcT"))
    to_type = source.pick(types_among(kinds, op, "DstT"))
    x = Input(from_type, source.values(from_type, source.shape()))
    truncate = source.pick((False, True))
    attrs = {
        "SrcT": type_attr(from_type),
        "DstT": type_attr(to_type),
        "Truncate": attr_text(truncate),
    }
    return Case(op.name, [x], attrs, {"to": to_type, "truncate": truncate})


def _cast(case: Case) -> Outcome:
    """A quantized number is the integer that it is stored as."""
    x, to_type = number_types.as_numbers(case.array(0), case.inputs[0].dtype), case.values["to"]
    if to_type == case.inputs[0].dtype:
        return [case.array(0)]
    to_type = to_type.removeprefix("q")
    if to_type == "bool":
        return [x.real != 0 if np.iscomplexobj(x) else x != 0]
    if np.iscomplexobj(x) and to_type not in number_types.COMPLEX:
        x = x.real
    if case.values["truncate"] and number_types.is_inexact(to_type):
        x = _cut(x, to_type)
    if to_type in number_types.INTEGERS:
        return [_to_integers(x, to_type)]
    if to_type == "bfloat16":
        # Of wider numbers that are rounded twice, by way of float32.
        return [number_types.from_numbers(x.astype(np.float32), to_type)]
    if to_type == "float16":
        return [x.astype(np.float32).astype(np.float16)]
    return [x.astype(to_type)]


def _cut(x: Array, to_type: str) -> Array:
    """Without the bits of the significand that the other type has no place for.

    Those of a number below the smallest normal one of its own type are where that has them.
    """
    if np.iscomplexobj(x):
        result = np.empty_like(x)
        result.real, result.imag = _cut(x.real, to_type), _cut(x.imag, to_type)
        return result
    if x.dtype.kind != "f":
        return x
    own = np.float64 if x.dtype == np.float64 else np.float32
    info, wanted = np.finfo(own), 1 - round(np.log2(number_types.epsilon(to_type)))
    if info.nmant + 1 <= wanted:
        return x
    wide = x.astype(own).astype(np.float64)
    exponent = np.maximum(np.frexp(wide)[1], info.minexp + 1)
    cut = np.ldexp(np.trunc(np.ldexp(wide, wanted - exponent)), exponent - wanted)
    return np.where(np.isfinite(wide), cut, wide).astype(own)


def _to_integers(x: Array, to_type: str) -> Array:
    """Cut towards zero; what does not fit wraps, as docs of the op's kernel say."""
    kind = np.dtype(to_type)
    result = np.empty(x.shape, kind)
    bits = 8 * kind.itemsize
    middle = 31 if bits < 32 or to_type == "int32" else 63
    for place in np.ndindex(x.shape):
        number: Any = x[place]
        if x.dtype.kind == "f":
            fits = -(2.0**middle) <= number < 2.0**middle
            large = to_type == "uint64" and 2.0**63 <= number < 2.0**64
            number = int(number) if fits or large else -(2**middle)
        wrapped = int(number) & ((1 << bits) - 1)
        signed = kind.kind == "i" and wrapped >> (bits - 1)
        result[place] = wrapped - (1 << bits) if signed else wrapped
    return result


# Quarters and steps of a power of two: float32 holds them exactly.
_QUARTERS = np.array([0.25, -1.5, 3.0])
define_tests(
    "Cast",
    cases=_make_cast,
    reference=_cast,
    gradient=[
        Check(lambda a: gen_ops.cast(a, tf.float32), (_QUARTERS,), step=2.0**-10),
        Check(lambda a: gen_ops.cast(a, tf.float64), (_QUARTERS,)),
    ],
)
