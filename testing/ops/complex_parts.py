"""Complex numbers and their parts, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.elementwise_binary import broadcast, two_tensors
from testing.ops.elementwise_unary import one_tensor
from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.determinism import SIZE, LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    MakeCase,
    Near,
    Outcome,
    is_extreme,
    longer,
    numbers,
    refuse_unless,
    type_attr,
    ulps,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_WHOLE = {"float32": "complex64", "float64": "complex128"}
_PART = {whole: part for part, whole in _WHOLE.items()}


def _with_result(make: MakeCase, results: dict[str, str]) -> MakeCase:
    """Cases with the type of the result that goes with that of the input, but for some."""

    def make_case(source: Source, op: Any) -> Case:
        case = make(source, op)
        result = results[case.inputs[0].dtype]
        if source.chance(0.1):
            result = source.pick(list(results.values()))
        case.attrs["Tout"] = type_attr(result)
        return case

    return make_case


def _result_type(case: Case, results: dict[str, str]) -> str:
    wanted = results[case.inputs[0].dtype]
    refuse_unless(case.attr("Tout")[1] == wanted, "Tout")
    return wanted


def _part(function: Callable[[Array], Array]) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        dtype = _result_type(case, _PART)
        return [function(numbers(case, 0)).astype(number_types.stored_type(dtype))]

    return compute


def _rounded_part(function: Callable[[Array], Array]) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        dtype = _result_type(case, _PART)
        x = numbers(case, 0)
        near = ulps(function(longer(x)), dtype, 3)
        return [Near(near.value, near.bound, is_extreme(x, case.inputs[0].dtype))]

    return compute


def _complex(case: Case) -> Outcome:
    dtype = _result_type(case, _WHOLE)
    real, imag = broadcast(case)
    whole = np.empty(real.shape, dtype)
    whole.real, whole.imag = real, imag
    return [whole]


def _on_curve(function: Callable[..., Any]) -> list[Check]:
    """Checks of a function of complex numbers, which are made of real ones."""

    def build(x: Any) -> Any:
        whole = gen_ops.complex(x, gen_ops.square(x) + 0.5, Tout=tf.complex128)
        return function(whole, Tout=tf.float64)

    return [Check(build, (spread("x", 3, 2),))]


def _of_complex(function: Callable[..., Any]) -> Any:
    """A large case of a function of complex numbers."""

    def build(values: Values) -> Any:
        dtype = values.dtype
        whole = tf.complex64 if dtype == tf.float32 else tf.complex128
        made = gen_ops.complex(values.of(SIZE), values.of(SIZE), Tout=whole)
        return function(made, Tout=dtype)

    return LargeCase(build, (tf.float32, tf.float64))


def _complex_checks() -> list[Check]:
    def build(real: Any, imag: Any) -> Any:
        whole = gen_ops.square(gen_ops.complex(real, imag, Tout=tf.complex128))
        return gen_ops.real(whole, Tout=tf.float64), gen_ops.imag(whole, Tout=tf.float64)

    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((), (2, 3)),
    ]
    return [Check(build, (spread("re", *left), spread("im", *right))) for left, right in shapes]


def _large_complex(values: Values) -> Any:
    whole = tf.complex64 if values.dtype == tf.float32 else tf.complex128
    return gen_ops.complex(values.of(600, 500), values.of(500), Tout=whole)


_of_one = _with_result(one_tensor, _PART)

define_tests(
    "Real",
    cases=_of_one,
    reference=_part(np.real),
    gradient=_on_curve(gen_ops.real),
    determinism=_of_complex(gen_ops.real),
)
define_tests(
    "Imag",
    cases=_of_one,
    reference=_part(np.imag),
    gradient=_on_curve(gen_ops.imag),
    determinism=_of_complex(gen_ops.imag),
)
define_tests(
    "ComplexAbs",
    cases=_of_one,
    reference=_rounded_part(np.abs),
    gradient=_on_curve(gen_ops.complex_abs),
    determinism=_of_complex(gen_ops.complex_abs),
)
define_tests(
    "Angle",
    cases=_of_one,
    reference=_rounded_part(np.angle),
    gradient=_on_curve(gen_ops.angle),
    determinism=_of_complex(gen_ops.angle),
)
define_tests(
    "Complex",
    cases=_with_result(two_tensors, _WHOLE),
    reference=_complex,
    gradient=_complex_checks(),
    determinism=LargeCase(_large_complex, (tf.float32, tf.float64)),
)
