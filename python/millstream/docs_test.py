"""Every public name has a docstring with an example, and the examples run.

Each example starts with ``tf``, a graph of its own and a default session.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

import millstream as tf
from millstream.public_names import public_callables

# Classes without methods show the public module that they belong to.
MODULES = ["millstream"] + [
    info.name
    for info in pkgutil.walk_packages(tf.__path__, "millstream.")
    if not info.name.endswith(("_test", "._runtime"))
]

# Classes whose objects users do not make by hand.
_MADE_BY_THE_PACKAGE = (tf.OpError, tf.Operation, tf.Tensor, Enum)


class Finder(doctest.DocTestFinder):
    """Finds the examples of functions and classes in the modules that define them.

    What is public shows its public module instead, and what is decorated its decorator's.
    """

    def _from_module(self, module: ModuleType, object: Any) -> bool:  # noqa: A002
        if inspect.isfunction(object) or inspect.isclass(object):
            return _defining_module(object) == module.__name__
        return bool(super()._from_module(module, object))  # type: ignore[misc]


def _defining_module(value: Any) -> str:
    """Where the source of a function or of a class's methods stands."""
    members = vars(value).values() if inspect.isclass(value) else [value]
    for member in members:
        function = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
        if inspect.isfunction(function):
            module: str = function.__globals__["__name__"]
            if module.startswith("millstream."):
                return module
    return str(value.__module__)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module_run(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False)
    for example in Finder().find(module, globs={**vars(module), "tf": tf}):
        with tf.Graph().as_default(), tf.Session():
            runner.run(example)
    assert runner.failures == 0


def test_examples_behind_decorators_are_found() -> None:
    names = {
        found.name
        for found in Finder().find(importlib.import_module("millstream._impl.ops.array_ops"))
    }
    assert "millstream._impl.ops.array_ops.reshape" in names


def test_examples_of_classes_and_their_methods_are_found() -> None:
    for module_name, expected in (
        ("session.session", "Session"),
        ("session.base_session", "BaseSession.run"),
    ):
        module = importlib.import_module(f"millstream._impl.{module_name}")
        with_examples = {found.name for found in Finder().find(module) if found.examples}
        assert f"{module.__name__}.{expected}" in with_examples


@pytest.mark.parametrize(("name", "value"), public_callables(), ids=lambda value: str(value)[:60])
def test_public_name_is_documented_with_an_example(name: str, value: Any) -> None:
    text = inspect.getdoc(value) or ""
    assert len(text.splitlines()[0]) > 10, f"{name} needs a docstring"
    if inspect.isclass(value) and issubclass(value, tf.OpError) and value is not tf.OpError:
        return  # errors are raised, not made: their base has the example
    assert ">>>" in text, f"{name} needs an example"


@pytest.mark.parametrize(("name", "value"), public_callables(), ids=lambda value: str(value)[:60])
def test_parameters_are_documented(name: str, value: Any) -> None:
    if inspect.isclass(value) and issubclass(value, _MADE_BY_THE_PACKAGE):
        return
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return
    text = inspect.getdoc(value) or ""
    wanted = [one for one in parameters if one not in ("self", "_sentinel")]
    missing = [one for one in wanted if not _mentions(text, one)]
    assert missing == [], f"{name} does not say what {missing} are"


def _mentions(text: str, parameter: str) -> bool:
    """Whether a line of a docstring starts a parameter's description."""
    for line in text.splitlines():
        names = [word.strip() for word in line.split(",")]
        if parameter in names and not line.startswith(" "):
            return True
    return False
