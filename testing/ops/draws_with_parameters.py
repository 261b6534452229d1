"""Random ops of distributions with a parameter; golden cases have their bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.elementwise_binary import broadcast, two_tensors
from testing.ops.incomplete_functions import lower_gamma
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values, large_broadcast
from testing.ops.support.gradient import Check, positive
from testing.ops.support.inputs import drawn_sizes, indices, integers
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Near,
    Outcome,
    checked_size,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
    ulps,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

_MANY = 200
# Of a result that is not there to be refused: several at once fit a small device.
_MOST_ELEMENTS = 1 << 17


def _make(source: Source, op: Any) -> Case:
    attr = {"RandomGamma": "T", "RandomPoisson": "dtype"}.get(op.name, "R")
    dtype = pick_type(source, op, attr)
    sizes = drawn_sizes(source) if source.chance(0.4) else [source.integer(1, 20), 16]
    own = source.small_shape(0, 2, 3)
    if _MOST_ELEMENTS < math.prod(sizes) * math.prod(own) < 1 << 32:
        sizes = [2]
    shape = indices(source, sizes)
    parameters = source.random.random(own) * source.pick((2, 8, 60)) + 0.1
    if source.chance(0.1):
        parameters = parameters * source.pick((0, -1, 1e6))
    attrs = {
        "S": type_attr(shape.dtype),
        attr: type_attr(dtype),
        "seed": attr_text(source.integer(1, 2**31)),
        "seed2": attr_text(source.integer(0, 2**62)),
    }
    result = dtype
    if attr == "R":
        result = pick_type(source, op, "dtype")
        attrs["dtype"] = type_attr(result)
    with np.errstate(all="ignore"):
        stored = Input(dtype, parameters.astype(dtype))
    return Case(op.name, [shape, stored], attrs, {"result": result})


def _shape(case: Case) -> tuple[int, ...]:
    draws = checked_size(integers(case, 0), "shape")
    return checked_size([*draws, *case.array(1).shape], "shape")


def _mean_is_near(values: Array, means: Array, deviations: Array) -> str:
    """Whether the means of many draws of each parameter are within 8 of their deviations."""
    draws = values.astype(float).reshape(-1, *means.shape)
    if len(draws) < _MANY:
        return ""
    bound = 8 * deviations / np.sqrt(len(draws)) + 0.01 * means + 0.01
    near = np.abs(draws.mean(0) - means) <= bound
    return "" if near.all() else f"has the means {draws.mean(0)}, expected {means}"


def _gamma(case: Case) -> Outcome:
    shape, alpha = _shape(case), numbers(case, 1).astype(float)

    def check(values: Array) -> str:
        if (alpha <= 0).any():
            return ""
        if (values < 0).any():
            return "is negative"
        return _mean_is_near(values, alpha, np.sqrt(alpha))

    return [Drawn(shape, check)]


def _poisson(case: Case) -> Outcome:
    shape, rate = _shape(case), numbers(case, 1).astype(float)
    result = number_types.stored_type(case.values["result"])
    largest = np.iinfo(result).max if result.kind == "i" else np.finfo(result).max
    refuse_unless(0 in shape or (rate < float(largest)).all(), "rate")
    # Nothing happens at a negative rate.
    rate = np.maximum(rate, 0)

    def check(values: Array) -> str:
        if (values < 0).any() or (values != np.floor(values.astype(float))).any():
            return "is no count"
        return _mean_is_near(values, rate, np.sqrt(rate))

    return [Drawn(shape, check)]


def _large(values: Values) -> Any:
    alpha = values.positive(50)
    return [
        gen_ops.random_gamma([400], alpha, seed=3, seed2=5),
        gen_ops.random_poisson_v2([400], alpha * 20.0, seed=3, seed2=5, dtype=values.dtype),
        gen_ops.random_poisson([400], alpha, seed=3, seed2=5),
    ]


_LARGE = LargeCase(_large)
define_tests(
    "RandomGamma",
    cases=_make,
    reference=_gamma,
    gradient=NotTested("the number of a seed is not the same in each run; see RandomGammaGrad"),
    determinism=_LARGE,
)
define_tests(
    ["RandomPoisson", "RandomPoissonV2"], cases=_make, reference=_poisson, determinism=_LARGE
)


def _slope(a: float, x: float) -> Any:
    """By differences of longdoubles, as the slope of the distribution function."""
    if x == 0 and not np.isnan(a):
        return 0.0
    if not a > 0 or not x >= 0 or np.isinf(a) or np.isinf(x):
        return np.nan
    step = a * 2.0**-16
    slopes = [(lower_gamma(a + h, x) - lower_gamma(a - h, x)) / (2 * h) for h in (step, step / 2)]
    wide_a, wide_x = np.longdouble(a), np.longdouble(x)
    density = np.exp((wide_a - 1) * np.log(wide_x) - wide_x - np.longdouble(math.lgamma(a)))
    return -(4 * slopes[1] - slopes[0]) / 3 / density


def _gamma_grad(case: Case) -> Outcome:
    a, x = (longer(array).astype(np.float64) for array in broadcast(case))
    # Elsewhere the differences lose their digits.
    known = (a > 0.05) & (a < 30) & (x > 0.01) & (x < 2 * a + 5) & (x > a / 8)
    known |= np.isnan(a) | np.isnan(x) | (a <= 0) | (x < 0) | np.isinf(x)
    value = np.zeros(a.shape, np.longdouble)
    for place in np.ndindex(a.shape):
        if known[place]:
            value[place] = _slope(float(a[place]), float(x[place]))
    near = ulps(value, case.inputs[0].dtype, 64)
    size = np.where(np.isfinite(value), np.abs(value), 0)
    return [Near(value, near.bound + 1e-5 * (1 + size), ~known)]


def _gamma_grad_checks(op: str) -> list[Check]:
    """By the number alone. The derivative by the parameter has no closed form."""
    function, alpha = function_of(op), positive(op, 2, 1)
    return [
        Check(lambda sample: function(alpha, sample), (positive("sample", 2, 3),)),
        Check(lambda sample: function(alpha, sample), (positive("one sample", 3),)),
    ]


define_tests(
    "RandomGammaGrad",
    cases=two_tensors,
    reference=_gamma_grad,
    gradient=_gamma_grad_checks,
    determinism=large_broadcast,
)


# ---- ParameterizedTruncatedNormal ----


def _make_truncated(source: Source, op: Any) -> Case:
    dtype = source.pick(("float32", "float64", "float16"))
    sizes = drawn_sizes(source) if source.chance(0.3) else [source.integer(1, 6), 200]
    shape = indices(source, sizes)
    inputs = [shape]
    for low, high in ((-4, 4), (1, 12), (-12, 2), (3, 14)):
        count = sizes[0] if sizes and 0 <= sizes[0] < 100 and source.chance(0.5) else 1
        own = (count,) if source.chance(0.9) else source.pick(((), (2, 1), (count + 3,)))
        drawn = source.random.integers(low, high, endpoint=True, size=own) / 4
        inputs.append(Input(dtype, drawn.astype(dtype)))
    if source.chance(0.1):
        edge = source.pick((np.nan, np.inf, -np.inf))
        inputs[source.integer(1, 4)] = Input(dtype, np.array(edge, dtype))
    attrs = {
        "T": type_attr(shape.dtype),
        "dtype": type_attr(dtype),
        "seed": attr_text(source.integer(1, 2**31)),
        "seed2": attr_text(source.integer(0, 2**62)),
    }
    return Case(op.name, inputs, attrs)


def _truncated(case: Case) -> Outcome:
    shape = checked_size(integers(case, 0), "shape")
    refuse_unless(len(shape) > 0, "shape")
    given = [case.array(i).astype(np.float64) for i in range(1, 5)]
    for one, name in zip(given, ("means", "stdevs", "minvals", "maxvals"), strict=True):
        refuse_unless(one.ndim < 2 and one.size in (1, shape[0]), name)
        refuse_unless(one.size == 1 or one.ndim == 1, name)
    if 0 in shape:
        return [np.zeros(shape, case.array(1).dtype)]
    columns = [np.broadcast_to(one.reshape(-1), shape[:1]).reshape(-1, 1) for one in given]
    means, deviations, lows, highs = columns
    refuse_unless((deviations > 0).all() and (lows < highs).all(), "stdevs")
    refuse_unless((np.isfinite(lows) | np.isfinite(highs)).all(), "minvals")

    def check(values: Array) -> str:
        drawn = values.astype(np.float64).reshape(shape[0], -1)
        sure = np.isfinite(means) & np.isfinite(deviations)
        slack = 0.01 * (1 + np.abs(means) + deviations)
        with np.errstate(invalid="ignore"):
            outside = (drawn < lows - slack) | (drawn > highs + slack) | np.isnan(drawn)
        return "is beyond the limits" if (outside & sure).any() else ""

    return [Drawn(shape, check)]


def _large_truncated(values: Values) -> Any:
    ends = [values.of(50, low=-2.0, high=-1.0), values.of(50, low=0.5, high=3.0)]
    return gen_ops.parameterized_truncated_normal(
        [50, 400], values.of(50), values.positive(50), *ends, seed=3, seed2=5
    )


define_tests(
    "ParameterizedTruncatedNormal",
    cases=_make_truncated,
    reference=_truncated,
    determinism=LargeCase(_large_truncated),
)
