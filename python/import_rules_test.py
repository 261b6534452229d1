"""The package's modules import downwards only, and the checks of that find what breaks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import import_rules
import millstream

PACKAGE = Path(millstream.__file__).absolute().parent

# The lowest first.
ROOMS = (
    "base",
    "protos",
    "values",
    "graph",
    "ops",
    "variables",
    "linear_operators",
    "nn",
    "layers",
    "rnn",
    "metrics",
    "session",
    "summary",
    "train",
    "feature_columns",
    "saved_model",
    "monitored",
    "cluster",
    "program",
    "tools",
    "names",
)
# Their work is names of the public modules, which they have from tables and from programs.
COMPUTING = ("tools", "names")


def test_the_package_keeps_the_rules() -> None:
    files = {
        name: path
        for name, path in import_rules.module_files(PACKAGE).items()
        if not name.startswith("millstream.templates.")  # files that users copy
    }
    assert len(files) > 100
    assert import_rules.problems(files, "millstream._impl", ROOMS, COMPUTING) == []


def test_the_readme_names_the_rooms_in_their_order() -> None:
    text = (PACKAGE / "_impl/README.md").read_text()
    (listed,) = re.findall(r"in\s+this\s+list(.*?)\.\n\n", text, re.DOTALL)
    assert tuple(re.findall(r"`(\w+)`", listed)) == ROOMS


def found(folder: Path, sources: dict[str, str]) -> list[str]:
    """What is wrong with a package ``p`` whose rooms are ``p._impl.low`` and ``p._impl.high``."""
    for name, text in {"__init__": "", "_impl/__init__": "", **sources}.items():
        path = folder / "p" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    files = import_rules.module_files(folder / "p")
    return import_rules.problems(files, "p._impl", ("low", "high"), ("high",))


def test_imports_of_lower_rooms_and_of_others_packages_are_fine(tmp_path: Path) -> None:
    sources = {
        "__init__": "from p._impl.high import a\n",
        "_impl/high/a": "import os\nfrom p import _runtime\nfrom p._impl.low.b import c\n",
        "_impl/low/b": "import numpy.linalg\nfrom p._impl.low import d\nc = 1\n",
        "_impl/low/d": "",
    }
    # Of the public package, the extension alone.
    assert found(tmp_path, {**sources, "_runtime": ""}) == []


@pytest.mark.parametrize(
    "line",
    [
        "from p._impl.high import a",
        "from p._impl.high.a import thing",
        "import p._impl.high.a",
        "from ..high import a",
        "if True:\n    from p._impl.high import a",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p._impl.high.a import T",
        "def f():\n    from p._impl.high import a  # lazy: a is heavy",
        'import importlib\nimportlib.import_module("p._impl.high.a")',
        'def f():\n    return import_module("p._impl.high.a").b  # lazy: a is heavy',
        'def f():\n    g(__import__("p._impl.high.a"))  # lazy: a is heavy',
    ],
)
def test_an_import_of_a_room_above_is_found(tmp_path: Path, line: str) -> None:
    (problem,) = found(tmp_path, {"_impl/low/b": line, "_impl/high/a": ""})
    assert problem.startswith("p._impl.low.b:")
    assert problem.endswith("the room 'high' is above 'low'")


def test_an_import_of_the_public_package_is_found(tmp_path: Path) -> None:
    problems = found(tmp_path, {"_impl/low/b": "import p\nfrom p.errors import E\n", "errors": ""})
    assert [problem.partition(": ")[2] for problem in problems] == [
        "imports p: the public package is above all rooms",
        "imports p.errors: the public package is above all rooms",
    ]


def test_a_room_without_a_place_is_found(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, {"_impl/new/b": "import os\n"})
    assert "the room 'new', which has no place in the order" in problem


@pytest.mark.parametrize(
    ("back", "is_circle"),
    [
        ("from p._impl.low import a", True),
        ("def f():\n    from p._impl.low import a  # lazy: a is heavy", True),
        ("class C:\n    def f(self):\n        import p._impl.low.a  # lazy: a is heavy", True),
        ('def f():\n    import_module("p._impl.low.a")  # lazy: a is heavy', True),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p._impl.low import a",
            False,
        ),
        ("if not TYPE_CHECKING:\n    from p._impl.low import a", True),
    ],
)
def test_a_circle_is_found(tmp_path: Path, back: str, is_circle: bool) -> None:
    sources = {
        "_impl/low/a": "from p._impl.low import b\n",
        "_impl/low/b": "from p._impl.low.c import d\n",
        "_impl/low/c": back,
    }
    members = "p._impl.low.a, p._impl.low.b, p._impl.low.c"
    assert found(tmp_path, sources) == ([f"imported in a circle: {members}"] if is_circle else [])


@pytest.mark.parametrize("statement", ["import difflib", 'importlib.import_module("difflib")'])
def test_an_import_inside_a_function_needs_a_reason(tmp_path: Path, statement: str) -> None:
    text = f"def f():\n    {statement}{{}}\n"
    for comment in ("", "  # which is slow", "  # lazy: "):
        (problem,) = found(tmp_path, {"_impl/low/a": text.format(comment)})
        assert problem == (
            "p._impl.low.a:2: imports difflib inside a function without a comment `# lazy: REASON`"
        )
    assert found(tmp_path, {"_impl/low/a": text.format("  # lazy: it takes 3 ms to load")}) == []


COMPUTED = ["import_module(name)", 'importlib.import_module(f"p.{name}")', "__import__(NAMES[0])"]


@pytest.mark.parametrize("call", [*COMPUTED, 'import_module(".a", __package__)'])
def test_a_computed_name_needs_a_reason(tmp_path: Path, call: str) -> None:
    text = f"def f(name):\n    return {call}"
    for comment in ("", "  # lazy: it is heavy", "  # by name: "):
        (problem,) = found(tmp_path, {"_impl/high/a": text + comment})
        assert problem == (
            "p._impl.high.a:2: imports a module whose name is computed "
            "without a comment `# by name: REASON`"
        )
    assert found(tmp_path, {"_impl/high/a": text + "  # by name: users say which"}) == []


@pytest.mark.parametrize("call", COMPUTED)
def test_a_computed_name_in_a_lower_room_is_found(tmp_path: Path, call: str) -> None:
    text = f"def f(name):\n    return {call}  # by name: users say which\n"
    assert found(tmp_path, {"_impl/low/a": text}) == [
        "p._impl.low.a:2: imports a module whose name is computed; only the rooms high may"
    ]
