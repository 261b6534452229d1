"""What the generator of op wrappers writes."""

import json
from pathlib import Path

import pytest

from generate import generate_ops
from millstream._impl.base import op_source

OP = {
    "name": "MatMul",
    "doc": "Multiplies two matrices.\n\nThe inner dimensions must be equal.",
    "example": ">>> 1 + 1\n2",
    "stateful": False,
    "inputs": [
        {"name": "a", "type": 0, "type_attr": "T", "number_attr": "", "list_attr": ""},
        {"name": "lambda", "type": 0, "type_attr": "T", "number_attr": "", "list_attr": ""},
    ],
    "outputs": [
        {"name": "product", "type": 0, "type_attr": "T", "number_attr": "", "list_attr": ""}
    ],
    "attrs": [
        {
            "name": "transpose_a",
            "type": "bool",
            "default": "False",
            "default_type": None,
            "allowed_types": [],
            "allowed_strings": [],
        },
        {
            "name": "strides",
            "type": "list(int)",
            "default": "[1, 2]",
            "default_type": None,
            "allowed_types": [],
            "allowed_strings": [],
        },
        {
            "name": "T",
            "type": "type",
            "default": None,
            "default_type": None,
            "allowed_types": [1, 2],
            "allowed_strings": [],
        },
    ],
}


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("MatMul", "mat_mul"),
        ("AddV2", "add_v2"),
        ("Conv2DBackpropInput", "conv2d_backprop_input"),
        ("L2Loss", "l2_loss"),
        ("Assert", "assert_"),
        ("BatchToSpaceND", "batch_to_space_nd"),
        ("VarHandleOp", "var_handle_op"),
    ],
)
def test_function_is_the_ops_name_in_words(op: str, function: str) -> None:
    assert op_source.snake_case(op) == function


def test_function_takes_inputs_then_attributes_with_immutable_defaults() -> None:
    (line,) = (line for line in generate_ops.function(OP) if line.startswith("def "))
    assert line == "def mat_mul(a, lambda_, transpose_a=False, strides=(1, 2), name=None):"


def test_attributes_that_inputs_settle_are_no_parameters() -> None:
    assert [attr["name"] for attr in op_source.parameters(OP)] == ["transpose_a", "strides"]


def test_docstring_states_types_of_arguments() -> None:
    text = "\n".join(generate_ops.docstring(OP))
    assert "The inner dimensions must be equal." in text
    assert "A tensor of float32, float64." in text


def test_files_are_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ops.json", "ops.py", "ops.pyi")
    source, module, stub = paths = [tmp_path / name for name in names]
    source.write_text(json.dumps([OP]))
    monkeypatch.setattr("sys.argv", ["generate_ops", *map(str, paths)])
    assert generate_ops.main() == 0
    compile(module.read_text(), "ops.py", "exec")
    compile(stub.read_text(), "ops.pyi", "exec")
    assert ") -> Tensor: ..." in stub.read_text()
    assert "    Examples\n    --------\n    >>> 1 + 1\n    2\n" in module.read_text()
