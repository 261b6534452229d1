"""What is drawn for kernels, and what the file has of it."""

from __future__ import annotations

import numpy as np
import pytest

from testing.kernel_cases.case_file import encoded, spec_text
from testing.kernel_cases.draw import (
    PERIOD,
    Kernel,
    KernelCase,
    all_cases,
    parsed_kernels,
    type_sets,
)
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import registered_ops
from testing.ops.support.registry import all_tests


def _drawn(line: str) -> list[KernelCase]:
    return list(all_cases(parsed_kernels(line)))


def test_lines_name_the_types_of_kernels() -> None:
    (kernel,) = parsed_kernels("GatherV2 Tparams=float32,bool Tindices=int64")
    assert kernel == Kernel("GatherV2", {"Tparams": ["float32", "bool"], "Tindices": ["int64"]})
    assert kernel.takes({"Tparams": "bool", "Tindices": "int64", "Taxis": "int32"})
    assert not kernel.takes({"Tparams": "bool", "Tindices": "int32"})


def test_every_type_of_a_kernel_is_drawn() -> None:
    cases = _drawn("AddV2 T=float32,int8,complex64")
    assert {case.case.attr("T")[1] for case in cases} == {"float32", "int8", "complex64"}
    assert not any(case.is_random for case in cases)


def test_an_attribute_that_the_kernel_does_not_name_is_of_the_default_type() -> None:
    sets = type_sets(registered_ops()["ArgMax"], Kernel("ArgMax", {"T": ["float32"]}))
    assert sets == [{"T": "float32", "Tidx": "int32", "output_type": "int64"}]


def test_each_op_has_a_large_case_and_one_whose_indices_the_step_computes() -> None:
    cases = _drawn("ArgMax T=float32")
    assert max(case.case.array(0).size for case in cases) > 4000
    assert {case.constants for case in cases} == {frozenset({1}), frozenset()}


def test_gathered_rows_are_not_as_many_as_they_are_long() -> None:
    reference = all_tests()["RaggedGather"].reference
    assert callable(reference)
    cases = [case.case for case in _drawn("RaggedGather Tvalues=float32")]
    values = [item.value for case in cases for item in case.inputs]
    assert max(value.size for value in values if value is not None) > 4000
    assert max(result.size for case in cases for result in reference(case)) <= 1_000_000


def test_random_ops_are_known_by_their_references() -> None:
    assert all(case.is_random for case in _drawn("RandomUniform dtype=float32"))


def test_the_same_cases_are_drawn_again() -> None:
    line = "_MultiResourceApplyAdam T=float32"
    assert [encoded(case) for case in _drawn(line)] == [encoded(case) for case in _drawn(line)]


@pytest.mark.parametrize("op", ["Placeholder", "OpOfNobody"])
def test_a_kernel_of_an_op_without_cases_is_an_error(op: str) -> None:
    with pytest.raises(ValueError, match=f"{op} has a kernel and no cases: give it `cases` in"):
        _drawn(op)


def test_values_that_repeat_stand_once_in_the_file() -> None:
    values = np.arange(PERIOD, dtype=np.float32)

    def size(value: np.ndarray) -> int:
        return len(encoded(KernelCase(Case("Neg", [Input("float32", value)]), False, frozenset())))

    assert size(np.resize(values, 1000)) == size(values)
    assert size(np.arange(1000, dtype=np.float32)) == size(values) + 4 * (1000 - PERIOD)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-3, "-3"),
        ('a"', '"\\141\\042"'),
        ([1, 2], "[1, 2]"),
        (("type", "int32"), "int32"),
        (("shape", (2, -1)), "[2, -1]"),
        (("shape", None), "?"),
    ],
)
def test_attributes_are_written_as_in_specifications(value: object, text: str) -> None:
    assert spec_text(value) == text
