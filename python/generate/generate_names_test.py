"""What the generator of public modules reads and writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from generate import generate_names

TABLES = """
NAMESPACES = {"": "All.", "math": "Arithmetic.\\n\\nMore.", "math.special": "Rare functions."}
ALIASES = {"math.v1": "", "other": "math"}
"""

SOURCE = """
from millstream._impl.base.public import public

@public("add", "math.add")
@checked
def plus(x, y): ...

@public("math.Number")
class Number: ...

PI: float = public("math.PI")(3.14)
floor = public("floor")(gen_ops.floor)
private = floor
"""

MESSAGES = 'PUBLIC_MESSAGES = ("GraphDef", "math.Matrix")'


def sources(folder: Path, **texts: str) -> list[Path]:
    """Modules of the implementation with these texts."""
    inner = folder / "millstream/_impl/ops"
    inner.mkdir(parents=True)
    for name, text in texts.items():
        (inner / f"{name}.py").write_text(text)
    return sorted(inner.iterdir())


def test_names_are_those_of_decorators_and_calls(tmp_path: Path) -> None:
    names = generate_names.collect(sources(tmp_path, plain=SOURCE, table=MESSAGES))
    module = "millstream._impl.ops.plain"
    assert {(one.name, one.attribute) for one in names.declared} == {
        ("add", "plus"),
        ("math.add", "plus"),
        ("math.Number", "Number"),
        ("math.PI", "PI"),
        ("floor", "floor"),
    }
    assert {one.module for one in names.declared} == {module}
    assert names.messages == ["GraphDef", "math.Matrix"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@public(NAME)\ndef f(): ...", "a public name is a literal"),
        ('public("f")(g)', "stand neither before"),
        ('def f():\n    x = public("x")(1)', "stand neither before"),
        ('x, y = public("x")(1)', "stand neither before"),
        ('@public("f")\ndef f(): ...\n@public("f")\ndef g(): ...', "is declared in"),
        ('PUBLIC_MESSAGES = ("f",)\nf = public("f")(1)', "is declared in"),
    ],
)
def test_a_name_that_nothing_defines_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(generate_names.DeclarationError, match=problem):
        generate_names.collect(sources(tmp_path, one=text))


def written(tmp_path: Path, *options: str) -> Path:
    """The folder of the files that it writes."""
    tables = tmp_path / "namespaces.bzl"
    tables.write_text(TABLES)
    files = sources(tmp_path, plain=SOURCE, table=MESSAGES)
    out = tmp_path / "out"
    arguments = ["--namespaces", str(tables), "--out", str(out), *options, *map(str, files)]
    assert generate_names.main(arguments) == 0
    return out


def test_modules_and_stubs_hold_their_names(tmp_path: Path) -> None:
    out = written(tmp_path)
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert names == {
        f"{name}{ending}"
        for name in ("__init__", "math/__init__", "math/special")
        for ending in (".py", ".pyi")
    }
    for name in names:
        ast.parse((out / name).read_text())
    root = (out / "__init__.py").read_text()
    assert "from millstream._impl.ops.plain import (plus as add, floor)" in root
    assert "messages=('GraphDef',)" in root
    assert "modules=('math',)" in root
    assert "math.py" not in root
    inner = (out / "math/__init__.py").read_text()
    assert '"""Arithmetic.\n\nMore.\n"""' in inner
    assert 'v1 = _importlib.import_module("millstream")' in inner
    assert '_sys.modules["millstream.math.v1"] = v1' in inner
    stub = (out / "math/__init__.pyi").read_text()
    assert "from millstream._impl.ops.plain import (Number, PI, plus as add)" in stub
    assert "import millstream as v1" in stub
    assert "Matrix: _Any" in stub
    listed = ast.literal_eval(inner.partition("__all__ = ")[2].partition("]")[0] + "]")
    assert listed == ["Matrix", "Number", "PI", "add", "special", "v1"]


def test_ops_are_functions_of_raw_ops_under_their_own_names(tmp_path: Path) -> None:
    ops = tmp_path / "ops.json"
    ops.write_text('[{"name": "MatMul"}, {"name": "_Internal"}]')
    (found,) = generate_names.raw_ops(ops)
    assert (found.name, found.attribute) == ("raw_ops.MatMul", "mat_mul")
    assert found.module == "millstream._impl.ops.gen_ops"


def test_stubs_can_be_written_alone(tmp_path: Path) -> None:
    out = written(tmp_path, "--stubs-only")
    assert {path.suffix for path in out.rglob("*") if path.is_file()} == {".pyi"}


def test_names_of_the_api_that_nothing_declares_are_missing(tmp_path: Path) -> None:
    names = generate_names.collect(sources(tmp_path, plain=SOURCE, table=MESSAGES))
    api = {"": ["add", "sub", "GraphDef", "math"], "math": ["add", "erf"]}
    assert generate_names.missing(names, api, ["math"]) == ["math.erf", "sub"]


def test_a_name_of_an_unknown_module_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tmp_path / "namespaces.bzl"
    tables.write_text(TABLES)
    files = sources(tmp_path, one='x = public("nowhere.x")(1)')
    arguments = ["--namespaces", str(tables), "--out", str(tmp_path), *map(str, files)]
    assert generate_names.main(arguments) == 1
    assert "nowhere.x: namespaces.bzl has no such public module" in capsys.readouterr().err
