"""What `define_tests` derives from definitions, and the sentences on what is missing."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf
from millstream import _runtime
from millstream._impl import protos
from testing.ops.elementwise_unary import exact_unary, one_tensor
from testing.ops.support import definitions, registry
from testing.ops.support.registry import NotTested, define_tests

_CUBE = """
    name: "Cube"
    input_arg { name: "x" type_attr: "T" }
    output_arg { name: "y" type_attr: "T" }
    attr { name: "T" type: "type" allowed_values { list { type: DT_FLOAT type: DT_DOUBLE } } }
"""


@pytest.fixture(autouse=True)
def _same_tests_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = dict(registry.all_tests())
    monkeypatch.setattr(registry, "_tests", tests)
    monkeypatch.setattr(registry, "all_tests", lambda: tests)


@pytest.fixture
def _made_up_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers Cube, whose gradient is that of Square: nothing runs it."""
    definition = protos.message_class("OpDef").FromString(
        _runtime.message_parse_text("OpDef", _CUBE)
    )
    registered = {**definitions.registered_ops(), "Cube": definition}
    differentiable = {*definitions.differentiable_ops(), "Cube"}
    for module in (definitions, registry):
        monkeypatch.setattr(module, "registered_ops", lambda: registered)
    monkeypatch.setattr(registry, "differentiable_ops", lambda: differentiable)
    square = definitions.function_of("Square")
    monkeypatch.setattr("millstream._impl.ops.gen_ops.cube", square, raising=False)


def _definition(op: str) -> Any:
    return definitions.registered_ops()[op]


@pytest.mark.parametrize("op", ["Abs", "Exp", "Softmax", "L2Loss"])
def test_an_op_that_makes_one_tensor_of_numbers_of_another_is_unary(op: str) -> None:
    assert definitions.is_unary(_definition(op))


@pytest.mark.parametrize("op", ["Add", "AvgPool", "Identity", "LogicalNot", "RefIdentity", "Sum"])
def test_other_ops_are_not(op: str) -> None:
    assert not definitions.is_unary(_definition(op))


@pytest.mark.parametrize("op", ["Tile", "Identity", "Select", "Assert"])
def test_an_op_of_tensors_of_any_type_computes_no_numbers(op: str) -> None:
    assert definitions.moves_elements(_definition(op))


@pytest.mark.parametrize("op", ["Abs", "HistogramSummary", "AssignAddVariableOp", "Assign"])
def test_an_op_of_numbers_or_variables_may(op: str) -> None:
    assert not definitions.moves_elements(_definition(op))


@pytest.mark.usefixtures("_made_up_op")
def test_an_op_of_which_nothing_is_said_is_missing_everywhere() -> None:
    for missing in (
        registry.missing_references(),
        registry.missing_gradient_checks(),
        registry.missing_large_cases(),
    ):
        assert len(missing) == 1
        assert missing[0].startswith("Cube ")
        assert "testing/ops" in missing[0]


@pytest.mark.usefixtures("_made_up_op")
def test_a_unary_op_needs_cases_and_a_reference_alone() -> None:
    define_tests("Cube", cases=one_tensor, reference=exact_unary(lambda x: x * x * x))
    assert not registry.missing_references()
    assert not registry.missing_gradient_checks()
    assert not registry.missing_large_cases()
    assert [check.inputs[0].shape for op, check in registry.gradient_checks() if op == "Cube"]
    dtypes = [case.dtypes for ops, case in registry.large_cases() if ops == ("Cube",)]
    assert dtypes == [(tf.float32, tf.float64)]
    assert registry.all_tests()["Cube"].file == "testing/ops/registry_test.py"


@pytest.mark.usefixtures("_made_up_op")
def test_what_a_unary_op_is_given_replaces_what_is_derived() -> None:
    define_tests(
        "Cube",
        reference=NotTested("for a reason"),
        gradient=NotTested("for a reason"),
        determinism=NotTested("for a reason"),
    )
    assert "Cube" not in registry.references()
    assert "Cube" not in {op for op, _ in registry.gradient_checks()}
    assert "Cube" not in {op for ops, _ in registry.large_cases() for op in ops}
    assert not registry.missing_references()
    assert not registry.missing_gradient_checks()
    assert not registry.missing_large_cases()


def test_tests_of_an_op_that_there_is_not_are_found() -> None:
    define_tests("Cube", reference=NotTested("for a reason"))
    assert registry.missing_references() == ["testing/ops/registry_test.py: there is no op Cube"]


def test_reasons_that_are_for_nothing_are_found() -> None:
    reason = NotTested("for nothing")
    tile, floor = registry.all_tests()["Tile"], registry.all_tests()["Floor"]
    tests = registry._tests
    tests.pop("Tile")
    tests.pop("Floor")
    define_tests(
        "Tile", cases=tile.cases, reference=tile.reference, gradient=[], determinism=reason
    )
    define_tests("Floor", cases=floor.cases, reference=floor.reference, gradient=reason)
    gradients, large = registry.missing_gradient_checks(), registry.missing_large_cases()
    assert [text.split()[0] for text in gradients] == ["Tile", "Floor"]
    assert [text.split()[0] for text in large] == ["Tile"]


def test_an_op_that_has_tests_already_is_refused_with_both_files() -> None:
    with pytest.raises(AssertionError, match=r"registry_test.py: Abs .*elementwise_unary.py"):
        define_tests("Abs", cases=one_tensor, reference=exact_unary(abs))


def test_cases_need_no_reference() -> None:
    define_tests("Cube", cases=one_tensor, reference=NotTested("here"))
    assert registry.all_tests()["Cube"].cases is one_tensor
    assert "Cube" not in registry.references()


def test_a_reference_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="Cube needs cases"):
        define_tests("Cube", reference=exact_unary(abs))


def test_every_op_is_wanted_or_those_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESTED_OPS", raising=False)
    assert definitions.is_wanted("Abs")
    monkeypatch.setenv("TESTED_OPS", "MadeUp")
    assert definitions.is_wanted("ApplyMadeUpAscent")
    assert not definitions.is_wanted("Abs")
